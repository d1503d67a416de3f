"""A moment on the clock of the schedule that made it due. PURE."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from jobs.calendars.days import Calendar, business_date
from jobs.moment_values import Values
from jobs.schedules import schedules, zones
from jobs.schedules.schedules import Cron, Schedule, canonical_instant

_TICK = timedelta.resolution


def zone_data_of(found: tuple[Schedule, ...]) -> str:
    """The version of the zone data that the moments come from; empty where they depend on none."""
    local = any(isinstance(part, Cron) and part.timezone != "UTC" for part in found)
    return zones.version() if local else ""


@lru_cache(maxsize=16_384)
def zone_of(found: tuple[Schedule, ...], moment: datetime) -> str:
    """The zone of the first schedule that has the moment: UTC for an interval and an instant.
    For a moment that none of them has, that of the first with a zone."""
    crons = [part for part in found if isinstance(part, Cron)]
    if len(found) == 1:
        return crons[0].timezone if crons else "UTC"
    having = [part for part in found if _has(part, moment)]
    parts = having or crons
    return next((part.timezone for part in parts if isinstance(part, Cron)), "UTC")


def offset(zone: str, moment: datetime) -> int:
    """The minutes by which the clocks of a zone are ahead of UTC at a moment."""
    ahead = zones.on_clock(moment, zone).utcoffset() or timedelta(0)
    return ahead // timedelta(minutes=1)


@lru_cache(maxsize=16_384)
def offset_of(found: tuple[Schedule, ...], moment: datetime) -> int:
    """The same for the zone of the schedule that has the moment."""
    return offset(zone_of(found, moment), moment)


def values(found: tuple[Schedule, ...], moment: datetime, key: str) -> Values:
    """What a target may say of the run with this key at a moment of these schedules."""
    local = zones.on_clock(moment, zone_of(found, moment))
    return Values(
        due=canonical_instant(moment.astimezone(UTC)),
        due_local=local.isoformat(),
        date=local.date().isoformat(),
        business_date=business_date(local.date(), _calendar(found)).isoformat(),
        key=key,
    )


def _calendar(found: tuple[Schedule, ...]) -> Calendar | None:
    """The one calendar that a job's schedules go by."""
    return next((part.calendar for part in found if isinstance(part, Cron)), None)


def _has(part: Schedule, moment: datetime) -> bool:
    return schedules.next_moment((part,), moment - _TICK) == moment
