"""A beat that is asked to end finishes the look that it is at, and then leaves.

Celery's own handler has the scheduler close, and leaves, wherever the signal meets the process. In
the middle of a statement that is to wait, without end, for the connection that was interrupted.
"""

from __future__ import annotations

import signal
from functools import partial
from types import FrameType

from celery.beat import Service


def end_between_looks(sender: Service, **_: object) -> None:
    """Over Celery's handlers, which stand by now."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_ask, sender))


def _ask(service: Service, number: int, _frame: FrameType | None) -> None:
    # Not its `stop`, which logs: the signal may have met a log line half written.
    service._is_shutdown.set()  # type: ignore[attr-defined]
    signal.signal(number, signal.SIG_DFL)  # a second one ends the process at once
