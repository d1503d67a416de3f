"""What another version of a calendar does to the moments of a schedule. PURE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from jobs.cron.clock_changes import WallClock
from jobs.cron.days import LastWorkingDay, NthWorkingDay
from jobs.cron.grammar import Pattern
from jobs.cron.pattern_days import days_in
from jobs.schedules import zones
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Cron, Schedule

LISTED = 50  # changes of one job
_MONTHS = 12
_DAY = timedelta(days=1)
_TICK = timedelta.resolution
_MOMENTS_OF_A_DAY = 2_000


@dataclass(frozen=True)
class Change:
    """A moment that vanishes (no `after`), one that is new (no `before`), or one that moves."""

    before: datetime | None
    after: datetime | None


@dataclass(frozen=True)
class Changes:
    """The first changes of a year, and whether there are more."""

    listed: tuple[Change, ...] = ()
    more: bool = False


def between(old: Plan, new: Plan, now: datetime) -> Changes:
    """What becomes of the moments of the next twelve months when `old`, the same plan by another
    version of its calendar, becomes `new`."""
    gone: set[datetime] = set()
    born: set[datetime] = set()
    for start, end in sorted(set(_windows(old.schedules, new.schedules, now))):
        there = old.between(max(start, now), end, _MOMENTS_OF_A_DAY)
        then = new.between(max(start, now), end, _MOMENTS_OF_A_DAY)
        gone |= set(there) - set(then)
        born |= set(then) - set(there)
        if len(gone) + len(born) > 2 * LISTED:
            break
    found = _paired(sorted(gone), sorted(born), moves=any(map(_moves, new.schedules)))
    return Changes(tuple(found[:LISTED]), len(found) > LISTED)


def _paired(gone: list[datetime], born: list[datetime], *, moves: bool) -> list[Change]:
    if moves and len(gone) == len(born):
        return [Change(before, after) for before, after in zip(gone, born, strict=True)]
    found = [(moment, Change(moment, None)) for moment in gone]
    found += [(moment, Change(None, moment)) for moment in born]
    return [change for _, change in sorted(found, key=lambda pair: pair[0])]


def _moves(schedule: Schedule) -> bool:
    """Whether a moment that leaves its day comes on another one instead."""
    if not isinstance(schedule, Cron):
        return False
    words = WallClock.of(schedule).pattern.days.date_words
    counts = any(isinstance(word, NthWorkingDay | LastWorkingDay) for word in words)
    return schedule.rule != "skip" or counts


def _windows(
    old: tuple[Schedule, ...], new: tuple[Schedule, ...], now: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The days on which one has times and the other has not: (after, until]."""
    for before, after in zip(old, new, strict=True):
        if isinstance(before, Cron) and isinstance(after, Cron):
            zone = zones.zone(after.timezone)
            for day in _differing(_pattern(before), _pattern(after), now.astimezone(zone).date()):
                start = datetime.combine(day, time.min, zone).astimezone(UTC)
                end = datetime.combine(day + _DAY, time.min, zone).astimezone(UTC)
                yield start - _TICK, end - _TICK


def _pattern(schedule: Cron) -> Pattern:
    return WallClock.of(schedule).pattern


def _differing(old: Pattern, new: Pattern, today: date) -> Iterator[date]:
    year, month = today.year, today.month
    for _ in range(_MONTHS + 1):
        for day in set(days_in(old, year, month)) ^ set(days_in(new, year, month)):
            if today <= date(year, month, day) <= today + 366 * _DAY:
                yield date(year, month, day)
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
