"""The next moment of a job within some days, for pages that ask thousands of jobs. PURE.

The same moments as jobs/schedules/schedules.py has, which is asked wherever a clock changes: on
the other days of a zone a pattern's times are looked up in its two lists, without going through
them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta

from jobs.cron.clock_changes import WallClock
from jobs.cron.grammar import Pattern
from jobs.cron.pattern_days import comes_on
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Cron
from runs.dashboard.upcoming.density import local_days

_MINUTE = timedelta(minutes=1)


def next_moment(plan: Plan, after: datetime, until: datetime) -> datetime | None:
    """The first moment in `after` < moment ≤ `until`; None where there is none."""
    cron = plan.schedules[0]
    alone = len(plan.schedules) == 1 and plan.starts_at is None and plan.ends_at is None
    if alone and isinstance(cron, Cron):
        return _of_cron(cron, plan, after, until)
    return _within(plan.next(after), until)


def _of_cron(cron: Cron, plan: Plan, after: datetime, until: datetime) -> datetime | None:
    pattern = WallClock.of(cron).pattern
    hour = after.replace(minute=0, second=0, microsecond=0)
    for day in local_days(hour, until + _MINUTE, cron.timezone):
        if not day.plain:
            return _within(plan.next(after), until)
        if comes_on(pattern, day.date):
            place = _time_after(pattern, (after - day.start) // _MINUTE)
            if place is not None:
                return _within(day.start + place * _MINUTE, until)
    return None


def _time_after(pattern: Pattern, minute: int) -> int | None:
    """The first time of a day, in minutes, after this one; a day begins after minute -1."""
    hour, rest = divmod(minute, 60)
    place = bisect_left(pattern.hours, hour)
    if place < len(pattern.hours) and pattern.hours[place] == hour:
        later = bisect_right(pattern.minutes, rest)
        if later < len(pattern.minutes):
            return hour * 60 + pattern.minutes[later]
        place += 1
    return pattern.hours[place] * 60 + pattern.minutes[0] if place < len(pattern.hours) else None


def _within(moment: datetime | None, until: datetime) -> datetime | None:
    return moment if moment is not None and moment <= until else None
