"""The load by team, for the platform's staff: numbers of every team, names of nobody's jobs.

Membership alone opens what a team has; these are the numbers that staff read in /metrics, by team.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection

from jobs import clock
from jobs.models import Team
from runs.ages import SKEW, first_id

# One branch an index: the range of the last hour of the primary key, and the partial ones.
_LOAD = """
select t.id, t.slug, t.name, coalesce(j.jobs, 0), coalesce(r.due, 0)::int,
       coalesce(r.in_flight, 0)::int, coalesce(r.review, 0)::int, coalesce(r.dead, 0)::int,
       exists (select from jobs_hold h
                where h.ended_at is null and (h.team_id = t.id or h.team_id is null)),
       exists (select from jobs_membership m where m.team_id = t.id and m.user_id = %(user)s)
  from jobs_team t
  left join (select team_id, count(*) as jobs from jobs_job
              where deleted_at is null group by team_id) j on j.team_id = t.id
  left join (
    select of.team_id, sum(due) as due, sum(in_flight) as in_flight, sum(review) as review,
           sum(dead) as dead
      from (select job_id, 1 as due, 0 as in_flight, 0 as review, 0 as dead from runs_run
             where id >= %(first)s::uuid and coalesce(due_at, created_at) > %(since)s
            union all
            select job_id, 0, 1, 0, 0 from runs_run
             where state in ('CLAIMED', 'ENQUEUED', 'RETRYING')
            union all
            select job_id, 0, 1, 0, 0 from runs_run where state = 'RUNNING'
            union all
            select job_id, 0, 1, 0, 0 from runs_run where state = 'WAITING'
            union all
            select job_id, 0, 0, 1, 0 from runs_run where state = 'REVIEW'
            union all
            select job_id, 0, 0, 0, 1 from runs_run where state = 'DEAD') run
      join jobs_job of on of.id = run.job_id
     group by of.team_id) r on r.team_id = t.id
 order by r.due desc nulls last, t.slug
 limit %(most)s
"""
MOST = 200  # teams


@dataclass(frozen=True)
class Load:
    """One team: its jobs, the runs due in the last hour, those under way and at rest; whether a
    hold is on; whether the reader is a member."""

    team: Team
    jobs: int
    due: int
    in_flight: int
    review: int
    dead: int
    held: bool
    is_member: bool


def by_team(user_id: int) -> list[Load]:
    """Every team, the busiest first, at most MOST."""
    since = clock.now() - timedelta(hours=1)
    given: dict[str, Any] = {
        "user": user_id,
        "first": first_id(since - SKEW),
        "since": since,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOAD, given)
        rows = cursor.fetchall()
    return [
        Load(Team(id=team_id, slug=slug, name=name), *numbers)
        for team_id, slug, name, *numbers in rows
    ]
