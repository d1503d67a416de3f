"""What a calendar does to a moment, in words. PURE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta

from jobs.calendars.days import LONGEST_BREAK, Calendar
from jobs.cron.clock_changes import WallClock
from jobs.cron.grammar import Pattern
from jobs.cron.pattern_days import comes_on, named_in
from jobs.schedules.clock_notes import local
from jobs.schedules.values import Cron, Schedule

_DAY = timedelta(days=1)
_TICK = timedelta.resolution
_NAMED = 3  # days; more are counted
_YEAR = 366


def note(schedule: Schedule, moment: datetime) -> str:
    """What was skipped since the moment before, or from where this one was rolled; empty where
    there is nothing to say.

    Of a day with several moments only the first one says it."""
    if not isinstance(schedule, Cron) or schedule.calendar is None:
        return ""
    clock, shown = WallClock.of(schedule), local(schedule, moment)
    midnight = shown.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).astimezone(UTC)
    if clock.next_after(midnight - _TICK) != moment:
        return ""
    return _moved(clock.pattern, schedule.calendar, shown.date())


def remarks(schedules: Iterable[Schedule], until: datetime) -> list[str]:
    """What to know of moments up to `until`, each remark once."""
    said = dict.fromkeys(remark(schedule, until) for schedule in schedules)
    return [text for text in said if text]


def remark(schedule: Schedule, until: datetime) -> str:
    """What to know of moments up to `until` where the calendar's days off end before."""
    if not isinstance(schedule, Cron) or schedule.calendar is None:
        return ""
    known = schedule.calendar.known_until
    if known is None or local(schedule, until).date() <= known:
        return ""
    return f"Days off are known until {_dated(known)}; after that only weekdays count."


def _moved(pattern: Pattern, calendar: Calendar, day: date) -> str:
    if pattern.rule == "skip":
        skipped = list(_skipped_before(pattern, calendar, day))[::-1]
        return f"skips {_listed(skipped, calendar)}" if skipped else ""
    step = -_DAY if pattern.rule == "next" else _DAY
    came = sorted(off for off in _off_beside(calendar, day, step) if _is_named(pattern, off))
    if not came:
        return ""
    own = "also for" if _is_named(pattern, day) else "rolled from"
    return f"{own} {_listed(came, calendar)}"


def _skipped_before(pattern: Pattern, calendar: Calendar, day: date) -> Iterator[date]:
    """The days that the expression names and the calendar has off, back to the last that came."""
    for _ in range(_YEAR):
        day -= _DAY
        if comes_on(pattern, day):
            return
        if _is_named(pattern, day) and not calendar.is_working(day):
            yield day


def _off_beside(calendar: Calendar, day: date, step: timedelta) -> Iterator[date]:
    """The days without work next to a working day, in one direction."""
    for _ in range(LONGEST_BREAK):
        day += step
        if calendar.is_working(day):
            return
        yield day


def _is_named(pattern: Pattern, day: date) -> bool:
    return day.day in named_in(pattern, day.year, day.month)


def _listed(days: list[date], calendar: Calendar) -> str:
    """`Saturday 4 July 2026 (Independence Day) and Sunday 5 July 2026`."""
    told = [_told(day, calendar) for day in days[:_NAMED]]
    if len(days) > _NAMED:
        told.append(f"{len(days) - _NAMED} more")
    return " and ".join(part for part in (", ".join(told[:-1]), told[-1]) if part)


def _told(day: date, calendar: Calendar) -> str:
    name = calendar.why_off(day)
    return f"{day:%A} {_dated(day)}" + (f" ({name})" if name else "")


def _dated(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
