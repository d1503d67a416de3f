"""A worker tells people what the outbox holds, in a thread beside its pool.

Not as a message of the broker, and not as a run: see runs/channels/notify.py. Any number of
workers do it; the rows keep them apart.
"""

from __future__ import annotations

import threading
from typing import Any

import structlog
from celery import bootsteps
from django.conf import settings
from django.db import Error, close_old_connections, connection

from runs.channels import notify

log = structlog.get_logger("onebeat.notify")
_TURN = 30.0  # seconds of sending until the outbox is looked at anew
_GRACE = 1.0  # seconds that a worker which ends waits for a sending; the lease covers the rest


class Teller(bootsteps.StartStopStep):
    """From the start of the worker to its end. After the pool: what is forked has no thread."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True, name="teller")

    def start(self, parent: Any) -> None:
        self._thread.start()

    def stop(self, parent: Any) -> None:
        self._stop.set()
        self._thread.join(_GRACE)

    def terminate(self, parent: Any) -> None:
        self._stop.set()

    def _tell(self) -> None:
        while not self._stop.wait(settings.SWEEP):
            try:
                close_old_connections()
                notify.deliver(within=_TURN)
            except Error as error:
                log.warning("notify.database", why=str(error).split("\n")[0])
                connection.close()
            except Exception:
                log.exception("notify.error")
                connection.close()
