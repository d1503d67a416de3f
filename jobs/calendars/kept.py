"""The versions of calendars that jobs are pinned to, each read once by a process.

A version never changes, so thousands of jobs share the one value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import date
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created

from jobs.calendars.days import WEEKDAY_NAMES, Calendar, Use
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import ScheduleError

_MOST_KEPT = 500
_kept: dict[tuple[str, int], Calendar] = {}

_READ = """
select v.calendar_id, v.number, (v.content->'weekdays')::text, v.days::text, v.known_until
  from unnest(%(names)s::text[], %(numbers)s::int[]) as w(name, number)
  join jobs_calendarversion v on v.calendar_id = w.name and v.number = w.number
"""


@lru_cache(maxsize=50_000)
def plan(text: str) -> Plan:
    """The plan in the JSON text of what is stored of it. Thousands of jobs share one schedule, and
    one memo entry. Raises ScheduleError."""
    return Plan.load(json.loads(text), calendar)


def calendar(use: Use) -> Calendar:
    """The calendar as this version has it. Raises ScheduleError where there is no such version."""
    found = _kept.get((use.name, use.version)) or read([use]).get((use.name, use.version))
    if found is None:
        problem = f"has no version {use.version}"
        raise ScheduleError("calendar", use.name, problem, "Choose the job's calendar anew.")
    return found


def read(uses: Iterable[Use]) -> dict[tuple[str, int], Calendar]:
    """Have these versions at hand: one statement for all that were never read, or none. Returns
    those that it read."""
    missing = {(use.name, use.version) for use in uses} - _kept.keys()
    if not missing:
        return {}
    if len(_kept) > _MOST_KEPT:
        forget()
    names, numbers = zip(*missing, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"names": list(names), "numbers": list(numbers)})
        rows = cursor.fetchall()
    found = {
        (name, number): content(json.loads(weekdays), json.loads(days), known_until)
        for name, number, weekdays, days, known_until in rows
    }
    _kept.update(found)
    return found


def content(weekdays: Collection[str], days: dict[str, str], known_until: date | None) -> Calendar:
    """A calendar from what a version stores."""
    return Calendar(
        frozenset(map(WEEKDAY_NAMES.index, weekdays)),
        {date.fromisoformat(day): name for day, name in days.items()},
        known_until,
    )


def forget(**_: Any) -> None:
    """Read every version anew: another connection may lead to another database."""
    _kept.clear()
    plan.cache_clear()


connection_created.connect(forget, dispatch_uid="onebeat.calendars")
