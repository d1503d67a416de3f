"""Beats, workers and the queue: what the database knows of them, and nothing that it does not.

A beat says every second that it is there. A worker says so only while it carries something out,
so of one that is idle nothing is known; the broker is not asked at all: what it holds shows as
runs that were sent and not started.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from runs.members import LIVE_FOR

LOOKED_AT = 200  # the newest attempts
HEARD_WITHIN = timedelta(hours=1)
MOST = 1_000

_BEATS = """
select count(*) filter (where seen_at > clock_timestamp() - %(live)s * interval '1 second'),
       max(seen_at)
  from runs_beat
"""
# A worker renews its lease again and again: its last heartbeat lies one lease before the end.
_WORKERS = """
select count(distinct worker), max(heard), count(delay),
       percentile_cont(0.5) within group (order by delay),
       percentile_cont(0.95) within group (order by delay)
  from (select a.worker,
               greatest(a.started_at, a.ended_at,
                        case when a.ended_at is null and r.accepted_at is null then
                          r.lease_until - %(lease)s * interval '1 second' end) as heard,
               case when a.number = 1 and r.origin = 'schedule' and r.let_past_at is null then
                 greatest(0, extract(epoch from
                   a.started_at - greatest(r.due_at, r.not_before)))::float8 end as delay
          from (select run_id, number, worker, started_at, ended_at from runs_attempt
                 order by id desc limit %(looked_at)s) a
          join runs_run r on r.id = a.run_id) found
 where heard > clock_timestamp() - %(within)s
"""
_BEHIND = """
select (select count(*) from (select from runs_run where state = 'ENQUEUED' limit %(most)s) sent),
       (select min(sent_at) from runs_run where state = 'ENQUEUED'),
       (select count(*) from (
          select from jobs_due where at < clock_timestamp() - interval '2 seconds'
           limit %(most)s) due),
       (select min(at) from jobs_due where at < clock_timestamp() - interval '2 seconds')
"""


@dataclass(frozen=True)
class Machinery:
    """Instants are by the database's clock, delays in seconds from the moment (after its spread)
    to the start of the first attempt, over `starts` of the newest starts; None: nothing is known.
    """

    beats: int
    beat_seen_at: datetime | None
    workers: int
    worker_heard_at: datetime | None
    starts: int
    usual_delay: float | None
    slow_delay: float | None
    sent: int
    sent_at: datetime | None
    unclaimed: int
    unclaimed_at: datetime | None

    @property
    def most(self) -> int:
        """Where the counts of what waits end."""
        return MOST


def look() -> Machinery:
    """How it stands just now, in three statements."""
    given: dict[str, Any] = {
        "live": LIVE_FOR,
        "lease": settings.LEASE,
        "looked_at": LOOKED_AT,
        "within": HEARD_WITHIN,
        "most": MOST,
    }
    found: list[Any] = []
    with connection.cursor() as cursor:
        for statement in (_BEATS, _WORKERS, _BEHIND):
            cursor.execute(statement, given)
            found += cursor.fetchone()
    return Machinery(*found)
