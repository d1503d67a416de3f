"""A worker whose pool hangs ends itself, so that whoever started it starts it anew.

The pool's processes take their work from one pipe under one lock. A process that is killed while
it waits there (the OOM killer does not ask) takes the lock with it: Celery forks a new one, but no
process ever takes work again, and the worker goes on receiving messages that nobody carries out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import Any

import psutil
import structlog
from celery import bootsteps
from celery.worker import state

EVERY = 2.0  # seconds between two looks
PATIENCE = 15.0  # seconds that a received message may wait for an idle pool
EXIT_CODE = 70

log = structlog.get_logger("onebeat.worker")


class Stall:
    """Since when messages have waited though no process works. PURE: time comes in."""

    def __init__(self) -> None:
        self._waiting: Collection[str] = ()
        self._since = 0.0

    def seen(self, waiting: Collection[str], *, active: int, now: float) -> bool:
        """Whether it has lasted too long. `waiting`: ids of received messages that no process has
        taken; `active`: how many are being carried out; `now`: monotonic seconds."""
        if active or not set(waiting) & set(self._waiting):
            self._waiting, self._since = (() if active else waiting), now
            return False
        return now - self._since >= PATIENCE


class PoolWatch(bootsteps.StartStopStep):
    """Looks every two seconds while the worker consumes."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _entry: Any = None

    def start(self, parent: Any) -> None:
        stall = Stall()
        self._entry = parent.timer.call_repeatedly(EVERY, _look, (stall,))

    def stop(self, parent: Any) -> None:
        if self._entry is not None:
            self._entry.cancel()


def _look(stall: Stall) -> None:
    try:
        active = {request.id for request in state.active_requests}
        waiting = {request.id for request in state.reserved_requests} - active
    except RuntimeError:  # the sets changed under the look, so something moves
        return
    if stall.seen(waiting, active=len(active), now=time.monotonic()):
        log.critical("worker.pool_hangs", waiting=len(waiting))
        end()


def end() -> None:
    """End this worker with its pool, at once."""
    # No orderly end: it would wait for the very pool. What was received is sent again by rescue.
    for child in psutil.Process().children(recursive=True):
        child.kill()
    os._exit(EXIT_CODE)
