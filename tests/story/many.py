"""Many jobs at once, as copies of one that the rule registered: a thousand registrations would
take longer than the play."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from jobs.models import Due, Job, JobVersion, Team
from jobs.schedules.instants import canonical_instant
from jobs.shards import shard_of
from tests.story.conftest import register

_AT_ONCE = 500
# Nobody works on what is sent, so none may be in the way of the next.
_SIDE_BY_SIDE = {
    "overlap": "allow",
    "catch_up": {"policy": "all", "window": 3600, "limit": 1000},
}


def jobs(team: Team, firsts: Sequence[datetime], *, every: int) -> list[Job]:
    """One job for each first moment, due again every so many seconds."""
    schedule = {"every": every, "anchor": canonical_instant(firsts[0])}
    task = {"type": "task", "name": "story.note"}
    pattern = register(team, "job", schedule, task, **_SIDE_BY_SIDE)
    version = JobVersion.objects.get(job=pattern)
    copies = [_copy(pattern, first) for first in firsts[1:]]
    Job.objects.bulk_create(copies, _AT_ONCE)
    JobVersion.objects.bulk_create([_version(job, version) for job in copies], _AT_ONCE)
    due = zip(copies, firsts[1:], strict=True)
    Due.objects.bulk_create(
        [Due(job=job, shard=shard_of(job.id), at=at) for job, at in due], _AT_ONCE
    )
    return [pattern, *copies]


def _copy(pattern: Job, first: datetime) -> Job:
    columns = {field.attname: getattr(pattern, field.attname) for field in Job._meta.fields}
    schedule = [{**pattern.schedule[0], "anchor": canonical_instant(first)}]
    return Job(**{**columns, "id": uuid4(), "name": str(uuid4()), "schedule": schedule})


def _version(job: Job, pattern: JobVersion) -> JobVersion:
    definition = {**pattern.definition, "name": job.name, "schedule": job.schedule}
    return JobVersion(job=job, number=1, began_at=pattern.began_at, definition=definition)
