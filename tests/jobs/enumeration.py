"""Fire times found by looking at every minute; shares no code with the product.

Slow and plain on purpose: each minute of UTC is shown on the zone's clock and compared with the
expression, read anew by a grammar of this file.
"""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
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
    minute, hour, date, month, weekday = expression.split()
    if not (
        holds(minute, t.minute, 0, 59)
        and holds(hour, t.hour, 0, 23)
        and holds(month, t.month, 1, 12)
    ):
        return False
    named = date_named(date, t), weekday_named(weekday, t)
    return all(named) if "*" in (date[0], weekday[0]) else any(named)


def moments(
    expression: str, zone: str, dst: str, after: datetime, until: datetime
) -> list[datetime]:
    """Every moment in `after` < moment ≤ `until`, by looking at each minute between."""
    place = ZoneInfo(zone)
    minute, hour, *_ = expression.split()
    wall = dst == "wall" or "*" in (minute[0], hour[0])
    now = after.replace(second=0, microsecond=0)
    before = now.astimezone(place).replace(tzinfo=None)
    found = []
    while (now := now + MINUTE) <= until:
        shown = now.astimezone(place)
        clock = shown.replace(tzinfo=None, fold=0)
        hit = matches(expression, clock) and (wall or not shown.fold)
        skipped = before + MINUTE
        while not wall and not hit and skipped < clock:
            hit = matches(expression, skipped)
            skipped += MINUTE
        before = clock
        if hit and now > after:
            found.append(now)
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
