from __future__ import annotations

from django.db import models

from jobs.models import Job


class Tombstone(models.Model):
    """What is left of a pruned run, so that nothing can fire its moment anew."""

    job = models.ForeignKey(Job, on_delete=models.PROTECT, db_index=False)
    due_at = models.DateTimeField()
    ending = models.CharField(max_length=9)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("job", "due_at"), name="one_tombstone_per_moment"),
        )

    def __str__(self) -> str:
        return f"{self.job} {self.due_at}: {self.ending}"
