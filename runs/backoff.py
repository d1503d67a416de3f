"""How long a failed attempt waits: capped full jitter (FAULTS of retries in step). PURE."""

from __future__ import annotations

import math

from jobs.foresight import waits

DEFAULT = 10.0  # seconds, where the wait cannot be worked out
SHORTEST_LATER = 1.0  # seconds until a target that said «later» is asked again


def delay(failures: int, *, base: float, cap: float, dice: float) -> float:
    """Seconds to wait after this many failures (1 = the first): uniform in
    [0, min(cap, base · 2ⁿ)], n counted from 0. `dice` is drawn by the caller from [0, 1)."""
    return dice * waits.longest(failures, base=base, cap=cap)


def asked_for(wait: float, *, cap: float) -> float:
    """Seconds to wait when the target said how long (Retry-After), within the job's cap. Raises
    ValueError for what is no number."""
    if math.isnan(wait):
        raise ValueError("The wait that was asked for is no number.")
    return min(max(wait, 0.0), cap)
