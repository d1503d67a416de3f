"""What a job says about runs that overlap. Existing jobs keep what they do today: side by side."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_due_is_hot")]
    operations = [
        migrations.AddField(
            "job", "overlap", models.CharField(max_length=9, default="allow"), preserve_default=False
        ),
        migrations.AddField(
            "job", "block_on_review", models.BooleanField(default=False), preserve_default=False
        ),
        migrations.AddField(
            "job", "queue_limit", models.PositiveIntegerField(default=100), preserve_default=False
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=models.Q(overlap__in=("skip", "queue", "queue_all", "allow", "cancel")),
                name="overlap_is_known",
            ),
        ),
        migrations.AddConstraint(
            "job",
            models.CheckConstraint(
                condition=~models.Q(overlap="cancel")
                | (models.Q(idempotent=True) & ~models.Q(catch_up_policy="all")),
                name="only_a_safe_job_cancels_its_runs",
            ),
        ),
    ]
