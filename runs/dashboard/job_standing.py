"""How the jobs are: how many are fine, and how many are not, and why.

One statement over the jobs' own rows, narrow tables and partial indexes. What it costs does not
grow with history, nor, once it has been found out that a job got over its dead runs, with those.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Hold
from runs.arrays import array
from runs.dashboard import conditions

_WORTH_KNOWING = 200  # jobs of which something is found out, in one look
# Each job stands in the first place that fits.
_STAND = f"""
with worst as materialized ({conditions.WORST}),
     late as materialized ({conditions.LATE}),
     retrying as materialized (select job_id from runs_run where state = 'RETRYING'),
     known as (
  select j.id, j.paused, d.job_id is not null as comes,
         %(all_held)s or j.team_id = any(%(held)s::uuid[]) as held, t.job_id is not null as tried,
         coalesce({conditions.IS_SUSPECT}, false) as suspect,
         j.id in (select job_id from late) as late,
         w.id is not null or j.id in (select job_id from retrying) as rests
    from jobs_job j
    left join jobs_due d on d.job_id = j.id
    left join runs_tried t on t.job_id = j.id
    left join worst w on w.job_id = j.id
   where j.team_id = any(%(teams)s::uuid[]) and j.deleted_at is null),
     looked_up as (
  select j.*, suspect and {conditions.NEWEST_IS_BAD} as fails,
         not tried and {conditions.NEWEST} is null as is_new
    from known j)
select case when paused then 'paused'
            when not comes then 'ended'
            when held then 'held'
            when fails or late or rests then 'trouble'
            when is_new then 'new'
            else 'fine' end as place,
       count(*), count(*) filter (where fails), count(*) filter (where late),
       count(*) filter (where not (tried or is_new) or suspect and not fails)
  from looked_up
 group by place
"""  # noqa: S608 (our own words)
_WRITE_DOWN = f"""
insert into runs_tried as known (job_id, got_over)
select j.id, case when not {conditions.NEWEST_IS_BAD} then w.id end
  from jobs_job j
  left join runs_tried t on t.job_id = j.id
  left join ({conditions.WORST}) w on w.job_id = j.id
 where j.team_id = any(%(teams)s::uuid[]) and j.deleted_at is null
   and (t.job_id is null or {conditions.IS_SUSPECT}) and {conditions.NEWEST} is not null
    on conflict (job_id) do update set got_over = excluded.got_over
 where excluded.got_over > known.got_over or known.got_over is null
"""  # noqa: S608 (our own words)


@dataclass(frozen=True)
class Jobs:
    """How the jobs are. Failing, late and paused may be one job; the others stand in one place:
    fine, in `trouble`, paused, under a hold, `new` (no outcome yet) or at their end."""

    total: int = 0
    failing: int = 0
    late: int = 0
    paused: int = 0
    places: dict[str, int] = field(default_factory=dict)

    @property
    def fine(self) -> int:
        """Those that are on, whose newest outcome is good, and of which nothing waits."""
        return self.places.get("fine", 0)

    @property
    def others(self) -> list[str]:
        """Those that are not fine though nothing is wrong with them, in words."""
        told = (("paused", "paused"), ("held", "on hold"), ("new", "not run yet"))
        found = [(self.places.get(name, 0), words) for name, words in (*told, ("ended", "ended"))]
        return [f"{count:,} {words}" for count, words in found if count]


@dataclass(frozen=True)
class _Place:
    """How many jobs stand there, and are failing and late. `found_out`: of how many runs had to be
    looked for, and need not be again."""

    name: str
    count: int
    failing: int
    late: int
    found_out: int


def of(teams: Collection[UUID]) -> Jobs:
    """How the jobs of these teams are."""
    on = list(Hold.objects.filter(ended_at=None).values_list("team_id", flat=True))
    given: dict[str, Any] = {
        "teams": array(teams),
        "held": array(team for team in on if team is not None),
        "all_held": None in on,
    }
    with connection.cursor() as cursor:
        cursor.execute(_STAND, given)
        places = [_Place(*row) for row in cursor.fetchall()]
        if sum(place.found_out for place in places) > _WORTH_KNOWING:
            cursor.execute(_WRITE_DOWN, given)
    counts = {place.name: place.count for place in places}
    return Jobs(
        total=sum(counts.values()),
        failing=sum(place.failing for place in places),
        late=sum(place.late for place in places),
        paused=counts.get("paused", 0),
        places=counts,
    )
