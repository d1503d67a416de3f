"""What a job has been doing: the outcomes and the lengths of its newest runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.models import Job
from runs.dashboard import durations, pictures
from runs.dashboard.durations import Usual
from runs.dashboard.pictures import Columns
from runs.models import Run
from runs.states import State

SHOWN = 60
STEP, HEIGHT = 12.0, 80.0
_COLUMNS = ("id", "state", "due_at", "created_at", "started_at", "finished_at", "attempt")


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
    def slow(self) -> list[Length]:
        """Those that took longer than is usual."""
        return [length for length in self.lengths if length.is_slow]


def of_job(job: Job) -> Activity:
    """One statement: the newest SHOWN runs, by `runs_of_a_job`."""
    newest = Run.objects.filter(job=job).only(*_COLUMNS).order_by("-id")[:SHOWN]
    runs = list(newest)[::-1]
    usual = durations.usual([length for run in runs if (length := _usable(run)) is not None])
    lengths = [
        Length(run, length, _is_slow(run, length, usual))
        for run in runs
        if (length := seconds(run)) is not None
    ]
    levels = {"median": usual.median, "p95": usual.p95} if usual else {}
    shown = [(one.seconds, "slow" if one.is_slow else one.run.state.lower()) for one in lengths]
    picture = pictures.columns(shown, levels, step=STEP, height=HEIGHT)
    return Activity(runs, lengths, usual, picture)


def usual_of(job: Job) -> Usual | None:
    """What is usual of the newest runs of a job."""
    return of_job(job).usual


def seconds(run: Run) -> float | None:
    """From the last start to the end; None where it has not both."""
    if run.started_at is None or run.finished_at is None or run.finished_at < run.started_at:
        return None
    return (run.finished_at - run.started_at).total_seconds()


def _usable(run: Run) -> float | None:
    return seconds(run) if run.state == State.SUCCEEDED else None


def _is_slow(run: Run, length: float, usual: Usual | None) -> bool:
    return run.state == State.SUCCEEDED and usual is not None and usual.is_slow(length)
