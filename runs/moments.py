"""The moments of a job that lie behind: which there were, and which have a run already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Q

from jobs.calendars import kept as kept_calendars
from jobs.schedules.errors import ScheduleError
from jobs.schedules.timeline import Timeline, Version
from runs import claim_rows
from runs.arrays import array
from runs.models import Run
from runs.states import State

TICK = timedelta.resolution


@dataclass(frozen=True)
class History:
    """What made a job due from some instant on. `began_at`: the beginning of the version in force
    then, or of the job where it is younger."""

    began_at: datetime
    line: Timeline

    def between(self, first: datetime, last: datetime, limit: int) -> list[datetime]:
        """The moments from `first` to `last`, both included, oldest first, at most `limit`."""
        after = self._before(first)
        return self.line.moments(after, last, limit) if after < last else []

    def count(self, first: datetime, last: datetime) -> int:
        """How many there are from `first` to `last`, both included."""
        after = self._before(first)
        return self.line.count(after, last) if after < last else 0

    def newest(self, first: datetime, last: datetime, limit: int) -> list[datetime]:
        """The same, newest first."""
        after = self._before(first)
        return self.line.newest_moments(after, last, limit) if after < last else []

    def _before(self, first: datetime) -> datetime:
        return first - TICK if first > self.began_at else self.began_at

    def around(self, moment: datetime) -> tuple[datetime | None, datetime | None]:
        """The moments before and after this one, as far as its version tells."""
        before = self.line.newest(self.began_at, moment - TICK) if moment > self.began_at else None
        after = self.line.moments(max(moment, self.began_at), moment + _AROUND, 1)
        return before, after[0] if after else None


_AROUND = timedelta(days=366)


def of_job(job_id: UUID, since: datetime) -> History:
    """The history of a job from `since` on. Raises ScheduleError where the zone data in use has
    lost one of its zones."""
    with connection.cursor() as cursor:
        rows = claim_rows.versions_since(cursor, job_id, since)
    versions = [
        Version(number, began, None if idle else kept_calendars.plan(text))
        for number, began, idle, text in rows
    ]
    return History(versions[0].began_at, Timeline(versions))


@dataclass(frozen=True)
class There:
    """What a moment has: its run, or `run_id` None where a tombstone alone is left of it."""

    run_id: UUID | None
    state: str


_THERE = """
select r.due_at, r.id, r.state
  from unnest(%(moments)s::timestamptz[]) as m(at)
  join runs_run r on r.job_id = %(job)s and r.due_at = m.at and r.state <> 'SKIPPED'
union all
select t.due_at, null, t.ending from runs_tombstone t
 where t.job_id = %(job)s and t.due_at = any(%(moments)s::timestamptz[])
"""


def there(job_id: UUID, moments: Sequence[datetime]) -> dict[datetime, There]:
    """Those of the moments that have a run which is not SKIPPED, or the tombstone of one."""
    with connection.cursor() as cursor:
        cursor.execute(_THERE, {"job": job_id, "moments": array(moments)})
        rows = cursor.fetchall()
    # Runs come last into the dict: of a pruned run nothing but the tombstone is left.
    return {at: There(run_id, state) for at, run_id, state in sorted(rows, key=_runs_last)}


_HOW_MANY = """
select count(*) from (
  select due_at from runs_run
   where job_id = %(job)s and due_at between %(first)s and %(last)s and state <> 'SKIPPED'
  union
  select due_at from runs_tombstone
   where job_id = %(job)s and due_at between %(first)s and %(last)s) found
"""


def how_many_there(job_id: UUID, first: datetime, last: datetime) -> int:
    """How many moments from `first` to `last` have a run, or the tombstone of one."""
    with connection.cursor() as cursor:
        cursor.execute(_HOW_MANY, {"job": job_id, "first": first, "last": last})
        (count,) = cursor.fetchone()
    return int(count)


def _runs_last(row: tuple[datetime, UUID | None, str]) -> bool:
    return row[1] is not None


def recorded(job_id: UUID, moment: datetime) -> bool:
    """Whether a record of skipped moments begins or ends with this one. (Those between are on
    the job's line, as these are, unless the zone data has changed since.)"""
    ends = Q(due_at=moment) | Q(skipped_until=moment)
    return Run.objects.filter(ends, job_id=job_id, state=State.SKIPPED).exists()


_RECORDS = 10  # newest records of skipped moments that are looked at,
_OF_EACH = 20  # and the newest moments of each


def on_offer(job_id: UUID, count: int) -> list[datetime]:
    """The newest skipped moments that have no run since, newest first: what a person may want
    to run after all."""
    skipped = Run.objects.filter(job_id=job_id, state=State.SKIPPED, due_at__isnull=False)
    rows = skipped.order_by("-id").values_list("due_at", "skipped_until")[:_RECORDS]
    records = [(first, last or first) for first, last in rows if first is not None]
    found = {end for record in records for end in record} | _within(job_id, records)
    return sorted(found - there(job_id, [*found]).keys(), reverse=True)[:count]


def _within(job_id: UUID, records: Sequence[tuple[datetime, datetime]]) -> set[datetime]:
    """The newest moments of records that cover several."""
    several = [(first, last) for first, last in records if first < last]
    if not several:
        return set()
    try:
        history = of_job(job_id, min(first for first, _ in several))
    except ScheduleError:  # the ends of the records are known all the same
        return set()
    return {at for first, last in several for at in history.newest(first, last, _OF_EACH)}
