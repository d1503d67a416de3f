from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models

from jobs.models import Job


class Star(models.Model):
    """A job that a person wants at hand. Narrow: the list of jobs looks here, and not at jobs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE)

    job_id: UUID

    class Meta:
        constraints: ClassVar = (
            models.UniqueConstraint(fields=("user", "job"), name="one_star_of_a_person_on_a_job"),
        )

    def __str__(self) -> str:
        return f"{self.user} has starred {self.job}"
