"""How each of some jobs stands, in one statement over narrow tables and partial indexes: what it
costs follows the jobs that are asked for and what is at rest, never history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from runs.arrays import array
from runs.dashboard.stances import conditions
from runs.dashboard.stances.stances import LOOKS, Look, Stance, worst

# Which jobs `j`, in SQL.
OF_IDS = "j.id = any(%(jobs)s::uuid[])"
OF_TEAM = "j.team_id = %(team)s"
OF_TAG = "j.team_id = %(team)s and j.tags @> %(tags)s::jsonb"
_STAND = f"""
with mine as materialized (
  select j.id, j.paused, d.job_id is null as is_over,
         {conditions.IS_HELD} as is_held
    from jobs_job j left join jobs_due d on d.job_id = j.id
   where j.deleted_at is null and {{which}}),
     asks as materialized (
  select job_id, min(review_at) as since from runs_run
   where state = 'REVIEW' and job_id in (select id from mine) group by job_id),
     dead as materialized (
  select job_id, min(died_at) as since from runs_run
   where state = 'DEAD' and job_id in (select id from mine) group by job_id),
     late as materialized (
  select job_id from ({conditions.LATE}) everyones where job_id in (select id from mine)),
     again as materialized (
  select job_id from runs_run where state = 'RETRYING' and job_id in (select id from mine))
select j.id,
       case when asks.job_id is not null then 'review'
            when dead.job_id is not null and {conditions.NEWEST_IS_BAD} then 'failing'
            when j.id in (select job_id from late) then 'late'
            when dead.job_id is not null then 'dead'
            when j.id in (select job_id from again) then 'retrying'
            when j.paused then 'paused'
            when j.is_over then 'ended'
            when j.is_held then 'held'
            when t.job_id is null and {conditions.NEWEST} is null then 'new'
            else 'fine' end as stance,
       coalesce(asks.since, dead.since) as since
  from mine j
  left join asks on asks.job_id = j.id
  left join dead on dead.job_id = j.id
  left join runs_tried t on t.job_id = j.id
"""  # noqa: S608 (our own words)


@dataclass(frozen=True)
class Stands:
    """How a job stands, and since when it has waited for a person, where it does."""

    stance: Stance
    since: datetime | None = None

    @property
    def look(self) -> Look:
        """As pages show it."""
        return LOOKS[self.stance]


def of(jobs: Iterable[UUID]) -> dict[UUID, Stands]:
    """How each of these jobs stands; one that is deleted is not in it. Whose jobs they are has been
    looked at."""
    asked = {"jobs": array(jobs), **conditions.on_hold()}
    with connection.cursor() as cursor:
        cursor.execute(_STAND.format(which=OF_IDS), asked)
        return {job_id: Stands(Stance(word), since) for job_id, word, since in cursor.fetchall()}


@dataclass(frozen=True)
class Together:
    """How many jobs stand as one: the worst of them, how many stand so, since when the first has
    waited for a person. `stance` None: there is no job."""

    stance: Stance | None = None
    count: int = 0
    since: datetime | None = None


def together(which: str, asked: Mapping[str, Any]) -> Together:
    """Of the jobs `which` (OF_IDS, OF_TEAM or OF_TAG, with what it asks for)."""
    counted = f"select stance, count(*), min(since) from ({_STAND}) each group by stance"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(counted.format(which=which), {**asked, **conditions.on_hold()})
        found = {Stance(word): (count, since) for word, count, since in cursor.fetchall()}
    stance = worst({one: count for one, (count, _) in found.items()})
    return Together(stance, *found[stance]) if stance else Together()
