"""The first few of each kind of thing that needs somebody, all in one statement: a page that is
open asks for them every ten seconds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from runs.arrays import array
from runs.dashboard.stances import conditions

# In the words of the partial indexes; what is found is narrow, and then told.
_FOUND = f"""
with mine as materialized (select id from jobs_job where team_id = any(%(teams)s::uuid[])),
     found (kind, place, job_id, run_id, since) as (
  select 'review', r.place, null::uuid, r.id, null::timestamptz
    from unnest(%(reviews)s::uuid[]) with ordinality r(id, place)
   union all
  (select 'unclaimed', row_number() over (order by d.at, d.job_id), d.job_id, null, d.at
     {conditions.OVERDUE} and d.job_id in (select id from mine)
    order by d.at, d.job_id limit %(each)s)
   union all
  (select 'unstarted', row_number() over (order by r.due_at, r.id), r.job_id, r.id, r.due_at
     {conditions.LATE_RUN} and r.job_id in (select id from mine)
    order by r.due_at, r.id limit %(each)s)
   union all
  (select 'retrying', row_number() over (order by r.failures desc, r.id), r.job_id, r.id,
          coalesce(r.due_at, r.created_at)
     from runs_run r
    where r.state = 'RETRYING' and r.job_id in (select id from mine)
    order by r.failures desc, r.id limit %(each)s)
   union all
  (select 'paused', row_number() over (order by j.version_began_at desc, j.id), j.id, null, null
     from jobs_job j
    where j.team_id = any(%(teams)s::uuid[]) and j.deleted_at is null and j.paused
    order by j.version_began_at desc, j.id limit %(each)s))
"""  # noqa: S608 (our own words)
_TOLD = """
select f.kind, f.run_id, j.id, j.name, j.deleted_at, t.slug,
       case f.kind when 'paused' then j.paused_reason else r.reason end,
       coalesce(f.since, r.review_at, pause.began_at),
       case f.kind when 'paused' then j.paused_until when 'retrying' then r.send_at end,
       r.failures, r.max_attempts, pause.username
  from found f
  left join runs_run r on r.id = f.run_id
  join jobs_job j on j.id = coalesce(f.job_id, r.job_id)
  join jobs_team t on t.id = j.team_id
  left join lateral (
    select v.began_at, u.username
      from jobs_jobversion v left join jobs_user u on u.id = v.by_id
     where f.kind = 'paused' and v.job_id = j.id and v.changes ? 'paused'
     order by v.number desc limit 1) pause on true
 order by f.kind, f.place
"""


@dataclass(frozen=True)
class Named:
    """A job by name, and the slug of its team."""

    id: UUID
    name: str
    deleted_at: datetime | None
    team: str


@dataclass(frozen=True)
class Row:
    """One of them. `said`: the reason of the run, or of the pause; `since`: when it came to that,
    where it is known; `goes_on`: when something happens by itself; `by`: who paused."""

    kind: str
    run_id: UUID | None
    job: Named
    said: str | None
    since: datetime | None
    goes_on: datetime | None
    failures: int | None
    max_attempts: int | None
    by: str | None


def of(teams: Collection[UUID], *, reviews: Sequence[UUID], each: int) -> dict[str, list[Row]]:
    """By kind (review, unclaimed, unstarted, retrying, paused), the worst first: at most `each` of
    what these teams have, and the runs in review that are given, in their order."""
    given: dict[str, Any] = {"teams": array(teams), "reviews": array(reviews), "each": each}
    found: dict[str, list[Row]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_FOUND + _TOLD, given)
        for values in cursor.fetchall():
            kind, run_id, *rest = values
            row = Row(kind, run_id, Named(*rest[:4]), *rest[4:])
            found.setdefault(row.kind, []).append(row)
    return found
