"""How many runs rest in a state and wait for a person: every page says so, and polls for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Team
from jobs.roles import Act
from runs.arrays import array
from runs.states import State

_LOOKED_THROUGH = 1_000  # runs of everybody, before the reader's jobs are put together

# Each of the first so many is asked whose it is; `full`: there are more than these.
_AMONG_THE_FIRST = """
select (select count(*)
          from (select from (select job_id from runs_run where state = '{state}'
                              limit %(through)s) r
                 where (select j.team_id from jobs_job j where j.id = r.job_id)
                       = any(%(teams)s::uuid[])
                 limit %(most)s) found),
       (select count(*) > %(through)s
          from (select from runs_run where state = '{state}' limit %(through)s + 1) there) as full
"""
_AMONG_ALL = """
with mine as materialized (select id from jobs_job where team_id = any(%(teams)s::uuid[]))
select count(*) from (select from runs_run r join mine on mine.id = r.job_id
                       where r.state = '{state}' limit %(most)s) found
"""


STATES = (State.REVIEW, State.DEAD)


def counts(user_id: int | None, most: int) -> dict[State, int]:
    """Those of this person's teams in each of the STATES, counted up to `most`."""
    teams = list(Team.objects.where(user_id, Act.READ).values_list("id", flat=True))
    return {state: _count(teams, state, most) for state in STATES}


def _count(teams: list[UUID], state: State, most: int) -> int:
    given: dict[str, Any] = {"teams": array(teams), "most": most, "through": _LOOKED_THROUGH}
    with connection.cursor() as cursor:
        # In so many words: a partial index is found by what the statement says.
        cursor.execute(_AMONG_THE_FIRST.format(state=state), given)
        found, is_full = cursor.fetchone()
        if found < most and is_full and teams:
            cursor.execute(_AMONG_ALL.format(state=state), given)
            (found,) = cursor.fetchone()
    return int(found)
