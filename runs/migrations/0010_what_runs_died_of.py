"""Where a dead run belongs: the failures that are alike, and when it died. Those that are dead
already are told by their last attempt."""

from django.db import migrations, models

from runs.error_groups import group_of


def fill(apps, schema_editor):
    Run, Attempt = apps.get_model("runs", "Run"), apps.get_model("runs", "Attempt")
    dead = Run.objects.filter(state="DEAD", error_group=None)
    for run in dead.only("id", "job_id", "reason", "created_at").iterator(chunk_size=500):
        ends = Attempt.objects.filter(run_id=run.id, ended_at__isnull=False)
        died_at = ends.order_by("-number").values_list("ended_at", flat=True).first()
        Run.objects.filter(id=run.id).update(
            error_group=group_of(run.job_id, run.reason), died_at=died_at or run.created_at
        )


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0009_reviews'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='died_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='error_group',
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
