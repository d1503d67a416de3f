"""Fire times found by looking at every minute; shares no code with the product.

Slow and plain on purpose: each minute of UTC is shown on the zone's clock and compared with the
expression, read anew by a grammar of this file.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo

MINUTE, ZERO = timedelta(minutes=1), timedelta(0)
NAMES = {name.lower(): n for n, name in enumerate(calendar.month_abbr) if name}
NAMES |= {name.lower(): (n + 1) % 7 for n, name in enumerate(calendar.day_abbr)}


def number(text: str) -> int:
    return NAMES[text.lower()] if text.isalpha() else int(text)


@cache
def holds(field: str, value: int, low: int, high: int) -> bool:
    """Whether `value` is named by a field of plain numbers."""
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        begin = low if first == "*" else number(first)
        end = number(last) if last else high if first == "*" or step else begin
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def workday_near(year: int, month: int, day: int) -> int:
    """The day from Monday to Friday nearest to a date, without leaving its month."""
    length = calendar.monthrange(year, month)[1]
    workdays = [d for d in range(1, length + 1) if calendar.weekday(year, month, d) < 5]
    return min(workdays, key=lambda d: abs(d - day))


def date_named(field: str, t: datetime) -> bool:
    length = calendar.monthrange(t.year, t.month)[1]
    for item in field.upper().split(","):
        if item == "LW":
            hit = t.day == workday_near(t.year, t.month, length)
        elif item.endswith("W"):
            day = int(item[:-1])
            hit = day <= length and t.day == workday_near(t.year, t.month, day)
        elif item.startswith("L"):
            hit = t.day == length - int(item[2:] or 0)
        else:
            hit = holds(item, t.day, 1, 31)
        if hit:
            return True
    return False


def weekday_named(field: str, t: datetime) -> bool:
    weekday = t.isoweekday() % 7
    length = calendar.monthrange(t.year, t.month)[1]
    for item in field.split(","):
        if "#" in item:
            day, nth = item.split("#")
            hit = number(day) % 7 == weekday and (t.day + 6) // 7 == int(nth)
        elif item[-1] in "lL":
            hit = number(item[:-1]) % 7 == weekday and t.day + 7 > length
        else:
            hit = holds(item, weekday, 0, 6) or (weekday == 0 and seven(item))
        if hit:
            return True
    return False


def seven(item: str) -> bool:
    """Whether a weekday item written with numbers reaches Sunday as 7."""
    return "7" in item.partition("/")[0] and holds(item, 7, 0, 7)


def matches(expression: str, t: datetime) -> bool:
    return shows(expression.split(), t)


def shows(fields: list[str], t: datetime) -> bool:
    """Whether a wall clock that shows `t` is named by the five fields."""
    minute, hour, date, month, weekday = fields
    if not (
        holds(minute, t.minute, 0, 59)
        and holds(hour, t.hour, 0, 23)
        and holds(month, t.month, 1, 12)
    ):
        return False
    named = date_named(date, t), weekday_named(weekday, t)
    return all(named) if "*" in (date[0], weekday[0]) else any(named)


@dataclass(frozen=True)
class Minute:
    """One minute of UTC on a zone's clock. `again`: the clock shows this time for the second
    time. `left_out`: times that the clock never showed, between the minute before and this one.
    """

    at: datetime
    clock: datetime
    again: bool
    left_out: tuple[datetime, ...]


@lru_cache(maxsize=4)
def minutes(zone: str, after: datetime, until: datetime) -> list[Minute]:
    """Each whole minute of UTC after `after`'s own, up to and with `until`."""
    place = ZoneInfo(zone)
    now = after.replace(second=0, microsecond=0)
    before = now.astimezone(place).replace(tzinfo=None)
    found = []
    while (now := now + MINUTE) <= until:
        shown = now.astimezone(place)
        clock = shown.replace(tzinfo=None, fold=0)
        gap = (clock - before) // MINUTE
        left_out = tuple(before + skipped * MINUTE for skipped in range(1, gap))
        found.append(Minute(now, clock, bool(shown.fold), left_out))
        before = clock
    return found


def moments(
    expression: str, zone: str, dst: str, after: datetime, until: datetime
) -> list[datetime]:
    """Every moment in `after` < moment ≤ `until`, by looking at each minute between."""
    fields = expression.split()
    wall = dst == "wall" or "*" in (fields[0][0], fields[1][0])
    return [
        minute.at
        for minute in minutes(zone, after, until)
        if minute.at > after
        and (
            (shows(fields, minute.clock) and (wall or not minute.again))
            or (not wall and any(shows(fields, time) for time in minute.left_out))
        )
    ]


@cache
def changes(zone: str, begin: datetime, end: datetime) -> list[tuple[datetime, timedelta]]:
    """Every change of the zone's clock between two instants, by looking at each quarter of a
    day and then at each minute; with how far the clock moves: forwards is positive."""
    place, step = ZoneInfo(zone), timedelta(hours=6)
    found, now, offset = [], begin, begin.astimezone(place).utcoffset()
    while now < end:
        before, offset = offset, (now + step).astimezone(place).utcoffset()
        if offset != before:
            at = now
            while at.astimezone(place).utcoffset() == before:
                at += MINUTE
            found.append((at, (offset or ZERO) - (before or ZERO)))
        now += step
    return found


def days(expression: str, after: datetime, years: int) -> datetime | None:
    """The first day after `after` that matches, hours and minutes left aside."""
    _, _, *fields = expression.split()
    day = after.replace(hour=0, minute=0, second=0, microsecond=0)
    for _ in range(years * 366):
        day += timedelta(days=1)
        if matches(" ".join(["*", "*", *fields]), day):
            return day
    return None
