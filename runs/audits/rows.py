"""The statements of the audit, each over a batch of jobs and a window (after, until]."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.calendars import kept as kept_calendars
from jobs.calendars.days import use_of
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import ScheduleError
from jobs.schedules.timeline import Timeline, Version
from runs import ages

_BORN_MARGIN = timedelta(days=1)  # of the hosts' clocks, by which ids are made


@dataclass(frozen=True)
class Window:
    """Moments in `after` < moment ≤ `until`."""

    after: datetime
    until: datetime


@dataclass(frozen=True)
class Counts:
    """Runs for moments in the window; those of them that began before their moment; those
    beyond the first for one moment; those that somebody asked for (by hand, or a backfill)."""

    runs: int = 0
    early: int = 0
    doubled: int = 0
    asked: int = 0


@dataclass(frozen=True)
class Fired:
    """The runs of one moment: how many, whether the schedule asked, whether one was early."""

    runs: int
    scheduled: bool
    early: bool


@dataclass(frozen=True)
class Skipped:
    """A record that `count` moments from `first` to `last` were not carried out."""

    first: datetime
    last: datetime
    count: int


_VERSIONS = """
select v.job_id, v.number, v.began_at,
       (v.definition->>'paused')::boolean or (v.definition->>'deleted')::boolean
         or coalesce((v.definition->>'finished')::boolean, false),
       v.definition::text
  from jobs_jobversion v
 where v.job_id = any(%(jobs)s) and v.began_at <= %(until)s
   and v.number >= coalesce(
         (select max(w.number) from jobs_jobversion w
           where w.job_id = v.job_id and w.began_at <= %(after)s), 0)
 order by v.job_id, v.number
"""


Line = tuple[datetime, Timeline]  # from when on it tells what was due


def lines(jobs: Sequence[UUID], window: Window) -> dict[UUID, Line | None]:
    """What the versions of each job made due; None for a job whose schedule cannot be read. A
    job that is younger than the window has no entry."""
    versions: dict[UUID, list[Version]] = defaultdict(list)
    broken = set()
    rows = [(*row, json.loads(stored)) for *row, stored in _query(_VERSIONS, jobs, window)]
    kept_calendars.read(use for *_, stored in rows if (use := use_of(stored.get("calendar"))))
    for job_id, number, began_at, idle, stored in rows:
        try:
            plan = None if idle else Plan.load(stored, kept_calendars.calendar)
        except ScheduleError:
            broken.add(job_id)
            plan = None
        versions[job_id].append(Version(number, began_at, plan))
    return {
        job_id: None if job_id in broken else (found[0].began_at, Timeline(found))
        for job_id, found in versions.items()
    }


_COUNTS = """
select job_id, count(*),
       count(*) filter (where origin = 'schedule' and least(created_at, started_at) < due_at),
       count(*) - count(distinct due_at), count(*) filter (where origin <> 'schedule')
  from runs_run
 where job_id = any(%(jobs)s) and due_at > %(after)s and due_at <= %(until)s
   and state <> 'SKIPPED'
 group by job_id
"""


def counts(jobs: Sequence[UUID], window: Window) -> dict[UUID, Counts]:
    return {job_id: Counts(*numbers) for job_id, *numbers in _query(_COUNTS, jobs, window)}


_FIRED = """
select job_id, due_at, count(*), bool_or(origin = 'schedule'),
       bool_or(origin = 'schedule' and least(created_at, started_at) < due_at)
  from runs_run
 where job_id = any(%(jobs)s) and due_at > %(after)s and due_at <= %(until)s
   and state <> 'SKIPPED'
 group by job_id, due_at
union all
select job_id, due_at, 1, false, false
  from runs_tombstone
 where job_id = any(%(jobs)s) and due_at > %(after)s and due_at <= %(until)s
"""


def fired(jobs: Sequence[UUID], window: Window) -> dict[UUID, dict[datetime, Fired]]:
    """The moments that have a run, or the tombstone of one."""
    found: dict[UUID, dict[datetime, Fired]] = defaultdict(dict)
    for job_id, due_at, *facts in _query(_FIRED, jobs, window):
        found[job_id].setdefault(due_at, Fired(*facts))
    return found


_SKIPPED = """
select job_id, due_at, coalesce(skipped_until, due_at), skipped_count
  from runs_run
 where job_id = any(%(jobs)s) and id > %(born)s and state = 'SKIPPED'
   and due_at <= %(until)s and coalesce(skipped_until, due_at) > %(after)s
"""


def skipped(jobs: Sequence[UUID], window: Window) -> dict[UUID, list[Skipped]]:
    """The records of moments not carried out that touch the window."""
    found: dict[UUID, list[Skipped]] = defaultdict(list)
    for job_id, *row in _query(_SKIPPED, jobs, window):
        found[job_id].append(Skipped(*row))
    return found


_BURIED = """
select job_id, count(*) from runs_tombstone
 where job_id = any(%(jobs)s) and due_at > %(after)s and due_at <= %(until)s
 group by job_id
"""


def buried(jobs: Sequence[UUID], window: Window) -> dict[UUID, int]:
    """How many moments have the tombstone of a pruned run."""
    return dict(_query(_BURIED, jobs, window))


def _query(statement: str, jobs: Sequence[UUID], window: Window) -> list[Any]:
    # A record of skipped moments is born after them: the range of ids spares the old ones.
    born = ages.first_id(window.after - _BORN_MARGIN)
    bounds: dict[str, Any] = {"after": window.after, "until": window.until, "born": born}
    with connection.cursor() as cursor:
        cursor.execute(statement, {"jobs": list(jobs), **bounds})
        found: list[Any] = cursor.fetchall()
    return found
