"""The worker's right to a run, kept alive by a heartbeat and given up when in doubt.

The heartbeat runs in a thread with a database connection of its own. A worker that could not
renew for two thirds of the lease fences itself: it begins no effect, and one in flight counts
as unknown. No lease is renewed past the run's time-out and a grace: then the outcome is
recorded and the worker ends its own process. So it does, after a grace, where the run is asked
to stop and what it calls does not end.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self
from uuid import UUID

import structlog
from billiard import process
from django.conf import settings
from django.db import connection

from runs import persist
from runs.outcomes import Effect, Kind, Outcome

GRACE = 5.0  # seconds past the run's time-out
_OVERRUN = Outcome(Kind.UNKNOWN, Effect.MAYBE, "It ran past its time-out and was ended.")
_ENDED = Outcome(
    Kind.STOPPED, Effect.MAYBE, "It was asked to stop, went on, and was ended by force."
)

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
    """Holds a grant while the block runs. `end` is called at most once, in the heartbeat's
    thread, with the outcome of a run that goes past its time-out, or past a request to stop,
    and the grace; then this process ends."""

    def __init__(self, grant: Grant, *, end: Callable[[Outcome], object]) -> None:
        self._grant = grant
        self._end = end
        self._stop: Callable[[], object] | None = None
        self._stop_asked: float | None = None
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

    @property
    def stop_asked(self) -> bool:
        """Whether the heartbeat has seen that the run is to stop."""
        return self._stop_asked is not None

    def when_asked_to_stop(self, stop: Callable[[], object]) -> None:
        """Call `stop`, in the heartbeat's thread, as soon as the run is asked to; here and now
        where it was already."""
        self._stop = stop
        if self.stop_asked:
            stop()

    def _beat(self) -> None:
        try:
            while not self._done.wait(self._pause()):
                now = time.monotonic()
                if now - self._started > self._grant.timeout + GRACE:
                    log.error("lease.overrun", run=str(self._grant.run_id), token=self._grant.token)
                    return self._end_process(_OVERRUN)
                if self._stop_asked and now >= self._stop_asked + settings.STOP_GRACE and _child():
                    log.warning("lease.stopped_by_force", run=str(self._grant.run_id))
                    return self._end_process(_ENDED)
                if not self._lost:  # else it has only its time-out left to be held to
                    self._renew()
        finally:
            connection.close()

    def _pause(self) -> float:
        """Seconds until the next heartbeat, or until a grace is over."""
        beat = self._length / 3
        if self._stop_asked is None or not _child():
            return beat
        left = self._stop_asked + settings.STOP_GRACE - time.monotonic()
        return min(beat, max(0.0, left))

    def _renew(self) -> None:
        asked = time.monotonic()
        try:
            with persist.no_longer_than(self._length / 3):
                renewed = self._extended()
        except Exception as error:
            log.warning("lease.not_renewed", run=str(self._grant.run_id), why=str(error))
            connection.close()
            return
        if renewed is None:
            self._lost = True
            log.warning("lease.lost", run=str(self._grant.run_id), token=self._grant.token)
            return
        self._renewed = asked
        if renewed and not self.stop_asked:
            self._ask_to_stop()

    def _extended(self) -> bool | None:
        """Whether the run is asked to stop; None: the lease is gone."""
        with connection.cursor() as cursor:
            cursor.execute(
                _EXTEND,
                {
                    "length": self._length,
                    "run": self._grant.run_id,
                    "token": self._grant.token,
                    "lease": self._grant.lease_id,
                },
            )
            row = cursor.fetchone()
        return None if row is None else bool(row[0])

    def _ask_to_stop(self) -> None:
        log.info("lease.stop_asked", run=str(self._grant.run_id), token=self._grant.token)
        self._stop_asked = time.monotonic()
        if self._stop is not None:
            self._stop()

    def _end_process(self, outcome: Outcome) -> None:
        try:
            self._end(outcome)
        except Exception:  # rescue settles it, as of a worker that was lost
            log.exception("lease.not_told", run=str(self._grant.run_id))
        if _child() and not self._done.is_set():
            os.kill(os.getpid(), signal.SIGKILL)


_EXTEND = """
update runs_run set lease_until = clock_timestamp() + %(length)s * interval '1 second'
 where id = %(run)s and attempt = %(token)s and lease_id = %(lease)s and state = 'RUNNING'
returning stop_asked_at is not null
"""


def _child() -> bool:
    """Whether this is a process of the worker's pool, which replaces one that ends."""
    return bool(process.current_process().name != "MainProcess")
