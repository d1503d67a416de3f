"""The days off to come of the calendars that jobs go by, and what they do to those jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, QuerySet

from jobs.calendars import kept as kept_calendars
from jobs.calendars.days import Calendar, Use
from jobs.cron.clock_changes import WallClock
from jobs.cron.pattern_days import named_in
from jobs.models import Job
from jobs.schedules import schedules
from jobs.schedules.errors import ScheduleError
from jobs.schedules.schedules import Cron

AHEAD = timedelta(days=90)
MOST = 100  # days shown
_LOOKED_AT = 5_000  # schedules that differ


@dataclass(frozen=True)
class DayOff:
    """A day off of a calendar. So many jobs that would be due on it skip it, and so many move to
    another working day."""

    day: date
    calendar: str
    name: str
    skip: int
    move: int


def coming(jobs: QuerySet[Job], today: date) -> list[DayOff]:
    """From today on, the nearest first."""
    used = jobs.filter(calendar__isnull=False, due__isnull=False).order_by()
    columns = ("calendar_id", "calendar_version", "calendar_rule", "schedule")
    rows = list(used.values_list(*columns).annotate(Count("id"))[:_LOOKED_AT])
    kept_calendars.read({Use(name, rule, version) for name, version, rule, *_ in rows})
    found: dict[tuple[date, str, str], dict[str, int]] = {}
    for name, version, rule, stored, number in rows:
        calendar = kept_calendars.calendar(Use(name, rule, version))
        named = _named(stored)
        for day, label in _days(calendar, today):
            effect = found.setdefault((day, name, label), defaultdict(int))
            effect["skip" if rule == "skip" else "move"] += number * _touches(named, day)
    shown = sorted(found.items())[:MOST]
    return [DayOff(*key, effect["skip"], effect["move"]) for key, effect in shown]


def _days(calendar: Calendar, today: date) -> Iterator[tuple[date, str]]:
    for day, label in calendar.days_off.items():
        if today <= day <= today + AHEAD and day.weekday() in calendar.weekdays:
            yield day, label


def _named(stored: Any) -> list[Cron]:
    try:
        return [one for one in schedules.load(stored) if isinstance(one, Cron)]
    except ScheduleError:  # the zone data in use has lost its zone
        return []


def _touches(found: list[Cron], day: date) -> bool:
    """Whether an expression names the day, before any calendar."""
    patterns = (WallClock.of(one).pattern for one in found)
    return any(day.day in named_in(pattern, day.year, day.month) for pattern in patterns)
