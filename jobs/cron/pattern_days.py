"""Which days of a month a cron pattern comes to, after its calendar has skipped or rolled. PURE."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from functools import lru_cache

from jobs.calendars.days import Calendar, Rule, working_days
from jobs.cron.days import DayRule, matching_days, shape_of
from jobs.cron.grammar import Pattern

_DAY = timedelta(days=1)
_EVERY_MONTH = tuple(range(1, 13))


def months_of(pattern: Pattern) -> tuple[int, ...]:
    """The months in which a day may come: one that rolls may leave its own."""
    rolls = pattern.calendar is not None and pattern.rule != "skip"
    return _EVERY_MONTH if rolls else pattern.months


def days_in(pattern: Pattern, year: int, month: int) -> tuple[int, ...]:
    """The days (1 to 31) of a month on which the pattern's times come, ascending."""
    if pattern.calendar is None:
        return named_in(pattern, year, month)
    return _by_calendar(pattern.days, pattern.months, pattern.calendar, pattern.rule, year, month)


def comes_on(pattern: Pattern, day: date) -> bool:
    """Whether the pattern's times come on this day."""
    return day.day in days_in(pattern, day.year, day.month)


def named_in(pattern: Pattern, year: int, month: int) -> tuple[int, ...]:
    """The days that the expression names, before anything is skipped or rolled."""
    return _named(pattern.days, pattern.months, pattern.calendar, year, month)


def _named(
    days: DayRule, months: tuple[int, ...], calendar: Calendar | None, year: int, month: int
) -> tuple[int, ...]:
    if month not in months:
        return ()
    if calendar is None:
        return matching_days(days, shape_of(year, month))
    return matching_days(days, shape_of(year, month), working_days(calendar, year, month))


@lru_cache(maxsize=16_384)
def _by_calendar(
    days: DayRule, months: tuple[int, ...], calendar: Calendar, rule: Rule, year: int, month: int
) -> tuple[int, ...]:
    first, last = date(year, month, 1), date(year, month, monthrange(year, month)[1])
    if rule == "skip":
        working = working_days(calendar, year, month)
        return tuple(day for day in _named(days, months, calendar, year, month) if day in working)
    found = set()
    day, end = _rolling_into(calendar, rule, first, last)
    while day <= end:
        if day.day in _named(days, months, calendar, day.year, day.month):
            found.add(calendar.roll(day, rule))
        if day == date.max:
            break
        day += _DAY
    return tuple(sorted(to.day for to in found if to is not None and first <= to <= last))


def _rolling_into(calendar: Calendar, rule: Rule, first: date, last: date) -> tuple[date, date]:
    """The days that may roll into a month: those of its own, and what is off beside it."""
    if rule == "next":
        before = None if first == date.min else calendar.roll(first - _DAY, "previous")
        return (before + _DAY if before else date.min), last
    after = None if last == date.max else calendar.roll(last + _DAY, "next")
    return first, (after - _DAY if after else date.max)
