"""Working days: which they are, and what becomes of a day that is none. PURE.

A calendar acts on the days of a cron expression, before times of day and changes of the clock.
Weekdays count from Monday = 0, as dates do.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Literal, get_args

Rule = Literal["skip", "next", "previous"]
RULES: tuple[Rule, ...] = get_args(Rule)
LONGEST_BREAK = 60  # days in a row without a working one
WEEKDAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = timedelta(days=1)


@dataclass(frozen=True, eq=False)
class Calendar:
    """Working weekdays, and days off with their names.

    Compared by identity, so that thousands of jobs may share one at no cost: a version of a
    calendar is read once. After `known_until` no day off is known and weekdays alone count;
    None: nothing is left unknown.
    """

    weekdays: frozenset[int]
    days_off: Mapping[date, str] = field(default_factory=dict)
    known_until: date | None = None

    def is_working(self, day: date) -> bool:
        return day.weekday() in self.weekdays and day not in self.days_off

    def roll(self, day: date, rule: Literal["next", "previous"]) -> date | None:
        """`day` itself if it is a working day, else the nearest one after or before it; None
        beyond the years 1 to 9999."""
        step = _DAY if rule == "next" else -_DAY
        last = date.max if rule == "next" else date.min
        while not self.is_working(day):
            if day == last:
                return None
            day += step
        return day

    def why_off(self, day: date) -> str:
        """The name of a day off; empty where only its weekday is none to work on."""
        return self.days_off.get(day, "")


@dataclass(frozen=True)
class Use:
    """A job's calendar by name, the version that it is pinned to, and what it does with a moment
    on a day off: skip it, or roll it to the next or the previous working day."""

    name: str
    rule: Rule
    version: int


def use_of(stored: Mapping[str, Any] | None) -> Use | None:
    """The use of a calendar that a job or a version of it has stored."""
    return Use(stored["name"], stored["rule"], stored["version"]) if stored else None


@dataclass(frozen=True)
class InForce:
    """The newest version of a calendar."""

    version: int
    calendar: Calendar


MONDAY_TO_FRIDAY = Calendar(frozenset(range(5)))


def business_date(day: date, calendar: Calendar | None = None) -> date:
    """`day` itself if it is a working day, else the working day before it; Monday to Friday
    where there is no calendar."""
    return (calendar or MONDAY_TO_FRIDAY).roll(day, "previous") or day


@lru_cache(maxsize=16_384)
def working_days(calendar: Calendar, year: int, month: int) -> tuple[int, ...]:
    """The working days (1 to 31) of a month, ascending."""
    days = range(1, monthrange(year, month)[1] + 1)
    return tuple(day for day in days if calendar.is_working(date(year, month, day)))


def nth_working_day(calendar: Calendar, year: int, month: int, nth: int) -> date | None:
    """The n-th working day of a month, from its end for a negative `nth`; None where the month
    has fewer."""
    days = working_days(calendar, year, month)
    place = nth - 1 if nth > 0 else nth
    return date(year, month, days[place]) if -len(days) <= place < len(days) else None


def longest_break(weekdays: Collection[int], days_off: Collection[date]) -> tuple[date, int] | None:
    """The first day and the length of the longest run of days without work that touches a day
    off; None without days off. Needs a working weekday."""
    free = Calendar(frozenset(weekdays), dict.fromkeys(days_off, ""))
    longest, done = None, date.min
    for day in sorted(days_off):
        if day < done:
            continue
        begin = (free.roll(day, "previous") or day) + _DAY
        done = free.roll(day, "next") or date.max
        if longest is None or (done - begin).days > longest[1]:
            longest = (begin, (done - begin).days)
    return longest
