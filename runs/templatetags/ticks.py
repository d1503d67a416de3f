"""The marks below a picture of time."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from django import template

from jobs.schedules import zones
from jobs.schedules.errors import ScheduleError

register = template.Library()


@register.filter
def tick(at: datetime, zone: str) -> str:
    """The weekday and the time of day on the clock of this zone, as short as can be."""
    with suppress(ScheduleError):  # the zone data in use has lost it
        at = zones.on_clock(at, zone)
    return f"{at:%a %H:%M}"
