"""Instants as people type them: on the clock of a zone, or with an offset. PURE."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time

from jobs.schedules import zones
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import LOCAL_SHAPE, parse_instant

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LOCAL = re.compile(LOCAL_SHAPE, re.ASCII)


def first_instant(text: str, zone: str, field: str) -> datetime:
    """The first instant (UTC) at which the clock of `zone` shows this: where it shows it twice
    the earlier one, of a day its beginning. Raises ScheduleError for `field`."""
    return min(_instants(text, zone, field, time.min))


def last_instant(text: str, zone: str, field: str) -> datetime:
    """The last such instant: where the clock shows it twice the later one, of a day its end."""
    return max(_instants(text, zone, field, time.max))


def _instants(text: str, zone: str, field: str, of_day: time) -> list[datetime]:
    """The one or two instants that are meant. What lies in a gap of the clock is taken by the
    offset before it and by that after it."""
    if not _DAY.fullmatch(text) and not _LOCAL.fullmatch(text):
        return [parse_instant(text, field)]
    try:
        shown = datetime.fromisoformat(text.upper())
        if _DAY.fullmatch(text):
            shown = datetime.combine(shown, of_day)
        there = zones.zone(zone)
        return [shown.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1)]
    except (ValueError, OverflowError) as error:
        if isinstance(error, ScheduleError):
            raise
        hint = "Write it as 2026-11-29 18:00."
        raise ScheduleError(field, text, "is no date and time of the calendar", hint) from None
