"""Statements whose answer may be lost: done again, or read back, on a fresh connection."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection, connections

from runs.hang_watch import HangWatch

log = structlog.get_logger("onebeat.database")
_Value = TypeVar("_Value")
_PAUSE = 0.2  # seconds, doubling up to two
_LONGEST = 25.0  # seconds; the database's own time-outs come before
# Internal: what a server says that has become a standby, or has ended a transaction by itself.
_AGAIN = (OperationalError, InterfaceError, InternalError)


def again(write: Callable[[], _Value], *, within: float) -> _Value:
    """Do what may safely be done twice until the database has answered, for at most `within`
    seconds; then the last error leaves."""
    return read_back(write, lambda: None, within=within)


def read_back(
    write: Callable[[], _Value], read: Callable[[], _Value | None], *, within: float
) -> _Value:
    """The answer of `write`; when it was lost, that of `read`, which must tell whether the
    write took place. A `read` that says no (falsy) leads to another `write`; one that finds
    nothing to do may have met the first, whose commit came through meanwhile: read once more."""
    deadline = time.monotonic() + within
    pause = _PAUSE
    asked = False
    while True:
        try:
            with no_longer_than(min(_LONGEST, max(1.0, deadline - time.monotonic()))):
                return _whether_or_not(write, read) if asked else write()
        except _AGAIN as error:
            connection.close()
            if time.monotonic() + pause > deadline:
                raise
            log.warning("database.again", why=str(error).splitlines()[0] if str(error) else "")
            asked = True
            time.sleep(pause)
            pause = min(pause * 2, 2.0)


def _whether_or_not(write: Callable[[], _Value], read: Callable[[], _Value | None]) -> _Value:
    """The answer of a write of which nobody knows whether it took place."""
    if found := read():
        return found
    answer = write()
    return answer or read() or answer


def no_longer_than(seconds: float) -> AbstractContextManager[None]:
    """Cut this thread's connection where the block takes longer: a server, or a network, that
    hangs would be waited for without end. Who waits for its answer gets an OperationalError."""
    mine = connections[connection.alias]
    return _watch.limit(seconds, lambda: mine.connection)


_watch = HangWatch()


def _watch_anew() -> None:
    """A forked process has the watch's memory, and not its thread."""
    global _watch
    _watch = HangWatch()


os.register_at_fork(after_in_child=_watch_anew)
