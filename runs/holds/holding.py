"""What a claim does under a hold: the moments are born waiting for its end, a bounded number of
each job. No statement is spent on that while no hold is on; two a batch at most while one is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from jobs.models import Hold
from jobs.schedules import catch_up
from runs import transitions
from runs.arrays import array
from runs.birth import Birth, UnderHold
from runs.states import State

# A scheduled run that nobody has asked for and that was never started: what letting go decides
# about. Other runs that wait for a hold are merely released.
UNDECIDED = "origin = 'schedule' and attempt = 0 and review_class = '' and let_past_at is null"

_OF_JOBS = f"""
select j.id, h.id, (select count(*) from runs_run
                     where job_id = j.id and state = 'WAITING' and hold_id is not null
                       and {UNDECIDED})
  from jobs_job j
  join lateral (select id from jobs_hold
                 where ended_at is null and (team_id is null or team_id = j.team_id)
                 order by team_id nulls first limit 1) h on true
 where j.id = any(%s::uuid[])
"""  # noqa: S608 (our own words)


def of_jobs(cursor: Any, job_ids: Iterable[UUID]) -> dict[UUID, UnderHold]:
    """Those of the jobs that are under a hold, each with how many of its moments wait already."""
    cursor.execute(_OF_JOBS, [array(job_ids)])
    rows = cursor.fetchall()
    there = Hold.objects.select_related("team").in_bulk({hold_id for _, hold_id, _ in rows})
    return {
        job_id: UnderHold(hold_id, there[hold_id].words, waiting)
        for job_id, hold_id, waiting in rows
    }


def surplus(
    births: Iterable[Birth], policies: Mapping[UUID, tuple[UnderHold, catch_up.Policy]]
) -> dict[UUID, int]:
    """How many moments that wait already give way to these births, by job."""
    more = dict.fromkeys(policies, 0)
    for birth in births:
        if birth.hold_id is not None:
            more[birth.job_id] += 1
    found = {
        job_id: catch_up.giving_way(policy, waiting=hold.waiting, more=more[job_id])
        for job_id, (hold, policy) in policies.items()
    }
    return {job_id: count for job_id, count in found.items() if count}


_GIVE_WAY = f"""
update runs_run
   set state = 'SKIPPED', finished_at = %(now)s, skipped_count = 1, reason = %(reason)s,
       hold_id = null, passed = runs_passed(passed, 'SKIPPED', %(now)s, '')
  from (select r.id, row_number() over (partition by r.job_id order by r.due_at) as place, s.count
          from unnest(%(jobs)s::uuid[], %(counts)s::int[]) as s(job_id, count)
          join runs_run r on r.job_id = s.job_id
         where state = 'WAITING' and hold_id is not null and {UNDECIDED}) oldest
 where runs_run.id = oldest.id and oldest.place <= oldest.count and runs_run.state = 'WAITING'
returning runs_run.id
"""  # noqa: S608 (our own words)


def give_way(cursor: Any, counts: Mapping[UUID, int], now: datetime) -> None:
    """So many moments of each job that wait for a hold, the oldest, are recorded as skipped. Under
    the locks of their due rows."""
    if not counts:
        return
    given = {"jobs": array(counts), "counts": array(counts.values())}
    cursor.execute(_GIVE_WAY, {**given, "now": now, "reason": f"Skipped: {catch_up.GAVE_WAY}."})
    transitions.told(State.SKIPPED, [run_id for (run_id,) in cursor.fetchall()], by="hold")
