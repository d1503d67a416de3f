from __future__ import annotations

from django.db import models

from jobs.models.job import Job


class Due(models.Model):
    """The next moment of a job: the only row a tick reads to find work and the only one on
    the job's side that a fire updates.

    Narrow on purpose, with one index: a fire always moves `at`, so that every further index
    costs each fire (a wide row with two of them: a third more WAL). A job with no next moment,
    a paused one and a finished one have no row; a pause with an end keeps one at that end.
    """

    job = models.OneToOneField(Job, primary_key=True, on_delete=models.CASCADE)
    shard = models.SmallIntegerField()
    at = models.DateTimeField()

    class Meta:
        verbose_name, verbose_name_plural = "next moment", "next moments"
        indexes = (models.Index(fields=("at",), name="what_is_due"),)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(shard__gte=0, shard__lt=256), name="shard_is_one_of_256"
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_id} at {self.at}"
