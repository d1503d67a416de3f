"""Jobs that were deleted: whoever could see one is told so, everybody else that nothing is there.

The row of a job stays, for its runs and its versions, and no list shows it.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.http import Http404

from jobs.models import Job
from jobs.models.job import JobQuerySet


class Deleted(Http404):
    """The job was deleted, and who asks could see it while it was there."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"{job.name} was deleted. Its runs stay.")
        self.job = job

    @property
    def at(self) -> datetime:
        """When."""
        assert self.job.deleted_at is not None
        return self.job.deleted_at

    @property
    def by(self) -> str:
        """By whom; empty where Onebeat did, or where the person is gone as well."""
        last = self.job.jobversion_set.select_related("by").last()
        return last.by.get_username() if last and last.by else ""


def missing(ever: JobQuerySet, job_id: UUID) -> Http404:
    """Why a job is not there: it is gone from among `ever`, or it never was there."""
    job = ever.filter(id=job_id).exclude(deleted_at=None).first()
    return Http404() if job is None else Deleted(job)
