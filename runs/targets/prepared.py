"""What every kind of target hands to the worker before the intent is written."""

from __future__ import annotations

from typing import Protocol

from runs.outcomes import Outcome


class NotSent(Exception):
    """Known not to have reached the target: DNS, connect, TLS, refused by us, no such task.

    `reason` is for the team; `detail` for the platform's log, as it may tell about the inside
    of the network. `for_good`: no later attempt can fare better.
    """

    def __init__(self, reason: str, detail: str = "", *, for_good: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.for_good = for_good


class Prepared(Protocol):
    """A call that is ready: the only thing left is to make it."""

    @property
    def sent(self) -> dict[str, object]:
        """What the call sends, masked and capped: evidence for the attempt."""

    def perform(self) -> Outcome:
        """Make the call, once. Raises nothing for what the target does."""

    def stop(self) -> None:
        """Ask the call, from another thread, to end early. A request is cut; a task is told, and
        may not listen. Harmless when the call has ended."""

    def close(self) -> None:
        """Give up what was made ready. Harmless after `perform`, and twice."""
