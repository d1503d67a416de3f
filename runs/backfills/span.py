"""The range of a backfill: what it holds, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jobs import clock
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.models import Job
from jobs.schedules.instants import canonical_instant
from runs import moments
from runs.moments import TICK, There

MOST = 10_000  # moments of one backfill
_FEW = 5  # moments shown at each end
_COUNTED = timedelta(days=36_525)  # ahead of now
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Range:
    """Two instants, both included."""

    since: datetime
    until: datetime


@dataclass(frozen=True)
class Sample:
    """One moment of a range, and what it has already."""

    moment: datetime
    there: There | None


@dataclass(frozen=True)
class Preview:
    """What a backfill of a range would do: how many moments the range holds, how many of them
    have a run already, or had one, and the first and the last few, oldest first."""

    moments: int
    existing: int
    head: list[Sample]
    tail: list[Sample]

    @property
    def to_run(self) -> int:
        return max(0, self.moments - self.existing)

    @property
    def first(self) -> datetime | None:
        return self.head[0].moment if self.head else None

    @property
    def last(self) -> datetime | None:
        return (self.tail or self.head)[-1].moment if self.head else None

    @property
    def left_out(self) -> int:
        """How many lie between those at the head and those at the tail."""
        return self.moments - len(self.head) - len(self.tail)


def preview(job: Job, asked: Range) -> Preview:
    """What is in the range. Raises DefinitionError with every problem of it: turned round, older
    than the job, yet to come, more moments than MOST."""
    history, problems = _checked(job, asked, clock.now())
    if problems:
        raise DefinitionError(problems)
    head = history.between(asked.since, asked.until, _FEW)
    after = head[-1] + TICK if head else asked.since
    tail = history.newest(after, asked.until, _FEW)[::-1]
    there = moments.there(job.id, [*head, *tail])
    return Preview(
        history.count(asked.since, asked.until),
        moments.how_many_there(job.id, asked.since, asked.until),
        [Sample(at, there.get(at)) for at in head],
        [Sample(at, there.get(at)) for at in tail],
    )


def _checked(job: Job, asked: Range, now: datetime) -> tuple[moments.History, list[Problem]]:
    """The job's history from the range on, and what is wrong with the range."""
    since = max(asked.since, _EPOCH)  # before it there are no moments
    history = moments.of_job(job.id, since)
    problems = []
    if asked.since > asked.until:
        hint = "Choose one that is not before `from`."
        problems.append(Problem("to", "lies before `from`.", hint))
    if asked.until > now:
        hint = f"Choose one up to now, {canonical_instant(now.replace(microsecond=0))}."
        problems.append(Problem("to", "is yet to come.", hint))
    if asked.since < history.began_at:
        hint = f"Its history begins at {canonical_instant(_next_second(history.began_at))}."
        hint += " Choose that, or one after it."
        problems.append(Problem("from", "lies before the job's first version.", hint))
    # Counted whatever else is wrong, as if the first version had always been in force. A far
    # year is not: it would cost time, and is refused as it is.
    if since < (until := min(asked.until, now + _COUNTED)):
        number = history.line.at_most(since - TICK, until)
        problems += [_too_many(f"{number:,}")] if number > MOST else []
    return history, problems


def _next_second(at: datetime) -> datetime:
    """The first full second that is not before it: short to read, and taken when typed."""
    return at if not at.microsecond else at.replace(microsecond=0) + timedelta(seconds=1)


def _too_many(number: str) -> Problem:
    hint = f"At most {MOST:,} are backfilled at a time: choose a shorter range."
    return Problem("to", f"makes a range of {number} moments.", hint)
