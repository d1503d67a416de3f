"""Numbers that add up: what was due in a window, and what has become of each of it.

due = succeeded + in flight + skipped + dead + in review + closed + cancelled. A run stands where
its moment lies; one by hand without a moment where it was made; a record of moments that were
skipped where its first one lies, and counts as one, as the list of runs shows it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from runs.ages import SKEW, first_id
from runs.arrays import array
from runs.dashboard.overview import kept
from runs.dashboard.windows import Window
from runs.states import UNDER_WAY, State

LARGE = 20_000  # runs from which on a count is kept for a while
MOST = 200_000  # runs that are counted; a window that holds more is not told apart
IN_FLIGHT = "in_flight"
# In the order in which they are told.
PARTS: dict[str, tuple[State, ...]] = {
    "succeeded": (State.SUCCEEDED,),
    IN_FLIGHT: tuple(state for state in State if state in UNDER_WAY),
    "skipped": (State.SKIPPED,),
    "dead": (State.DEAD,),
    "in_review": (State.REVIEW,),
    "closed": (State.CLOSED,),
    "cancelled": (State.CANCELLED,),
}

# A run is born after its moment, so that the primary key finds the window. What was missed and
# not made up says so in jobs/schedules/catch_up.py's words.
_COUNT = """
with mine as materialized (select id from jobs_job where team_id = any(%(teams)s::uuid[]))
select state, step, count(*), count(*) filter (where missed)
  from (select r.state,
               date_bin(%(step)s, coalesce(r.due_at, r.created_at), %(since)s) as step,
               r.state = 'SKIPPED' and r.reason like 'missed%%' or r.review_class = 'missed'
                 as missed
          from runs_run r join mine on mine.id = r.job_id
         where r.id >= %(first)s::uuid
           and coalesce(r.due_at, r.created_at) >= %(since)s
           and coalesce(r.due_at, r.created_at) < %(until)s
         limit %(most)s) found
 group by state, step
"""


@dataclass(frozen=True)
class Numbers:
    """How many runs of the window are in each state, by step. `missed`: of those skipped or in
    review, whose moment passed without a run. `more`: there are more than were counted, MOST.
    `at`: when they were counted, where that was not just now."""

    window: Window
    steps: list[dict[State, int]]
    missed: int
    more: bool
    at: datetime | None = None

    @property
    def parts(self) -> dict[str, int]:
        """The parts that add up to what was due."""
        return {name: self.of(*states) for name, states in PARTS.items()}

    @property
    def due(self) -> int:
        """All of them."""
        return sum(sum(step.values()) for step in self.steps)

    @property
    def is_large(self) -> bool:
        """Whether it takes long to count them."""
        return self.due >= LARGE

    def of(self, *states: State) -> int:
        """Those in these states."""
        return sum(step.get(state, 0) for step in self.steps for state in states)


def lately(teams: Collection[UUID], window: Window, now: datetime) -> Numbers:
    """The same as `count`; a large window is counted once in a while (kept.py)."""
    name = f"numbers-{window.since:%Y%m%d%H%M}-{window.until:%Y%m%d%H%M}"
    return kept.lately(name, teams, now, lambda: count(teams, window))


def count(teams: Collection[UUID], window: Window, most: int = MOST) -> Numbers:
    """What was due of these teams' jobs in the window, in one statement."""
    given: dict[str, Any] = {
        "teams": array(teams),
        "first": first_id(window.since - SKEW),
        "since": window.since,
        "until": window.until,
        "step": window.length.step,
        "most": most + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, given)
        rows = cursor.fetchall()
    steps: dict[datetime, dict[State, int]] = {at: {} for at in window.starts}
    for state, at, runs, _ in rows:
        steps[at][State(state)] = runs
    found = sum(runs for _, _, runs, _ in rows)
    missed = sum(missed for *_, missed in rows)
    return Numbers(window, list(steps.values()), missed, more=found > most)
