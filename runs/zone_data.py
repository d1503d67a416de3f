"""Zone data of several versions, while an upgrade goes through the beats.

Each beat publishes the version it works with; the newest one seen stays on record. A beat with an
older one claims no moment at local time. A beat with the newest works out anew, once, the next
moment of each job at local time, and until then claims none that other data worked out. Which
data that was stands on the job, so that a crash in the middle loses nothing and an edit through
a process that was not upgraded yet is mended too.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs.calendars import kept as kept_calendars
from jobs.schedules import local_times, new_zone_data, zones
from jobs.schedules.new_zone_data import Fired
from jobs.schedules.schedules import ScheduleError, canonical_instant
from runs.arrays import array

BATCH = 500
WITHIN = 2.0  # seconds of one go, since the beat has moments to claim
_NAMED = 3  # moments that a log line names

log = structlog.get_logger("onebeat.zone_data")

_PUBLISH = """
insert into runs_zonedata (version, seen_at) values (%s, clock_timestamp()) on conflict do nothing
"""


def publish(cursor: Any) -> str:
    """Put our version on record; the newest one there is."""
    cursor.execute(_PUBLISH, [zones.version()])
    cursor.execute("select version from runs_zonedata")
    versions: list[str] = [version for (version,) in cursor.fetchall()]
    return max(versions, key=zones.rank)


def claimable(newest: str, *, settled: bool) -> list[str] | None:
    """What a claim may look at: due rows worked out by these versions; None for every one, as
    long as all are `settled` by ours. A version is empty where none matters."""
    if is_older(newest):
        return [""]
    return None if settled else ["", zones.version()]


def is_older(newest: str) -> bool:
    """Whether ours are older than the newest seen."""
    return zones.rank(zones.version()) < zones.rank(newest)


def work_out_anew() -> bool:
    """Work out the next moments that other versions worked out, for a while. True when none was
    left; False when there is more, or somebody else holds it."""
    ours, end = zones.version(), time.monotonic() + WITHIN
    total = Done()
    done = _batch(ours)
    while done.jobs and time.monotonic() < end:
        total += done
        done = _batch(ours)
    total += done
    if total.jobs:
        log.warning(
            "zone_data.worked_out_anew",
            version=ours,
            jobs=total.jobs,
            moved=len(total.moved),
            examples=[str(move) for move in total.moved[:_NAMED]],
        )
    if done.left:
        return False
    _tell_settled(ours)
    return True


class Move(NamedTuple):
    """A next moment that is another one by our data."""

    job_id: UUID
    due: datetime
    anew: datetime | None

    def __str__(self) -> str:
        anew = canonical_instant(self.anew) if self.anew else "never again"
        return f"{self.job_id}: {canonical_instant(self.due)} → {anew}"


@dataclass
class Done:
    """Jobs looked at, those of them that moved, and whether there were more."""

    jobs: int = 0
    moved: Sequence[Move] = ()
    left: bool = False

    def __add__(self, other: Done) -> Done:
        return Done(self.jobs + other.jobs, [*self.moved, *other.moved], other.left)


# Two ranges, for an index has no «other than».
_STALE = """
select id from jobs_job
 where deleted_at is null and zone_data <> '' and (zone_data < %(ours)s or zone_data > %(ours)s)
 limit %(limit)s
"""
_LOCK_DUE = """
select job_id, at from jobs_due
 where job_id = any(%(jobs)s::uuid[]) order by job_id for update skip locked
"""
_WITH_DUE = "select job_id from jobs_due where job_id = any(%(jobs)s::uuid[])"
_LOCK_JOBS = """
select id,
       jsonb_build_object(
         'schedule', schedule, 'starts_at', starts_at, 'ends_at', ends_at,
         'calendar', case when calendar_id is not null then jsonb_build_object(
           'name', calendar_id, 'rule', calendar_rule, 'version', calendar_version) end)::text,
       paused or finished, version_began_at
  from jobs_job
 where id = any(%(jobs)s::uuid[]) and deleted_at is null
   and zone_data <> '' and zone_data <> %(ours)s
 order by id for no key update skip locked
"""


@transaction.atomic
def _batch(ours: str) -> Done:
    with connection.cursor() as cursor:
        cursor.execute(_STALE, {"ours": ours, "limit": BATCH})
        stale = {job_id for (job_id,) in cursor.fetchall()}
        if not stale:
            return Done()
        due = dict(_query(cursor, _LOCK_DUE, jobs=array(stale)))
        jobs = _locked(cursor, stale, due, ours)
        moves = _moves(cursor, jobs, due)
        _store(cursor, jobs, moves, ours)
    return Done(len(jobs), moves, left=True)


class _Job(NamedTuple):
    id: UUID
    plan: str
    paused: bool
    began: datetime


def _locked(
    cursor: Any, stale: Collection[UUID], due: Mapping[UUID, datetime], ours: str
) -> list[_Job]:
    """The jobs, locked, with their due rows or without any: not those whose row somebody else
    holds, or wrote just now."""
    jobs = [_Job(*row) for row in _query(cursor, _LOCK_JOBS, jobs=array(stale), ours=ours)]
    bare = array(job.id for job in jobs if job.id not in due)
    held = {job_id for (job_id,) in _query(cursor, _WITH_DUE, jobs=bare)}
    return [job for job in jobs if job.id not in held]


def _moves(cursor: Any, jobs: Sequence[_Job], due: Mapping[UUID, datetime]) -> list[Move]:
    """Of these locked jobs, those whose next moment is another one. Without a due row, while it
    is paused, and where it was edited since it fell due, the claim goes by the versions."""
    firing = [job for job in jobs if job.id in due and not job.paused and job.began < due[job.id]]
    last = _last_claimed(cursor, [job.id for job in firing])
    anew = [Move(job.id, due[job.id], _anew(job, due[job.id], last.get(job.id))) for job in firing]
    return [move for move in anew if move.due != move.anew]


def _anew(job: _Job, due: datetime, last: Fired | None) -> datetime | None:
    try:
        plan = kept_calendars.plan(job.plan)
        return new_zone_data.next_moment(plan, due=due, began=job.began, last=last)
    except ScheduleError:  # the zone is gone: the claim says so, and pauses the job
        log.exception("zone_data.schedule_error", job=str(job.id))
        return due


# The newest births hold the newest moment; a catch-up bears several at once, in their order.
_LAST_CLAIMED = """
select distinct on (j.id) j.id, r.moment, r.utc_offset
  from unnest(%(jobs)s::uuid[]) as j(id)
 cross join lateral (
   select coalesce(skipped_until, due_at) as moment, utc_offset from runs_run
    where job_id = j.id and origin = 'schedule' order by id desc limit 20) r
 order by j.id, r.moment desc
"""


def _last_claimed(cursor: Any, job_ids: Collection[UUID]) -> dict[UUID, Fired]:
    rows = _query(cursor, _LAST_CLAIMED, jobs=array(job_ids))
    return {job_id: Fired(moment, offset) for job_id, moment, offset in rows}


_MOVE = """
update jobs_due d set at = m.at
  from unnest(%(jobs)s::uuid[], %(moments)s::timestamptz[]) as m(job_id, at)
 where d.job_id = m.job_id and d.job_id = any(%(jobs)s::uuid[])
"""
_TELL = """
update jobs_job j set zone_data = t.zone_data
  from unnest(%(jobs)s::uuid[], %(versions)s::text[]) as t(id, zone_data)
 where j.id = t.id and j.id = any(%(jobs)s::uuid[])
"""


def _store(cursor: Any, jobs: Sequence[_Job], moves: Sequence[Move], ours: str) -> None:
    onward = [move for move in moves if move.anew is not None]
    cursor.execute(
        _MOVE,
        {
            "jobs": array(move.job_id for move in onward),
            "moments": array(move.anew for move in onward),
        },
    )
    ended = [move.job_id for move in moves if move.anew is None]
    cursor.execute("delete from jobs_due where job_id = any(%s::uuid[])", [array(ended)])
    ids = array(job.id for job in jobs)
    cursor.execute(_TELL, {"jobs": ids, "versions": [_version(job, ours) for job in jobs]})


def _version(job: _Job, ours: str) -> str:
    try:
        return local_times.zone_data_of(kept_calendars.plan(job.plan).schedules)
    except ScheduleError:
        return ours


_SETTLED = """
update runs_zonedata set recomputed_at = clock_timestamp()
 where version = %s and recomputed_at is null
"""


def _tell_settled(ours: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SETTLED, [ours])
        if cursor.rowcount:
            log.info("zone_data.settled", version=ours)


def _query(cursor: Any, statement: str, **given: Any) -> list[Any]:
    cursor.execute(statement, given)
    rows: list[Any] = cursor.fetchall()
    return rows
