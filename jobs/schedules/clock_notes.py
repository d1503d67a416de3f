"""What a change of the clock does to a moment, in words. PURE."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.cron.clock_changes import WallClock
from jobs.cron.wall_clock import count_matches
from jobs.schedules import zones
from jobs.schedules.values import Cron, Schedule
from jobs.schedules.zones import Segment

_TICK = timedelta.resolution
_LONGEST_OVERLAP = timedelta(days=1)


def local(schedule: Schedule, moment: datetime) -> datetime:
    """`moment` in the schedule's own zone; UTC where it has none."""
    if isinstance(schedule, Cron):
        return zones.on_clock(moment, schedule.timezone)
    return moment


def note(schedule: Schedule, moment: datetime) -> str:
    """One sentence where a change of the clock moves, repeats or drops something; else empty."""
    if not isinstance(schedule, Cron):
        return ""
    clock = WallClock.of(schedule)
    return _after_gap(clock, moment) or _second_copy(clock, moment) or _first_copy(clock, moment)


def _after_gap(clock: WallClock, moment: datetime) -> str:
    """For the first moment after a gap: what the gap moved or dropped."""
    here = next(zones.segments(clock.zone, moment))
    change = next(zones.segments(clock.zone, max(here.changed, zones.FIRST)))
    swallowed = clock.swallowed_by_gap(change)
    if swallowed is None or clock.next_after(change.start - _TICK) != moment:
        return ""
    end = _shown(change.start, change.offset)
    others = count_matches(clock.pattern, swallowed, end - _TICK)
    times = f"{swallowed:%H:%M}" + (f" and {others} more" if others else "")
    missing = f"{times} {'do' if others else 'does'} not exist on {_day(swallowed)}"
    if not clock.fires_after_gap(change):
        return f"{missing}; nothing runs instead"
    date = "" if end.date() == swallowed.date() else f" on {_day(end)}"
    return f"{missing}; runs at {end:%H:%M}{date}"


def _second_copy(clock: WallClock, moment: datetime) -> str:
    here = next(zones.segments(clock.zone, moment))
    shown = _shown(moment, here.offset)
    if shown >= _shown(here.changed, here.before):
        return ""
    return f"{_twice(shown)}; runs both times, this is the second"


def _first_copy(clock: WallClock, moment: datetime) -> str:
    here, *later = _until_next_day(clock, moment)
    shown = _shown(moment, here.offset)
    for change in later:
        if change.changed == change.start and shown >= _shown(change.start, change.offset):
            both = "runs both times, this is the first"
            return f"{_twice(shown)}; {both if clock.follows else 'runs the first time only'}"
    return ""


def _until_next_day(clock: WallClock, moment: datetime) -> list[Segment]:
    found = []
    for segment in zones.segments(clock.zone, moment):
        if segment.start > moment + _LONGEST_OVERLAP:
            break
        found.append(segment)
    return found


def _shown(moment: datetime, offset: timedelta) -> datetime:
    """The wall-clock time (naive) at `moment` under `offset`."""
    return moment.replace(tzinfo=None) + offset


def _twice(shown: datetime) -> str:
    return f"{shown:%H:%M} comes twice on {_day(shown)}"


def _day(shown: datetime) -> str:
    return f"{shown.day} {shown:%B %Y}"
