"""The worker's right to a run, kept alive by a heartbeat and given up when in doubt.

The heartbeat runs in a thread with a database connection of its own. A worker that could not
renew for two thirds of the lease fences itself: it begins no effect, and one in flight counts
as unknown. No lease is renewed past the run's time-out and a grace: then the outcome is
recorded and the worker ends its own process.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Self
from uuid import UUID

import structlog
from billiard import process
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from runs.models import Run
from runs.states import State

GRACE = 5.0  # seconds past the run's time-out

log = structlog.get_logger("onebeat.lease")


@dataclass(frozen=True)
class Grant:
    """What a start won: the run's token, under this lease, for this long. `key_is_free` is
    False when the key's effect is recorded as done though the run is not."""

    run_id: UUID
    token: int
    lease_id: UUID
    timeout: float
    key_is_free: bool = True


class Lease:
    """Holds a grant while the block runs. `overrun` is called once, in the heartbeat's thread,
    when the run goes past its time-out and grace."""

    def __init__(self, grant: Grant, *, overrun: Callable[[], object]) -> None:
        self._grant = grant
        self._overrun = overrun
        self._length = float(settings.LEASE)
        self._renewed = self._started = time.monotonic()
        self._lost = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(timeout=5)

    @property
    def good(self) -> bool:
        """Whether an effect may still be begun under this lease."""
        return not self._lost and time.monotonic() - self._renewed < self._length * 2 / 3

    def _beat(self) -> None:
        try:
            while not self._done.wait(self._length / 3):
                if time.monotonic() - self._started > self._grant.timeout + GRACE:
                    self._end_process()
                    return
                self._renew()
                if self._lost:
                    return
        finally:
            connection.close()

    def _renew(self) -> None:
        asked = time.monotonic()
        try:
            renewed = Run.objects.filter(
                id=self._grant.run_id,
                attempt=self._grant.token,
                lease_id=self._grant.lease_id,
                state=State.RUNNING,
            ).update(lease_until=Now() + timedelta(seconds=self._length))
        except Exception as error:
            log.warning("lease.not_renewed", run=str(self._grant.run_id), why=str(error))
            connection.close()
            return
        if renewed:
            self._renewed = asked
        else:
            self._lost = True
            log.warning("lease.lost", run=str(self._grant.run_id), token=self._grant.token)

    def _end_process(self) -> None:
        log.error("lease.overrun", run=str(self._grant.run_id), token=self._grant.token)
        self._overrun()
        if process.current_process().name != "MainProcess":  # a child of the worker's pool
            os.kill(os.getpid(), signal.SIGKILL)
