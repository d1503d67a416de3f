"""Time zones as stretches of the UTC line on which local time is UTC plus a constant. PURE.

Zone data come from the installed `tzdata` package alone, never from the host: hosts lag behind,
and two replicas with different data would disagree about when a job is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from zoneinfo import ZoneInfo

import tzdata

from jobs.schedules.errors import REQUIRED, ScheduleError

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, tzinfo=UTC)  # local time beyond it may leave the calendar
WIDEST = timedelta(hours=16)  # no zone since 1970 is further from UTC

_VERSION = re.compile(r"([0-9]{4})([a-z]+)")

# Two changes of a zone lie at least 6.9 days apart (Gaza 2040), so none hides between two looks.
_LOOK = 6 * 86_400


@dataclass(frozen=True)
class Segment:
    """UTC instants from `start` to before `end`, with local time = UTC + `offset`.

    `changed` is the last change of the clock up to `start`, `before` the offset that held until
    then. Years cut segments too, so `changed` may lie before `start`.
    """

    start: datetime
    end: datetime
    changed: datetime
    before: timedelta
    offset: timedelta


@dataclass(frozen=True)
class Change:
    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """The zones that a job may name."""
    return frozenset((resources.files("tzdata") / "zones").read_text().split()) - {"Factory"}


def version() -> str:
    """The version of the zone data in use, as IANA names it: `2026f`."""
    return str(tzdata.IANA_VERSION)


def rank(name: str) -> tuple[int, int, str]:
    """By which versions are older and newer: the year, then the letter. What is no version is
    older than any."""
    found = _VERSION.fullmatch(name)
    return (int(found[1]), len(found[2]), found[2]) if found else (0, 0, "")


def check(name: object) -> str:
    """`name` itself if it is a zone. Raises ScheduleError (field `timezone`)."""
    if isinstance(name, str) and name in names():
        return name
    hint = "Name a place of the IANA list, as Europe/Berlin, or UTC."
    if name == "":
        raise ScheduleError("timezone", name, REQUIRED, hint)
    if isinstance(name, str) and len(name) < 64:
        meant = name.strip().lower()
        close = next((known for known in sorted(names()) if known.lower() == meant), None)
        hint = f"Write {close}." if close else hint
    raise ScheduleError("timezone", name, "is not a known time zone", hint)


def remark(name: str) -> str:
    """What a person who chose zone `name` should know; empty for an ordinary one."""
    if name.startswith("Etc/GMT") and name[7:] not in ("", "0", "+0", "-0"):
        swapped = name[7:].translate(str.maketrans("+-", "-+"))
        return f"{name} is UTC{swapped}: the sign of these names is reversed."
    if "/" not in name and name not in ("UTC", "GMT", "Zulu"):
        return f"{name} is not a place; its rules may not be the ones you expect."
    return ""


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """The rules of zone `name`. Raises ScheduleError (field `timezone`)."""
    place = resources.files("tzdata") / "zoneinfo"
    for part in check(name).split("/"):
        place /= part
    with place.open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def on_clock(moment: datetime, name: str) -> datetime:
    """`moment` as the clock of zone `name` shows it. Where the calendar ends before that, in the
    first and the last hours of its years, as UTC does. Raises ScheduleError (field `timezone`)."""
    there = zone(name)
    try:
        return moment.astimezone(there)
    except OverflowError:
        return moment.astimezone(UTC)


def segments(name: str, start: datetime) -> Iterator[Segment]:
    """The segments of zone `name`, from the one that holds `start` (UTC) up to LAST."""
    for year in range(start.year, LAST.year):
        yield from (segment for segment in _segments(name, year) if segment.end > start)


@lru_cache(maxsize=8192)
def _segments(name: str, year: int) -> tuple[Segment, ...]:
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    offset = _offset(name, _seconds(start))
    last = Change(start, offset, offset)
    if year > FIRST.year and (earlier := changes(name, year - 1)):
        last = earlier[-1]
    found = []
    for change in (*changes(name, year), Change(end, offset, offset)):
        if change.at > start:
            found.append(Segment(start, change.at, last.at, last.before, last.after))
        start, last = change.at, change
    return tuple(found)


@lru_cache(maxsize=8192)
def changes(name: str, year: int) -> tuple[Change, ...]:
    """The changes of the clock in zone `name` within a UTC year, oldest first."""
    start = _seconds(datetime(year, 1, 1, tzinfo=UTC)) - 1
    end = _seconds(datetime(year + 1, 1, 1, tzinfo=UTC)) - 1
    looks = [(mark, _offset(name, mark)) for mark in (*range(start, end, _LOOK), end)]
    return tuple(
        Change(_change_between(name, low, high), before, after)
        for (low, before), (high, after) in pairwise(looks)
        if before != after
    )


def _change_between(name: str, low: int, high: int) -> datetime:
    """The first instant of the offset that holds at `high` and does not at `low`."""
    before = _offset(name, low)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(name, middle) == before:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)


def _offset(name: str, seconds: int) -> timedelta:
    return datetime.fromtimestamp(seconds, zone(name)).utcoffset() or timedelta(0)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
