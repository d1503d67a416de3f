"""Cut the connections of those who wait too long for the database, by one thread of each process.

A thread for each statement would cost more than most statements do.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog

log = structlog.get_logger("onebeat.database")


class HangWatch:
    """Cuts what `limit` watches over, where its block takes longer than it may."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._watched: dict[object, tuple[float, Callable[[], Any]]] = {}
        self._looks_at = math.inf  # when the thread looks next, by the monotonic clock
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, seconds: float, line: Callable[[], Any]) -> Iterator[None]:
        """Cut `line`, asked for in that instant, where the block takes longer. A block that has
        ended is never cut: its connection may be another's by then."""
        mark = object()
        self._add(mark, time.monotonic() + seconds, line)
        try:
            yield
        finally:
            with self._changed:
                self._watched.pop(mark, None)

    def _add(self, mark: object, until: float, line: Callable[[], Any]) -> None:
        with self._changed:
            self._watched[mark] = (until, line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="hang watch", daemon=True)
                self._thread.start()
            if until < self._looks_at:
                self._changed.notify()

    def _look(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for mark in [mark for mark, (until, _) in self._watched.items() if until <= now]:
                    _, line = self._watched.pop(mark)
                    _cut(line)
                ends = [until for until, _ in self._watched.values()]
                self._looks_at = min(ends, default=math.inf)
                self._changed.wait(min(self._looks_at - now, threading.TIMEOUT_MAX))


def _cut(line: Callable[[], Any]) -> None:
    with (
        suppress(Exception),  # there is none, or it has ended meanwhile
        socket.socket(fileno=os.dup(line().fileno())) as open_line,
    ):
        log.warning("database.hangs")
        open_line.shutdown(socket.SHUT_RDWR)
