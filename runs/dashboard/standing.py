"""How it stands now: what waits for a person, what is under way, how the jobs are, in one
sentence and six tiles."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, Count, Q, When

from jobs.models import Due, Job
from runs.arrays import array
from runs.dashboard import conditions
from runs.states import UNDER_WAY, State

MOST = 1_000  # runs of a state that are counted

# The words of the partial indexes, one branch each: history is never read.
_OF_TEAMS = """
(select r.state, case r.state when 'DEAD' then r.died_at else r.review_at end as since,
       r.error_group, r.review_class
   from runs_run r join jobs_job j on j.id = r.job_id
  where j.team_id = any(%(teams)s::uuid[]) and {states} limit %(most)s)
"""
_BRANCHES = (
    "r.state in ('CLAIMED', 'ENQUEUED', 'RETRYING')",
    *(f"r.state = '{state}'" for state in ("RUNNING", "WAITING", "REVIEW", "DEAD")),
)
_COUNT = f"""
select state, count(*), min(since), count(distinct error_group),
       count(*) filter (where review_class = 'missed')
  from ({"union all".join(_OF_TEAMS.format(states=states) for states in _BRANCHES)}) found
 group by state
"""  # noqa: S608 (our own words)


_WORTH_KNOWING = 200  # jobs that are found out to be tried, in one look
_WRITE_DOWN = """
insert into runs_tried (job_id)
select id
  from jobs_job j
 where team_id = any(%(teams)s::uuid[]) and deleted_at is null
   and id not in (select job_id from runs_tried)
   and (select r.state from runs_run r
         where r.job_id = j.id and r.state in ('SUCCEEDED', 'CLOSED', 'DEAD', 'REVIEW')
         order by r.id desc limit 1) is not null
    on conflict do nothing
"""


@dataclass(frozen=True)
class Resting:
    """How many runs are in a state, counted up to MOST; since when the oldest waits for a
    person; in how many
    groups they stand; how many of them are moments that were missed."""

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
class Standing:
    """All of it, of some teams."""

    jobs: Jobs
    runs: dict[State, Resting]

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


def of(teams: Collection[UUID]) -> Standing:
    """How it stands with the jobs of these teams, in three statements."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"teams": array(teams), "most": MOST + 1})
        runs = {State(state): Resting(*rest) for state, *rest in cursor.fetchall()}
    return Standing(_jobs_of(teams), runs)


def _jobs_of(teams: Collection[UUID]) -> Jobs:
    jobs: Any = Job.objects.filter(team__in=teams, deleted_at=None).order_by()
    found = jobs.annotate(
        known=_whether(conditions.is_known_as_tried()),
        fails=_whether(conditions.is_failing()),
        is_new=_whether(~conditions.is_known_as_tried() & conditions.is_new()),
        is_late=_whether(conditions.is_late()),
        rests=_whether(conditions.rests()),
        held=_whether(conditions.held()),
        comes=_whether(Q(id__in=Due.objects.values("job_id"))),
    )
    by = ("paused", "comes", "held", "fails", "known", "is_new", "is_late", "rests")
    rows = list(found.values(*by).annotate(count=Count("id")))
    if _count(rows, lambda row: not row["known"] and not row["is_new"]) > _WORTH_KNOWING:
        _write_down(teams)
    return _told(rows)


def _told(rows: list[dict[str, Any]]) -> Jobs:
    places: dict[str, int] = {}
    for row in rows:
        places[_place(row)] = places.get(_place(row), 0) + row["count"]
    return Jobs(
        total=_count(rows, lambda row: True),
        failing=_count(rows, lambda row: row["fails"]),
        late=_count(rows, lambda row: row["is_late"]),
        paused=_count(rows, lambda row: row["paused"]),
        places=places,
    )


def _count(rows: list[dict[str, Any]], which: Callable[[dict[str, Any]], bool]) -> int:
    return sum(row["count"] for row in rows if which(row))


def _write_down(teams: Collection[UUID]) -> None:
    """Which of their jobs have been tried: the next look asks for the runs of the others alone."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_DOWN, {"teams": array(teams)})


def _whether(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False)


def _place(row: dict[str, Any]) -> str:
    """Where jobs of which this holds stand: the first that fits."""
    fits = (
        ("paused", row["paused"]),
        ("ended", not row["comes"]),
        ("held", row["held"]),
        ("trouble", row["fails"] or row["is_late"] or row["rests"]),
        ("new", row["is_new"]),
    )
    return next((name for name, is_so in fits if is_so), "fine")


def _wait(found: Resting, noun: str) -> str:
    return f"{found.words} {noun} waits" if found.count == 1 else f"{found.words} {noun}s wait"


def _jobs(count: int) -> str:
    return f"{count:,} job{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
