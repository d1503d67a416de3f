"""Requests that carry an Idempotency-Key, with their answers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0008_calendars")]
    operations = [
        migrations.CreateModel(
            "Asked",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("fingerprint", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.TextField(blank=True, default="")),
                ("at", models.DateTimeField()),
                ("team", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="jobs.team")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "key"), name="one_request_per_key_of_a_team")
                ],
                "indexes": [models.Index(fields=["at"], name="requests_to_forget")],
            },
        ),
    ]
