from __future__ import annotations

from django.db import models

from jobs.models import Job


class Tried(models.Model):
    """A job of which a run has had an outcome, and `got_over`, its newest run in review or dead
    that a good one has come after: once true both stay true, so that nobody looks for its runs
    again (runs/dashboard/stances/job_standing.py).

    Only ever a shortcut: a job that is not here may have been tried, and have got over worse, all
    the same. The table is not logged, and what a crash forgets is found out again.
    """

    job = models.OneToOneField(
        Job, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False
    )
    got_over = models.UUIDField(null=True, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = "job that has run", "jobs that have run"

    def __str__(self) -> str:
        return str(self.job_id)
