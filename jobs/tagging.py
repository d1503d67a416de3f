"""Put tags on a job, or take them off: an edit like any other, of its tags alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from uuid import UUID

from jobs import editing, stored
from jobs.models import Job, User
from jobs.reading import MOST_TAGS


class TooManyTags(Exception):
    """It would have more tags than a job may."""

    def __init__(self, count: int) -> None:
        super().__init__(f"It would have {count} tags; at most {MOST_TAGS} are kept.")


def tag(job_id: UUID, tags: Collection[str], *, by: User | None, seen: int | None = None) -> Job:
    """The job with these tags too. Raises TooManyTags, and what editing.edit does."""
    return _changed(job_id, lambda there: there | {*tags}, by=by, seen=seen)


def untag(job_id: UUID, tags: Collection[str], *, by: User | None, seen: int | None = None) -> Job:
    """The job without these tags. Raises what editing.edit does."""
    return _changed(job_id, lambda there: there - {*tags}, by=by, seen=seen)


def _changed(
    job_id: UUID, change: Callable[[set[str]], set[str]], *, by: User | None, seen: int | None
) -> Job:
    job = Job.objects.filter(id=job_id, deleted_at=None).first()
    if job is None:
        raise editing.Gone
    wanted = sorted(change(set(job.tags)))
    if len(wanted) > max(MOST_TAGS, len(job.tags)):
        raise TooManyTags(len(wanted))
    definition = replace(stored.definition(job), tags=tuple(wanted))
    return editing.edit(job_id, definition, by=by, seen=job.version if seen is None else seen)
