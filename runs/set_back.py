"""The database's clock was set back: what is due next comes back with it.

While it was ahead, the claim settled moments that are now yet to come, and moved the due rows
beyond them; without a look at them nothing would fire until that time is reached again. A moment
that has a run gets no second one. One that is only on record as skipped is due after all.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs.calendars import kept as kept_calendars
from jobs.schedules.schedules import ScheduleError
from runs import claim_rows

BATCH = 500
AHEAD = 10  # seconds; a smaller step back is lived through

log = structlog.get_logger("onebeat.beat")

_SEEN_AHEAD = "from runs_beat where seen_at > clock_timestamp() + %s * interval '1 second'"
_LOCK_AHEAD = """
select job_id, at from jobs_due
 where at > %(now)s and job_id > %(after)s
 order by job_id limit %(limit)s
   for update skip locked
"""
_FIRST = UUID(int=0)


def noticed() -> bool:
    """Whether a beat was seen at a time that is yet to come."""
    with connection.cursor() as cursor:
        cursor.execute(f"select exists (select 1 {_SEEN_AHEAD})", [AHEAD])
        (found,) = cursor.fetchone()
    return bool(found)


def undo(now: datetime) -> int:
    """Move each due row back to its job's next moment, then forget the beats of that time: who
    is live is seen again at once. How many rows were moved."""
    moved, after = 0, _FIRST
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_LOCK_AHEAD, {"now": now, "after": after, "limit": BATCH})
            due: dict[UUID, datetime] = dict(cursor.fetchall())
            if not due:
                break
            earlier = _earlier(cursor, due, now)
            claim_rows.move(cursor, list(earlier.items()))
        moved, after = moved + len(earlier), max(due)
    with connection.cursor() as cursor:
        cursor.execute(f"delete {_SEEN_AHEAD}", [AHEAD])
    log.warning("beat.clock_set_back", moved=moved)
    return moved


def _earlier(cursor: Any, due: Mapping[UUID, datetime], now: datetime) -> dict[UUID, datetime]:
    """The jobs that have a moment before the one in their row, each with that moment."""
    found = {}
    for job in claim_rows.read_jobs(cursor, due):
        moment = None if job.paused else _next(job.plan, now)
        if moment is not None and moment < due[job.id]:
            found[job.id] = moment
    return found


def _next(plan: str, now: datetime) -> datetime | None:
    try:
        return kept_calendars.plan(plan).next(now)
    except ScheduleError:
        return None  # the claim pauses that job when its row comes
