"""How a job waits between its attempts: said and drawn while it is typed. PURE.

The rule is capped full jitter (runs/backoff.py draws from it): after the n-th failure a run waits
a random part of min(cap, backoff · 2ⁿ⁻¹).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

_MOST_DOUBLINGS = 40  # 2**40 times any base is past every cap; no overflow on the way
SHOWN = 12  # waits that are told one by one
WIDTH, HEIGHT, MARK = 360, 24, 4  # of the picture, in its own units


def longest(failures: int, *, base: float, cap: float) -> float:
    """The longest wait after so many failures (1 = the first), in seconds."""
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    return min(cap, base * 2.0**doublings)


@dataclass(frozen=True)
class Waits:
    """The longest waits between the attempts, in seconds; `attempts` of `timeout` seconds each.
    None of the four is known where one of them is no number yet: then it is empty."""

    attempts: int = 0
    timeout: int = 0
    each: Sequence[float] = field(default_factory=tuple)

    @property
    def told(self) -> Sequence[float]:
        """Those that are told one by one."""
        return self.each[:SHOWN]

    @property
    def untold(self) -> int:
        """How many more there are."""
        return len(self.each) - len(self.told)

    @property
    def within(self) -> float:
        """After so many seconds, at the latest, its last attempt has ended."""
        return self.attempts * self.timeout + sum(self.each)

    @property
    def marks(self) -> list[float]:
        """Where the attempts stand in the picture, from the left, if each fails at once. By the
        square root of time: the first waits would be one mark on a straight scale."""
        begins = [0.0, *accumulate(self.told)]
        far = begins[-1] or 1.0
        room = WIDTH - 2 * MARK
        return [round(MARK + room * (at / far) ** 0.5, 1) for at in begins]


def of(*, attempts: int, backoff: int, cap: int, timeout: int) -> Waits:
    """The waits of a job of this many attempts."""
    each = [longest(n, base=backoff, cap=cap) for n in range(1, attempts)]
    return Waits(attempts, timeout, each)
