"""The last runs of many jobs, in one statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from runs.ages import lasted
from runs.arrays import array
from runs.dashboard.stances import strips
from runs.dashboard.stances.strips import Strip

_LAST = """
select r.job_id, r.id, r.state, r.created_at, r.started_at,
       case when r.nth = 1 then (select ended_at from runs_attempt
                                  where run_id = r.id order by number desc limit 1) end
  from unnest(%(jobs)s::uuid[]) as j(id)
 cross join lateral (
   select job_id, id, state, created_at, started_at,
          row_number() over (order by id desc) as nth
     from runs_run where job_id = j.id order by id desc limit %(count)s) r
 order by r.id
"""


@dataclass(frozen=True)
class Outcome:
    """A run, as far as a strip shows it."""

    id: UUID
    state: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None  # of its last attempt; looked up for the newest alone

    @property
    def took(self) -> timedelta | None:
        """How long its last attempt took, where that is known."""
        return lasted(self.started_at, self.ended_at)


@dataclass(frozen=True)
class Past:
    """The last runs of a job, the oldest first, and their strip."""

    runs: tuple[Outcome, ...] = ()

    @property
    def last(self) -> Outcome | None:
        """The newest."""
        return self.runs[-1] if self.runs else None

    @property
    def strip(self) -> Strip:
        """What became of them."""
        return strips.strip([one.state for one in self.runs])


def past(jobs: Iterable[UUID], count: int = 20) -> dict[UUID, Past]:
    """The last `count` runs of each of these jobs; one that never ran is in it too. Whose jobs
    they are has been looked at."""
    asked = list(jobs)
    found: defaultdict[UUID, list[Outcome]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_LAST, {"jobs": array(asked), "count": count})
        for job_id, *columns in cursor.fetchall():
            found[job_id].append(Outcome(*columns))
    return {job_id: Past(tuple(found[job_id])) for job_id in asked}
