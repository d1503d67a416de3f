"""What should have fired against what did.

For each job the moments that its versions made due are compared with its runs, its records of
skipped moments and its tombstones: moment by moment for a job with few in the window, and for
the others where the counts differ. (Among many, a moment lost is not seen where just one other
that was never due has a run.) What older zone data made due stands for the moment that the rules
of today have in its place (runs/audits/zones.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from jobs import clock
from jobs.models import Job
from jobs.schedules.schedules import canonical_instant
from runs.audits import rows as audit_rows
from runs.audits.rows import Counts, Fired, Line, Skipped, Window
from runs.audits.zones import Displaced

SETTLED = timedelta(seconds=60)  # younger moments may still be on their way
FEW = 300  # moments that are always compared one by one
LISTED = 50  # moments that a gap names
_JOBS = 200  # in a batch
_MOMENTS = 10_000  # held at once
_TICK = timedelta.resolution


class Kind(StrEnum):
    """What is wrong with moments of a job."""

    MISSING = "missing"  # due, and neither a run nor a record
    DOUBLED = "doubled"  # more than one run for a moment
    EARLY = "early"  # a run that began before its moment
    UNEXPLAINED = "unexplained"  # a run of the schedule for a moment that was never due
    UNREADABLE = "unreadable"  # the stored schedule cannot be read, so nothing can be said


@dataclass
class Gap:
    """One thing wrong with one job: how many moments, and the first of them."""

    job_id: UUID
    team: str
    name: str
    kind: Kind
    count: int = 0
    moments: list[datetime] = field(default_factory=list)

    def add(self, moments: Sequence[datetime]) -> None:
        self.count += len(moments)
        self.moments += moments[: LISTED - len(self.moments)]

    def as_json(self) -> dict[str, Any]:
        return {
            "job": str(self.job_id),
            "team": self.team,
            "name": self.name,
            "kind": str(self.kind),
            "count": self.count,
            "moments": [canonical_instant(moment) for moment in self.moments],
        }


@dataclass
class Report:
    """What was compared: the window, how many jobs, moments due, runs, moments skipped on record,
    runs that are no longer kept; and every gap."""

    since: datetime
    until: datetime
    jobs: int = 0
    due: int = 0
    runs: int = 0
    skipped: int = 0
    pruned: int = 0
    gaps: list[Gap] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "since": canonical_instant(self.since),
            "until": canonical_instant(self.until),
            "jobs": self.jobs,
            "due": self.due,
            "runs": self.runs,
            "skipped": self.skipped,
            "pruned": self.pruned,
            "gaps": [gap.as_json() for gap in self.gaps],
        }


def report(
    since: datetime | None = None, until: datetime | None = None, *, team: UUID | None = None
) -> Report:
    """Compare the moments from `since` (a day ago) up to a minute ago, or `until` where that is
    earlier, by the database's clock, of every job, or those of one team. Beyond the retention of
    runs nothing can be told: `since` is no older."""
    now = clock.now()
    oldest = now - timedelta(days=settings.KEEP_RUNS_DAYS)
    since = max(oldest, since or now - timedelta(days=1))
    settled = now - SETTLED
    found = Report(since, max(since, min(until or settled, settled)))
    window = Window(since, found.until)
    for batch in _batches(window, team):
        _compare(batch, window, found)
    return found


def _batches(window: Window, team: UUID | None) -> Iterator[list[Job]]:
    """The jobs that were there in the window, by id."""
    there = Job.objects.filter(Q(deleted_at=None) | Q(deleted_at__gt=window.after))
    if team is not None:
        there = there.filter(team=team)
    jobs = there.select_related("team").only("id", "name", "team__slug").order_by("id")
    batch = list(jobs[:_JOBS])
    while batch:
        yield batch
        batch = list(jobs.filter(id__gt=batch[-1].id)[:_JOBS])


@dataclass(frozen=True)
class _Found:
    """What the statements found of a batch of jobs."""

    counts: dict[UUID, Counts]
    skipped: dict[UUID, list[Skipped]]
    buried: dict[UUID, int]


def _compare(batch: list[Job], window: Window, found: Report) -> None:
    ids = [job.id for job in batch]
    lines = audit_rows.lines(ids, window)
    there = _Found(
        audit_rows.counts(ids, window),
        audit_rows.skipped(ids, window),
        audit_rows.buried(ids, window),
    )
    few: list[tuple[Job, Line]] = []
    for job in (job for job in batch if job.id in lines):
        found.jobs += 1
        line = lines[job.id]
        if line is None:
            found.gaps.append(Gap(job.id, job.team.slug, job.name, Kind.UNREADABLE, count=1))
            continue
        said = _Said.of(job, line, window, there)
        found.due += said.due
        found.runs += said.counts.runs
        found.skipped += said.skipped
        found.pruned += said.buried
        if said.due <= FEW:
            few.append((job, line))
        elif said.differs:
            skipped = there.skipped.get(job.id, [])
            displaced = _displaced(job, line, window)
            found.gaps += _gaps(job, _in_pieces(job, line, window), skipped, displaced)
    fired = audit_rows.fired([job.id for job, _ in few], window)
    for job, line in few:
        piece = (_moments(line, window, FEW), fired.get(job.id, {}))
        displaced = _displaced(job, line, window)
        found.gaps += _gaps(job, [piece], there.skipped.get(job.id, []), displaced)


def _clipped(line: Line, window: Window) -> Window:
    return Window(max(line[0], window.after), window.until)


def _count(line: Line, window: Window) -> int:
    clipped = _clipped(line, window)
    return line[1].count(clipped.after, clipped.until)


def _moments(line: Line, window: Window, limit: int) -> list[datetime]:
    clipped = _clipped(line, window)
    return line[1].moments(clipped.after, clipped.until, limit)


@dataclass(frozen=True)
class _Said:
    """A job in numbers: moments due, and what there is of them."""

    due: int
    counts: Counts
    skipped: int
    buried: int

    @classmethod
    def of(cls, job: Job, line: Line, window: Window, there: _Found) -> _Said:
        rows = there.skipped.get(job.id, [])
        return cls(
            _count(line, window),
            there.counts.get(job.id, Counts()),
            sum(_within(row, line, window) for row in rows),
            there.buried.get(job.id, 0),
        )

    @property
    def differs(self) -> bool:
        # A moment may be skipped on record and have been run since: then numbers prove nothing.
        if self.counts.asked and self.skipped:
            return True
        accounted = self.counts.runs + self.skipped + self.buried
        return accounted != self.due or self.counts.early > 0 or self.counts.doubled > 0


def _within(row: Skipped, line: Line, window: Window) -> int:
    """How many of the moments of a record lie in the window."""
    if window.after < row.first and row.last <= window.until:
        return row.count
    return _count(line, Window(max(row.first - _TICK, window.after), min(row.last, window.until)))


_Piece = tuple[list[datetime], dict[datetime, Fired]]  # what was due and what has fired


def _in_pieces(job: Job, line: Line, window: Window) -> Iterator[_Piece]:
    """The window in pieces that can be held."""
    after = window.after
    while after < window.until:
        due = _moments(line, Window(after, window.until), _MOMENTS)
        end = due[-1] if len(due) == _MOMENTS else window.until
        yield due, audit_rows.fired([job.id], Window(after, end)).get(job.id, {})
        after = end


def _displaced(job: Job, line: Line, window: Window) -> Callable[[], Displaced]:
    """Read where something is amiss only, and once."""
    return cache(lambda: Displaced.of(job.id, line[1], window))


def _gaps(
    job: Job,
    pieces: Iterable[_Piece],
    skipped: list[Skipped],
    displaced: Callable[[], Displaced],
) -> list[Gap]:
    gaps = {kind: _gap(job, kind) for kind in Kind}
    for due, fired in pieces:
        if missing := _missing(due, fired, skipped):
            gaps[Kind.MISSING].add(displaced().unaccounted(missing))
        wanted, found = set(due), sorted(fired.items(), key=lambda item: item[0])
        gaps[Kind.DOUBLED].add([moment for moment, runs in found if runs.runs > 1])
        gaps[Kind.EARLY].add([moment for moment, runs in found if runs.early])
        strange = [moment for moment, runs in found if runs.scheduled and moment not in wanted]
        if strange:
            gaps[Kind.UNEXPLAINED].add(displaced().unexplained(strange))
    return [gap for gap in gaps.values() if gap.count]


def _missing(
    due: list[datetime], fired: dict[datetime, Fired], skipped: list[Skipped]
) -> list[datetime]:
    """The moments with neither a run nor a record."""
    single = {row.first for row in skipped if row.first == row.last}
    ranges = [row for row in skipped if row.first != row.last]
    return [
        moment
        for moment in due
        if moment not in fired
        and moment not in single
        and not any(row.first <= moment <= row.last for row in ranges)
    ]


def _gap(job: Job, kind: Kind) -> Gap:
    return Gap(job.id, job.team.slug, job.name, kind)
