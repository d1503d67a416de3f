"""The stretches of time that the Overview counts over. PURE.

A window ends with the step that is under way, so that the same numbers stand under the same
addresses until the next step begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Length:
    """A length that may be asked for, in `steps` steps; `each`: one of them, in words. A picture
    names the time of every `marks` of them."""

    name: str
    words: str
    step: timedelta
    steps: int
    each: str
    marks: int


LENGTHS = {
    length.name: length
    for length in (
        Length("1h", "Last hour", timedelta(minutes=5), 12, "five minutes", 3),
        Length("24h", "Last 24 hours", timedelta(hours=1), 24, "hour", 6),
        Length("7d", "Last 7 days", timedelta(hours=6), 28, "six hours", 4),
    )
}
USUAL = "24h"


@dataclass(frozen=True)
class Window:
    """What lies in [since, until)."""

    length: Length
    since: datetime
    until: datetime

    @property
    def starts(self) -> list[datetime]:
        """When each of its steps begins, the oldest first."""
        return [self.since + self.length.step * place for place in range(self.length.steps)]


def ending(length: Length, now: datetime) -> Window:
    """The window of this length whose last step is the one that holds `now`."""
    step = length.step
    until = _EPOCH + step * ((now - _EPOCH) // step + 1)
    return Window(length, until - step * length.steps, until)
