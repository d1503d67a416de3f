"""A cron pattern on a clock without zones: naive times in and out. PURE.

The day is found here, since vixie cron's rule for the two day fields, words such as `LW` and dates
that never come are beyond croniter; the time of day is croniter's, which gets lists of numbers and
stars only, because it reads `9-9` as every hour.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from threading import Lock

from croniter import croniter  # type: ignore[import-untyped]

from jobs.cron.grammar import HOUR, MINUTE, Field, Pattern
from jobs.cron.pattern_days import comes_on, days_in, months_of

_MINUTE = timedelta(minutes=1)
# 29 February on a given weekday comes every 28 years, or after 40 where a leap year is left out.
_RAREST_YEARS = 41
_clock_in_use = Lock()  # a croniter keeps the time it was last asked for


def next_match(pattern: Pattern, after: datetime) -> datetime | None:
    """The first match strictly after `after`; None if none ever comes.

    The last day of the year 9999 is left out: a croniter in search of a time steps past it.
    """
    for day in _days_from(pattern, after.date()):
        midnight = datetime.combine(day, time.min)
        found = _next_time(pattern, max(after, midnight - _MINUTE))
        if found.date() == day:
            return found
    return None


def count_matches(pattern: Pattern, after: datetime, until: datetime) -> int:
    """How many matches lie in `after` < match ≤ `until`."""
    if until <= after:
        return 0
    days = _count_days(pattern, after.date(), until.date())
    a_day = len(pattern.hours) * len(pattern.minutes)
    return days * a_day - _count_of_day(pattern, after) + _count_of_day(pattern, until)


def _days_from(pattern: Pattern, first: date) -> Iterator[date]:
    """The days that match, `first` included, for as long as the rarest of days may take."""
    for year in range(first.year, min(first.year + _RAREST_YEARS, date.max.year) + 1):
        for month in months_of(pattern):
            if (year, month) < (first.year, first.month):
                continue
            for day in days_in(pattern, year, month):
                if first <= date(year, month, day) < date.max:
                    yield date(year, month, day)


def _next_time(pattern: Pattern, after: datetime) -> datetime:
    """The first match strictly after `after` if every day matched."""
    clock = _clock(pattern.minutes, pattern.hours)
    minute = after.replace(second=0, microsecond=0)
    with _clock_in_use:
        found: datetime = clock.get_next(datetime, start_time=minute)
    return found


@lru_cache(maxsize=4096)
def _clock(minutes: tuple[int, ...], hours: tuple[int, ...]) -> croniter:
    return croniter(f"{_listed(MINUTE, minutes)} {_listed(HOUR, hours)} * * *", 0.0)


def _listed(field: Field, values: tuple[int, ...]) -> str:
    return "*" if len(values) == field.high + 1 else ",".join(map(str, values))


def _count_days(pattern: Pattern, first: date, end: date) -> int:
    """How many days match from `first` to before `end`."""
    total = 0
    for year in range(first.year, end.year + 1):
        for month in months_of(pattern):
            days = days_in(pattern, year, month)
            total += bisect_left(days, _day_in(end, year, month))
            total -= bisect_left(days, _day_in(first, year, month))
    return total


def _day_in(day: date, year: int, month: int) -> int:
    """Where `day` stands seen from that month: its day in it, else before or after every one."""
    if (day.year, day.month) == (year, month):
        return day.day
    return 0 if (day.year, day.month) < (year, month) else 32


def _count_of_day(pattern: Pattern, until: datetime) -> int:
    """How many matches the day of `until` holds up to `until` itself."""
    if not comes_on(pattern, until.date()):
        return 0
    whole_hours = bisect_left(pattern.hours, until.hour) * len(pattern.minutes)
    in_hour = bisect_right(pattern.minutes, until.minute) if until.hour in pattern.hours else 0
    return whole_hours + in_hour
