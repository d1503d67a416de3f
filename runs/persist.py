"""Statements whose answer may be lost: done again, or read back, on a fresh connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from django.db import InterfaceError, OperationalError, connection

log = structlog.get_logger("onebeat.database")
_Value = TypeVar("_Value")
_PAUSE = 0.2  # seconds, doubling up to two


def again(write: Callable[[], _Value], *, within: float) -> _Value:
    """Do what may safely be done twice until the database has answered, for at most `within`
    seconds; then the last error leaves."""
    return read_back(write, lambda: None, within=within)


def read_back(
    write: Callable[[], _Value], read: Callable[[], _Value | None], *, within: float
) -> _Value:
    """The answer of `write`; when it was lost, that of `read`, which must tell whether the
    write took place. A `read` that says no (falsy) leads to another `write`."""
    deadline = time.monotonic() + within
    pause = _PAUSE
    asked = False
    while True:
        try:
            if asked and (found := read()):
                return found
            return write()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if time.monotonic() + pause > deadline:
                raise
            log.warning("database.again", why=str(error).splitlines()[0] if str(error) else "")
            asked = True
            time.sleep(pause)
            pause = min(pause * 2, 2.0)
