"""A run of a job that spreads its starts is not begun before its place in the spread."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_waiting_and_turns")]
    operations = [
        migrations.AddField("run", "not_before", models.DateTimeField(blank=True, null=True)),
    ]
