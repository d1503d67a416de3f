"""Runs by age. PURE.

A run's id is a version 7 UUID, so that the primary key is in the order of birth: a range of
ages is a range of ids, and needs no index of its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

SKEW = timedelta(minutes=10)  # a margin: ids come from the hosts' clocks, moments do not
_MILLISECONDS_SHIFT = 80
_FIRST_VERSION_7 = 0x7000_8000_0000_0000_0000


def first_id(born: datetime) -> UUID:
    """The least id that a run born at this instant (1970 or later) can have. Where the clock of
    the database counts, leave SKEW."""
    milliseconds = max(0, int(born.timestamp() * 1000))
    return UUID(int=milliseconds << _MILLISECONDS_SHIFT | _FIRST_VERSION_7)


def lasted(since: datetime | None, until: datetime | None) -> timedelta | None:
    """How long it was; None where either is missing, or the database's clock was set back between
    the two, so that nobody knows."""
    if since is None or until is None or until < since:
        return None
    return until - since
