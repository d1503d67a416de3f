"""What a job has been doing: the outcomes and the lengths of its newest runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.models import Job
from runs import last_attempt
from runs.dashboard import pictures
from runs.dashboard.job import durations
from runs.dashboard.job.durations import Usual
from runs.dashboard.pictures import Columns
from runs.dashboard.stances import strips
from runs.dashboard.stances.strips import Strip
from runs.models import Run
from runs.states import State

SHOWN = 60
STEP, HEIGHT = 12.0, 80.0
_COLUMNS = ("id", "state", "due_at", "created_at", "started_at")


@dataclass(frozen=True)
class Length:
    """How long the last attempt of a run took, in seconds."""

    run: Run
    seconds: float
    is_slow: bool

    @property
    def at(self) -> datetime:
        """Its moment, or when it was asked for."""
        return self.run.due_at or self.run.created_at


@dataclass(frozen=True)
class Activity:
    """The newest runs, oldest first; the lengths of those that have ended after a start."""

    runs: list[Run]
    lengths: list[Length]
    usual: Usual | None
    picture: Columns

    @property
    def strip(self) -> Strip:
        """What became of each."""
        return strips.strip([run.state for run in self.runs])

    @property
    def slow(self) -> list[Length]:
        """Those that took longer than is usual."""
        return [length for length in self.lengths if length.is_slow]


def of_job(job: Job) -> Activity:
    """One statement: the newest SHOWN runs, by `runs_of_a_job`."""
    rows = last_attempt.with_end(Run.objects.filter(job=job))
    runs = list(rows.only(*_COLUMNS).order_by("-id")[:SHOWN])[::-1]
    took = [(run, seconds) for run in runs if (seconds := _seconds(run)) is not None]
    usual = durations.usual([seconds for run, seconds in took if run.state == State.SUCCEEDED])
    lengths = [Length(run, seconds, _is_slow(run, seconds, usual)) for run, seconds in took]
    levels = {"median": usual.median, "p95": usual.p95} if usual else {}
    shown = [(one.seconds, "slow" if one.is_slow else one.run.state.lower()) for one in lengths]
    picture = pictures.columns(shown, levels, step=STEP, height=HEIGHT)
    return Activity(runs, lengths, usual, picture)


def usual_of(job: Job) -> Usual | None:
    """What is usual of the newest runs of a job."""
    return of_job(job).usual


def _seconds(run: Run) -> float | None:
    length = last_attempt.length(run)
    return None if length is None else length.total_seconds()


def _is_slow(run: Run, length: float, usual: Usual | None) -> bool:
    return run.state == State.SUCCEEDED and usual is not None and usual.is_slow(length)
