"""From when until when a job is due, how often, how many moments it skips, and its spread."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0003_how_runs_take_turns")]
    operations = [
        migrations.AddField("job", "starts_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("job", "ends_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("job", "max_runs", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("job", "runs_begun", models.PositiveIntegerField(default=0)),
        migrations.AddField("job", "finished", models.BooleanField(default=False)),
        migrations.AddField("job", "skip_next", models.PositiveIntegerField(default=0)),
        migrations.AddField("job", "skip_reason", models.TextField(blank=True, default="")),
        migrations.AddField("job", "spread", models.PositiveIntegerField(default=0)),
        migrations.AddField("job", "start_delay", models.PositiveIntegerField(default=0)),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=models.Q(start_delay__lte=models.F("spread")),
                name="delay_lies_within_the_spread",
            ),
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=models.Q(finished=False) | models.Q(runs_begun__gte=models.F("max_runs")),
                name="finished_only_with_its_runs",
            ),
        ),
    ]
