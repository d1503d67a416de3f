"""How it stands now: what waits for a person, what is under way, how the jobs are, in one
sentence and six tiles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from runs.arrays import array
from runs.dashboard.overview import kept
from runs.dashboard.stances import job_standing
from runs.dashboard.stances.job_standing import Jobs
from runs.states import UNDER_WAY, State

MOST = 1_000  # runs of a state that are counted
LARGE = 50_000  # jobs from which on a count is kept for a while

# The words of the partial indexes, one branch each: history is never read, and what is at rest is
# read off its index alone.
_OF_TEAMS = """
(select {columns}
   from runs_run r
  where r.job_id in (select id from mine) and {states}
  order by r.id limit %(most)s)
"""
_ELSE = "r.state, null::timestamptz as since, null::uuid as error_group, false as is_missed"
_BRANCHES = {
    "r.state in ('CLAIMED', 'ENQUEUED', 'RETRYING')": _ELSE,
    "r.state = 'RUNNING'": _ELSE,
    "r.state = 'WAITING'": _ELSE,
    "r.state = 'REVIEW'": "'REVIEW', r.review_at, null, r.review_class = 'missed'",
    "r.state = 'DEAD'": "'DEAD', r.died_at, r.error_group, false",
}
_EACH = "union all".join(
    _OF_TEAMS.format(columns=columns, states=states) for states, columns in _BRANCHES.items()
)
_COUNT = f"""
with mine as materialized (select id from jobs_job where team_id = any(%(teams)s::uuid[]))
select state, count(*), min(since), count(distinct error_group),
       count(*) filter (where is_missed)
  from ({_EACH}) found
 group by state
"""  # noqa: S608 (our own words)


@dataclass(frozen=True)
class Resting:
    """How many runs are in a state, counted up to MOST; since when the oldest waits for a
    person; in how many groups they stand; how many of them are moments that were missed."""

    count: int = 0
    oldest: datetime | None = None
    groups: int = 0
    missed: int = 0

    @property
    def most(self) -> int:
        """Where the counts end."""
        return MOST

    @property
    def words(self) -> str:
        """The count, or that there are more."""
        return f"{MOST:,}+" if self.count > MOST else f"{self.count:,}"


@dataclass(frozen=True)
class Standing:
    """All of it, of some teams. `at`: when it was counted, where that was not just now."""

    jobs: Jobs
    runs: dict[State, Resting]
    at: datetime | None = None

    @property
    def is_large(self) -> bool:
        """Whether it takes long to count: each job of theirs is looked at."""
        return self.jobs.total >= LARGE

    @property
    def review(self) -> Resting:
        """What waits for a decision."""
        return self.runs.get(State.REVIEW, Resting())

    @property
    def dead(self) -> Resting:
        """The dead letters."""
        return self.runs.get(State.DEAD, Resting())

    @property
    def in_flight(self) -> Resting:
        """What is neither at its end nor at rest."""
        found = [resting for state, resting in self.runs.items() if state in UNDER_WAY]
        over = any(resting.count > MOST for resting in found)
        return Resting(MOST + 1 if over else sum(resting.count for resting in found))

    @property
    def sentence(self) -> str:
        """Is anything wrong?"""
        if not self.jobs.total and not self.review.count and not self.dead.count:
            return "There are no jobs yet."
        wrong = self._wrong()
        if not wrong and not self.jobs.fine:  # paused, or not run yet: "0 are fine" would alarm
            return "Nothing is wrong."
        fine = f"{self.jobs.fine:,} of {_jobs(self.jobs.total)} {_is(self.jobs.fine)} fine"
        return f"{'; '.join([', '.join(wrong), fine])}." if wrong else f"Nothing is wrong; {fine}."

    def _wrong(self) -> list[str]:
        review, dead = self.review, self.dead
        told = (
            (review.count, f"{_wait(review, 'run')} for a decision"),
            (self.jobs.failing, f"{_jobs(self.jobs.failing)} {_is(self.jobs.failing)} failing"),
            (self.jobs.late, f"{_jobs(self.jobs.late)} {_is(self.jobs.late)} late"),
            (dead.count, _wait(dead, "dead letter")),
        )
        return [words for count, words in told if count]


def lately(teams: Collection[UUID], now: datetime) -> Standing:
    """The same as `of`; of very many jobs it is counted once in a while (kept.py)."""
    return kept.lately("standing", teams, now, lambda: of(teams))


def of(teams: Collection[UUID]) -> Standing:
    """How it stands with the jobs of these teams, in three statements."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"teams": array(teams), "most": MOST + 1})
        runs = {State(state): Resting(*rest) for state, *rest in cursor.fetchall()}
    return Standing(job_standing.of(teams), runs)


def _wait(found: Resting, noun: str) -> str:
    return f"{found.words} {noun} waits" if found.count == 1 else f"{found.words} {noun}s wait"


def _jobs(count: int) -> str:
    return f"{count:,} job{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
