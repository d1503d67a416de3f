"""A worker that gets nothing though its queues have work ends itself, so that whoever started it
starts it anew.

After a broker has come back, a consumer may be connected and never be given a message again; it is
idle, and looks healthy. Nothing is lost by its end, for it holds nothing.
"""

from __future__ import annotations

import threading
from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state
from django.db import connection

from config.pool_watch import end
from runs import passed_over, persist

EVERY = 5.0  # seconds between two looks
PATIENCE = 60.0  # seconds without work until somebody asks whether there is any

log = structlog.get_logger("onebeat.worker")


class Idleness:
    """How long a worker has had nothing to do. Counted in looks: a process that stood still has
    not waited. PURE."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._taken = -1

    def seen(self, taken: int, *, busy: bool) -> float:
        """Seconds by now. `taken`: how many messages it has had so far."""
        idle = not busy and taken == self._taken
        self.seconds = self.seconds + EVERY if idle else 0.0
        self._taken = taken
        return self.seconds


class DeafWatch(bootsteps.StartStopStep):
    """Looks every five seconds, in a thread of its own, while the worker consumes."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    _over: threading.Event | None = None

    def start(self, parent: Any) -> None:
        self._over = threading.Event()
        queues = [queue.name for queue in parent.task_consumer.queues]
        given = (queues, str(parent.hostname), self._over)
        threading.Thread(target=_watch, args=given, name="deaf-watch", daemon=True).start()

    def stop(self, parent: Any) -> None:
        if self._over is not None:
            self._over.set()


def _watch(queues: list[str], worker: str, over: threading.Event) -> None:
    idleness = Idleness()
    while not over.wait(EVERY):
        busy = bool(state.active_requests or state.reserved_requests)
        idle = idleness.seen(sum(state.total_count.values()), busy=busy)
        if idle >= PATIENCE and (why := _asked(queues, worker, idle)) and not over.is_set():
            log.critical("worker.gets_nothing", idle=idle, why=why)
            end()


def _asked(queues: list[str], worker: str, idle: float) -> str | None:
    try:
        with persist.no_longer_than(EVERY):
            return passed_over.why(queues, worker=worker, idle=idle)
    except Exception:
        log.exception("worker.not_known_whether_deaf")
        return None
    finally:
        connection.close()  # the pool's processes are forked from this one
