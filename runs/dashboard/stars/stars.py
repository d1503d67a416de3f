"""Stars: the jobs that a person wants at hand. Theirs alone: no other member sees them, and what
they may not read any more is not shown though it is starred."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from jobs import events
from jobs.models import Job, User
from runs.models import Star


@transaction.atomic
def put(job: Job, *, by: User) -> bool:
    """The job starred by this person, who reads it; False where it was."""
    _, is_new = Star.objects.get_or_create(user=by, job=job)
    if is_new:
        _record(job, by, "to")
    return is_new


@transaction.atomic
def take(job: Job, *, by: User) -> bool:
    """The star taken away; False where there was none."""
    count, _ = Star.objects.filter(user=by, job=job).delete()
    if count:
        _record(job, by, "from")
    return bool(count)


def is_starred(user_id: int) -> Q:
    """Of a job: this person has starred it. The few rows are looked up before any job is."""
    return Q(id__any_of=Star.objects.filter(user=user_id).values("job"))


def among(user_id: int, jobs: Iterable[UUID]) -> set[UUID]:
    """Those of these jobs that this person has starred."""
    rows = Star.objects.filter(user=user_id, job__in=list(jobs))
    return set(rows.values_list("job_id", flat=True))


def _record(job: Job, by: User, side: str) -> None:
    """Theirs to read, as whatever else they set for themselves: no team's record is filled."""
    changes = {"starred": {side: job.name}}
    events.record("person.stars", events.of_person(by), by=by, changes=changes)
