"""How long runs take, and which is slower than usual. PURE. Lengths are in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FEWEST = 8  # lengths without which nothing is usual
SLOW = 1.5  # times the median, at least


@dataclass(frozen=True)
class Usual:
    """What is usual of so many runs."""

    median: float
    p95: float
    count: int

    def is_slow(self, seconds: float) -> bool:
        """Whether a run takes longer than is usual: beyond nearly all, and well beyond half."""
        return self.count >= FEWEST and seconds > max(self.p95, self.median * SLOW)


def usual(lengths: Sequence[float]) -> Usual | None:
    """Of runs that succeeded; None where there are none."""
    if not lengths:
        return None
    ordered = sorted(lengths)
    return Usual(_at(ordered, 0.5), _at(ordered, 0.95), len(ordered))


def _at(ordered: Sequence[float], share: float) -> float:
    """Between its two neighbours, as far as it lies between them."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
