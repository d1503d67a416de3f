"""Pause, resume, tag or untag many jobs at once: each by itself, as it was seen, with a result
for each.

They are chosen by their ids, or as «what this filter finds as of then», with the number that the
person saw: where that differs by now, nothing is done and the person is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import structlog
from django.db.models import QuerySet

from jobs import editing, tagging
from jobs.edit_errors import Changed, Gone, ReadOnly
from jobs.editing import Pause
from jobs.models import Job, User
from jobs.roles import Act
from jobs.tagging import TooManyTags

MOST = 500  # in one request
_NOT_THERE = "It is not there, or not yours to change."

log = structlog.get_logger("onebeat.job")


class Do(StrEnum):
    """What is done with them."""

    PAUSE = "pause"
    RESUME = "resume"
    TAG = "tag"
    UNTAG = "untag"

    @property
    def act(self) -> Act:
        """What leave it needs."""
        return Act.OPERATE if self in _PAUSES else Act.EDIT


_PAUSES = (Do.PAUSE, Do.RESUME)


class Differs(Exception):
    """The filter finds another number of jobs than the person saw. `found`: how many."""

    def __init__(self, found: int) -> None:
        self.found = found
        many = f"{MOST} and more" if found > MOST else str(found)
        super().__init__(f"The filter finds {many} jobs by now. Nothing was done; look again.")


class TooMany(Exception):
    """More than go at once."""

    def __init__(self) -> None:
        super().__init__(f"At most {MOST} at once. Narrow the filter, or hold the whole team.")


@dataclass(frozen=True)
class Result:
    """What became of one: the version in which it is as was asked for, or why it was passed
    over (`said`)."""

    job_id: UUID
    version: int | None = None
    said: str = ""

    @property
    def done(self) -> bool:
        return not self.said


def meant(rows: QuerySet[Job], do: Do, as_of: datetime) -> QuerySet[Job]:
    """Of these rows what can be paused, resumed or tagged here, and has not been edited since
    then."""
    standing = rows.filter(periodic_task_id=None, version_began_at__lte=as_of)
    return standing.filter(paused=do is Do.RESUME) if do in _PAUSES else standing


def found(rows: QuerySet[Job], do: Do, as_of: datetime, expected: int) -> list[UUID]:
    """The ids of what is meant, by name. Raises Differs, TooMany."""
    ids = list(
        meant(rows, do, as_of).order_by("name", "id").values_list("id", flat=True)[: MOST + 1]
    )
    if len(ids) != expected:
        raise Differs(len(ids))
    if len(ids) > MOST:
        raise TooMany
    return ids


def pause(job_ids: Sequence[UUID], pause: Pause, *, by: User) -> list[Result]:
    """Each of them paused, if it is active. Raises TooMany before the first."""

    def one(job: Job) -> Job:
        if job.paused:
            raise _Already("It is paused already, and stays as it was.")
        return editing.pause(job.id, pause, by=by, seen=job.version)

    return _each(job_ids, Do.PAUSE, one, by)


def resume(
    job_ids: Sequence[UUID], *, by: User, seen: Mapping[UUID, int] | None = None
) -> list[Result]:
    """Each of them active again, if it is paused; and where `seen` names a version of it, only if
    it is still in that one. Raises TooMany before the first."""
    known = seen or {}

    def one(job: Job) -> Job:
        if not job.paused:
            raise _Already("It is active already.")
        return editing.resume(job.id, by=by, seen=known.get(job.id, job.version))

    return _each(job_ids, Do.RESUME, one, by)


def tag(job_ids: Sequence[UUID], tags: Collection[str], *, by: User) -> list[Result]:
    """Each of them with these tags too. Raises TooMany before the first."""

    def one(job: Job) -> Job:
        if {*tags} <= {*job.tags}:
            raise _Already("It has them already.")
        return tagging.tag(job.id, tags, by=by, seen=job.version)

    return _each(job_ids, Do.TAG, one, by)


def untag(job_ids: Sequence[UUID], tags: Collection[str], *, by: User) -> list[Result]:
    """Each of them without these tags. Raises TooMany before the first."""

    def one(job: Job) -> Job:
        if not {*tags} & {*job.tags}:
            raise _Already("It has none of them.")
        return tagging.untag(job.id, tags, by=by, seen=job.version)

    return _each(job_ids, Do.UNTAG, one, by)


class _Already(Exception):
    """There is nothing to do."""


def _each(job_ids: Sequence[UUID], do: Do, act: Callable[[Job], Job], by: User) -> list[Result]:
    ids = list(dict.fromkeys(job_ids))
    if len(ids) > MOST:
        raise TooMany
    rows = Job.objects.where(by.id, do.act).filter(id__in=ids)
    there = {job.id: job for job in rows.only("id", "team", "paused", "version", "tags")}
    results = [_one(there.get(job_id), job_id, act) for job_id in ids]
    done = sum(result.done for result in results)
    log.info("jobs.bulk", do=str(do), asked=len(ids), done=done, by=by.get_username())
    return results


def _one(job: Job | None, job_id: UUID, act: Callable[[Job], Job]) -> Result:
    if job is None:
        return Result(job_id, said=_NOT_THERE)
    try:
        return Result(job_id, act(job).version)
    except (_Already, TooManyTags) as why:
        return Result(job_id, said=str(why))
    except Gone:
        return Result(job_id, said="Somebody deleted it meanwhile.")
    except Changed:
        return Result(job_id, said="Somebody changed it meanwhile; it stays as it is.")
    except ReadOnly as mirrored:
        return Result(job_id, said=str(mirrored))
