"""How the jobs are: how many are fine, and how many are not, and why.

One statement over the jobs' own rows, narrow tables and partial indexes. What it costs does not
grow with history, nor, once it has been found out that a job got over its dead runs, with those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from runs.arrays import array
from runs.dashboard.stances import conditions

_PLACES = ("fine", "trouble", "new", "paused", "held", "ended")
_WORTH_KNOWING = 200  # jobs of which something is found out, in one look
# Each job has one place; what else is counted of them is found on the few of which it is so. A
# flag for each of ten thousand jobs would cost twice as much.
_STAND = f"""
with mine as materialized (
  select j.id, case when j.paused then 'paused'
                    when d.job_id is null then 'ended'
                    when {conditions.IS_HELD} then 'held'
                    else 'on' end as place
    from jobs_job j left join jobs_due d on d.job_id = j.id
   where j.team_id = any(%(teams)s::uuid[]) and j.deleted_at is null),
     bad as materialized (
  select job_id, id from ({conditions.BAD}) everyones where job_id in (select id from mine)),
     late as materialized ({conditions.LATE}),
     troubled as (
  select job_id from bad
   union all
  select job_id from late
   union all
  select job_id from runs_run where state = 'RETRYING'),
     suspect as materialized (
  select j.id, {conditions.NEWEST_IS_BAD} as fails from ({conditions.SUSPECTS}) j),
     untried as materialized (
  select j.id, j.place, {conditions.NEWEST} is null as is_new
    from mine j
   where not exists (select from runs_tried t where t.job_id = j.id))
select place, count(*) from mine group by place
union all
select 'trouble', count(*) from mine
 where place = 'on' and id in (select job_id from troubled)
union all
select 'new', count(*) from untried
 where place = 'on' and is_new and id not in (select job_id from troubled)
union all
select 'late', count(*) from mine where id in (select job_id from late)
union all
select 'failing', count(*) from suspect where fails
union all
select 'found out', count(*) from suspect where not fails
union all
select 'found out', count(*) from untried where not is_new
"""  # noqa: S608 (our own words)
_WRITE_DOWN = f"""
with bad as materialized ({conditions.BAD})
insert into runs_tried as known (job_id, got_over)
select j.id, case when not {conditions.NEWEST_IS_BAD} then w.id end
  from jobs_job j
  left join runs_tried t on t.job_id = j.id
  left join (select distinct on (job_id) job_id, id
               from bad order by job_id, id desc) w on w.job_id = j.id
 where j.team_id = any(%(teams)s::uuid[]) and j.deleted_at is null
   and (t.job_id is null or j.id in ({conditions.SUSPECTS})) and {conditions.NEWEST} is not null
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


def of(teams: Collection[UUID]) -> Jobs:
    """How the jobs of these teams are."""
    given: dict[str, Any] = {"teams": array(teams), **conditions.on_hold()}
    with connection.cursor() as cursor:
        cursor.execute(_STAND, given)
        counts = Counter[str]()
        for name, count in cursor.fetchall():
            counts[name] += count
        if counts["found out"] > _WORTH_KNOWING:
            cursor.execute(_WRITE_DOWN, given)
    counts["fine"] = counts["on"] - counts["trouble"] - counts["new"]
    return Jobs(
        total=sum(counts[place] for place in _PLACES),
        **{name: counts[name] for name in ("failing", "late", "paused")},
        places={place: counts[place] for place in _PLACES if counts[place]},
    )
