"""A cold end of a worker takes seconds, whatever it met.

Celery's handler of SIGQUIT cancels what runs, wherever the signal meets the process. In the middle
of a statement of the broker that is to wait, without end, for the connection that was interrupted.
Nothing is lost by leaving then: what it had is sent again by rescue, or goes to review.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from config import pool_watch

PATIENCE = 10  # seconds, beyond those of the soft shutdown


def bound(sender: Any, **_: object) -> None:
    """Over Celery's handler, which stands by now. `sender`: the worker's consumer."""
    celerys = signal.getsignal(signal.SIGQUIT)
    soft = int(sender.app.conf.worker_soft_shutdown_timeout)

    def begin(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, _leave)
        signal.alarm(soft + PATIENCE)
        if callable(celerys):
            celerys(number, frame)

    signal.signal(signal.SIGQUIT, begin)


def _leave(_number: int, _frame: FrameType | None) -> None:
    pool_watch.end()
