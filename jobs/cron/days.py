"""Which days of a month a cron expression names. PURE.

Only the length of a month and the weekday of its first day matter: 28 shapes for all time (and,
to a rule that counts working days, which those are).
Weekdays count from Sunday = 0. A day that a month does not have is never moved to another one.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


class MonthShape(NamedTuple):
    first: int  # weekday of the 1st
    length: int  # days

    def weekday(self, day: int) -> int:
        return (self.first + day - 1) % 7


@dataclass(frozen=True)
class LastDay:
    """`L`, `L-3`: so many days before the last day of the month."""

    before: int


@dataclass(frozen=True)
class LastWorkday:
    """`LW`: the last day from Monday to Friday."""


@dataclass(frozen=True)
class NearestWorkday:
    """`15W`: the day from Monday to Friday nearest to that date, within the month."""

    date: int


@dataclass(frozen=True)
class NthWeekday:
    """`5#2`: the second Friday."""

    weekday: int
    nth: int


@dataclass(frozen=True)
class LastWeekday:
    """`5L`, `L5`: the last Friday."""

    weekday: int


@dataclass(frozen=True)
class NthWorkingDay:
    """`3B`: the third working day, by the calendar of the job."""

    nth: int


@dataclass(frozen=True)
class LastWorkingDay:
    """`LB`, `L-2B`: so many working days before the last one, by the calendar of the job."""

    before: int


DateWord = LastDay | LastWorkday | NearestWorkday | NthWorkingDay | LastWorkingDay
WeekdayWord = NthWeekday | LastWeekday


@dataclass(frozen=True)
class DayRule:
    """The two day fields of an expression, and how they go together.

    `both`: a day must be named by both fields (one of them begins with a star, as vixie cron has
    it); otherwise either is enough.
    """

    dates: frozenset[int]
    date_words: frozenset[DateWord]
    weekdays: frozenset[int]
    weekday_words: frozenset[WeekdayWord]
    both: bool


def shape_of(year: int, month: int) -> MonthShape:
    first, length = monthrange(year, month)  # here Monday is 0
    return MonthShape((first + 1) % 7, length)


@lru_cache(maxsize=16_384)
def matching_days(
    rule: DayRule, month: MonthShape, working: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """The days (1 to 31) that `rule` names in a month of this shape, ascending.

    `working`: the working days of the month; those from Monday to Friday unless told."""
    if working is None:
        working = _monday_to_friday(month)
    by_date = rule.dates | {_date_of(word, month, working) for word in rule.date_words}
    by_weekday = {_weekday_of(word, month) for word in rule.weekday_words}
    return tuple(
        day for day in range(1, month.length + 1) if _named(rule, day, month, by_date, by_weekday)
    )


def _named(
    rule: DayRule, day: int, month: MonthShape, by_date: frozenset[int], by_weekday: set[int]
) -> bool:
    date_named = day in by_date
    weekday_named = month.weekday(day) in rule.weekdays or day in by_weekday
    return (date_named and weekday_named) if rule.both else (date_named or weekday_named)


def _monday_to_friday(month: MonthShape) -> tuple[int, ...]:
    return tuple(day for day in range(1, month.length + 1) if 0 < month.weekday(day) < 6)


def _date_of(word: DateWord, month: MonthShape, working: tuple[int, ...]) -> int:
    """The day that `word` names; 0, which no month has, where it names none."""
    match word:
        case LastDay(before):
            return max(0, month.length - before)
        case LastWorkday():
            return _nearest_workday(month.length, month)
        case NearestWorkday(day):
            return _nearest_workday(day, month) if day <= month.length else 0
        case NthWorkingDay(nth):
            return working[nth - 1] if nth <= len(working) else 0
        case LastWorkingDay(before):
            return working[-1 - before] if before < len(working) else 0


def _nearest_workday(day: int, month: MonthShape) -> int:
    match month.weekday(day):
        case 6:  # Saturday: Friday, or Monday where the month begins on this day
            return day - 1 if day > 1 else 3
        case 0:  # Sunday: Monday, or Friday where the month ends on this day
            return day + 1 if day < month.length else day - 2
        case _:
            return day


def _weekday_of(word: WeekdayWord, month: MonthShape) -> int:
    """As `_date_of`, for the words of the weekday field."""
    match word:
        case NthWeekday(weekday, nth):
            day = 1 + (weekday - month.first) % 7 + 7 * (nth - 1)
            return day if day <= month.length else 0
        case LastWeekday(weekday):
            return month.length - (month.weekday(month.length) - weekday) % 7
