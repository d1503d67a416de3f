"""What the target does with each request, by seed: known to the target and to the oracle. PURE.

A request is drawn by its key and attempt alone, so that it meets the same fate in whatever order
requests come, and a retry meets another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Doing(StrEnum):
    """What a target may do with a request."""

    ACT = "act"
    SLOW = "slow"  # acts after a while
    FAIL_BEFORE = "fail before"  # 500, nothing done
    FAIL_AFTER = "fail after"  # acts, then 500
    RESET_BEFORE = "reset before"  # drops the connection, nothing done
    RESET_AFTER = "reset after"  # acts, then drops the connection
    HANG = "hang"  # acts only when the caller has long given up
    REFUSE = "refuse"  # 404, nothing done
    BUSY = "busy"  # 429, Retry-After: 1


# Of a thousand requests; the others act at once.
TROUBLED: Mapping[Doing, int] = {
    Doing.SLOW: 20,
    Doing.FAIL_BEFORE: 8,
    Doing.FAIL_AFTER: 8,
    Doing.RESET_BEFORE: 8,
    Doing.RESET_AFTER: 8,
    Doing.HANG: 3,
    Doing.REFUSE: 2,
    Doing.BUSY: 4,
}
QUIET: Mapping[Doing, int] = {}
HANGS_FOR = 3.0  # seconds; longer than the jobs' time-out
SLOW_FOR = 0.5


@dataclass(frozen=True)
class Temper:
    """How often, of a thousand requests, a target of this seed does what."""

    seed: int
    shares: Mapping[Doing, int]

    def of(self, key: str, attempt: int) -> Doing:
        """What this attempt meets."""
        digest = hashlib.sha256(f"{self.seed} {key} {attempt}".encode()).digest()
        drawn = int.from_bytes(digest[:4], "big") % 1000
        for doing, share in self.shares.items():
            if drawn < share:
                return doing
            drawn -= share
        return Doing.ACT


KIND_ANSWERS = frozenset({Doing.ACT, Doing.SLOW})  # after which a run has succeeded
