"""Markers in the pictures and lists of the pages: over the window of the Overview, and over the
newest runs of a job."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from jobs.models import Job
from runs.dashboard import bars
from runs.dashboard.bars import Step
from runs.dashboard.job import activity
from runs.dashboard.job.activity import Activity, Length
from runs.dashboard.stances import strips
from runs.dashboard.windows import Window
from runs.markers import kept, placing
from runs.markers.placing import Flag, Row
from runs.models import Marker, Run

LISTED = 3  # the last of them; the others are folded behind


@dataclass(frozen=True)
class Marked:
    """Markers of a picture, the oldest first, as their numbers are. `more`: only the last of them
    are here."""

    markers: list[Marker]
    more: bool

    @property
    def shown(self) -> list[tuple[int, Marker]]:
        """The last few with their numbers, the newest first."""
        return self._numbered[:LISTED]

    @property
    def folded(self) -> list[tuple[int, Marker]]:
        """The others."""
        return self._numbered[LISTED:]

    @property
    def _numbered(self) -> list[tuple[int, Marker]]:
        return list(enumerate(self.markers, 1))[::-1]


@dataclass(frozen=True)
class InWindow(Marked):
    """Of some teams: lines and flags over the bars, rows between the steps of the table."""

    lines: list[float]
    flags: list[Flag]
    rows: list[Row[Step, Marker]]


def in_window(teams: Collection[UUID], window: Window, steps: Sequence[Step]) -> InWindow:
    """Those of the window."""
    found = kept.of_teams(teams, window.since, window.until)
    markers = found[: kept.MOST][::-1]
    since, until, width = (
        window.since.timestamp(),
        window.until.timestamp(),
        bars.WIDTH * len(steps),
    )
    lines = [placing.along(one.at.timestamp(), since, until, width) for one in markers]
    starts = [step.at.timestamp() for step in steps]
    rows = _rows(steps, markers, starts)
    return InWindow(markers, len(found) > kept.MOST, lines, placing.flags(lines, width), rows)


@dataclass(frozen=True)
class OfJob(Marked):
    """Of a job: lines over its strip and its durations, flags of both, and rows between those of
    their tables."""

    on_strip: list[float]
    strip_flags: list[Flag]
    strip_rows: list[Row[Run, Marker]]
    on_lengths: list[float]
    length_flags: list[Flag]
    length_rows: list[Row[Length, Marker]]


def over(job: Job, shown: Activity) -> OfJob:
    """Those since the oldest run that its page shows; without a run nothing is asked."""
    found = kept.of_job(job, shown.runs[0].created_at) if shown.runs else []
    markers = found[: kept.MOST][::-1]
    runs = [run.created_at.timestamp() for run in shown.runs]
    lengths = [length.run.created_at.timestamp() for length in shown.lengths]
    on_strip = placing.between(_places(runs, markers), strips.STEP)
    on_lengths = placing.between(_places(lengths, markers), activity.STEP)
    return OfJob(
        markers,
        len(found) > kept.MOST,
        on_strip,
        placing.flags(on_strip, shown.strip.width),
        _rows(shown.runs, markers, runs),
        on_lengths,
        placing.flags(on_lengths, shown.picture.width),
        _rows(shown.lengths, markers, lengths),
    )


@dataclass(frozen=True)
class Line:
    """A line of a list of runs, the newest first: a run, or a marker `gap` before the run above
    it; without a gap none has begun since."""

    run: Run | None = None
    marker: Marker | None = None
    gap: timedelta | None = None


def lines(job: Job, runs: Sequence[Run]) -> list[Line]:
    """The newest runs of a job, the newest first, with the markers since the oldest of them."""
    found = kept.of_job(job, min(run.created_at for run in runs))[: kept.MOST] if runs else []
    rows: list[Line] = []
    above: datetime | None = None
    for run in runs:
        while found and found[0].at >= run.created_at:
            rows.append(_line(found.pop(0), above))
        rows.append(Line(run=run))
        above = run.created_at
    return rows


def _line(marker: Marker, above: datetime | None) -> Line:
    return Line(marker=marker, gap=None if above is None else above - marker.at)


def _places(starts: Sequence[float], markers: Sequence[Marker]) -> list[int]:
    return [placing.among(starts, one.at.timestamp()) for one in markers]


def _rows(
    things: Sequence[placing.Thing], markers: Sequence[Marker], starts: Sequence[float]
) -> list[Row[placing.Thing, Marker]]:
    return placing.mixed(things, markers, _places(starts, markers))
