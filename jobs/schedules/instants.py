"""Instants as text. PURE.

In: ISO 8601 with an offset. Out: UTC with `Z`, microseconds only where there are any, so that one
instant has one spelling (idempotency keys rest on that).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from jobs.schedules.errors import REQUIRED, ScheduleError

# A day and a time without an offset. No hour 24, which some versions of Python read as the next
# day's.
LOCAL_SHAPE = r"\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6})?)?"
# No zone's clock is, or was, sixteen hours from UTC.
_SHAPE = re.compile(LOCAL_SHAPE + r"(?P<offset>[Zz]|[+-](0\d|1[0-5]):[0-5]\d)?", re.ASCII)
_HINT = "Write it as 2026-11-29T18:00:00Z or, with an offset, 2026-11-29T19:00:00+01:00."


def canonical_instant(moment: datetime) -> str:
    """`moment` (aware) as 2026-11-29T18:00:00Z, with .ffffff where it has microseconds."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def parse_instant(text: object, field: str) -> datetime:
    """ISO 8601 with an offset → UTC. Raises ScheduleError for `field` on anything else."""
    if text == "":
        raise ScheduleError(field, text, REQUIRED, _HINT)
    shape = _SHAPE.fullmatch(text) if isinstance(text, str) else None
    if not isinstance(text, str) or shape is None:
        raise ScheduleError(field, text, "is not an instant", _HINT)
    if shape["offset"] is None:
        raise ScheduleError(field, text, "has no offset, so it names no instant", _HINT)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ScheduleError(field, text, "is no date and time of the calendar", _HINT) from None
