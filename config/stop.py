"""Whether a signal has asked for the end."""

from __future__ import annotations

import os
import select
from contextlib import suppress


class Stop:
    """Asked by a signal's handler, waited for by the main loop.

    No lock anywhere: a second signal comes in the middle of the first one's handler (a group gets
    it, and `make` hands it on once more), and there a threading.Event would wait for itself.
    """

    def __init__(self) -> None:
        self.asked = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def ask(self, *_: object) -> None:
        """The handler: wakes up whoever waits."""
        self.asked = True
        with suppress(BlockingIOError):  # full: it is awake by now
            os.write(self._writer, b".")

    def wait(self, seconds: float) -> bool:
        """Whether it was asked, waiting for that at most so long."""
        if not self.asked:
            select.select([self._reader], [], [], seconds)
        return self.asked
