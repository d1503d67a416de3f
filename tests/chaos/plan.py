"""Which fault comes when: drawn from a seed, the same for the same seed. PURE."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A fault that a stage can make (tests/chaos/conduct.py)."""

    KILL_BEAT = "beat killed"
    FREEZE_BEAT = "beat frozen"
    KILL_WORKER = "worker killed"
    FREEZE_WORKER = "worker frozen"
    KILL_CHILD = "worker's child killed"
    WARM_STOP = "worker stopped warm"
    KILL_BROKER = "broker killed"
    HANG_BROKER = "broker hangs"
    CUT_BROKER = "broker cut"
    WIPE_BROKER = "broker wiped"
    KILL_DATABASE = "database killed"
    END_CONNECTIONS = "connections terminated"
    CUT_DATABASE = "database cut"
    HANG_DATABASE = "database hangs"
    SLOW_DATABASE = "database slow"
    LOSE_COMMITS = "commit sent, answer lost"
    DOUBLE_MESSAGES = "messages doubled"


@dataclass(frozen=True)
class Fault:
    """`at`, `lasts`: seconds; `whom`: a number that picks among those whom it may hit."""

    at: float
    kind: Kind
    whom: int
    lasts: float

    def __str__(self) -> str:
        return f"{self.at:7.1f} s  {self.kind} (no. {self.whom}, {self.lasts:.1f} s)"


# How often each is drawn, and how long it lasts (seconds, from and to).
_WEIGHTS: Mapping[Kind, tuple[int, float, float]] = {
    Kind.KILL_BEAT: (4, 0.0, 2.0),
    Kind.FREEZE_BEAT: (3, 1.0, 8.0),
    Kind.KILL_WORKER: (4, 0.0, 2.0),
    Kind.FREEZE_WORKER: (3, 1.0, 9.0),
    Kind.KILL_CHILD: (3, 0.0, 0.0),
    Kind.WARM_STOP: (2, 0.0, 0.0),
    Kind.KILL_BROKER: (2, 0.0, 2.0),
    Kind.HANG_BROKER: (2, 1.0, 6.0),
    Kind.CUT_BROKER: (2, 0.2, 4.0),
    Kind.WIPE_BROKER: (2, 0.0, 0.0),
    Kind.KILL_DATABASE: (2, 0.0, 1.5),
    Kind.END_CONNECTIONS: (3, 0.0, 0.0),
    Kind.CUT_DATABASE: (3, 0.2, 5.0),
    Kind.HANG_DATABASE: (2, 0.5, 6.0),
    Kind.SLOW_DATABASE: (2, 2.0, 5.0),
    Kind.LOSE_COMMITS: (6, 3.0, 3.0),
    Kind.DOUBLE_MESSAGES: (5, 0.0, 0.0),
}
QUIET_START = 3.0  # seconds
PAUSE = 3.75  # seconds between two faults, on average


def of(seed: int, *, seconds: float, pause: float = PAUSE) -> list[Fault]:
    """The faults of a run that lasts so long: one after the other, sometimes on top of each
    other, and each kind at least once where there is room for all. `pause`: seconds between two,
    on average."""
    dice = random.Random(seed)
    first = dice.sample(list(Kind), len(Kind))
    faults: list[Fault] = []
    at = QUIET_START
    while at < seconds:
        kind = first.pop() if first and dice.random() < 0.5 else _drawn(dice)
        _, shortest, longest = _WEIGHTS[kind]
        whom, lasts = dice.randrange(1 << 16), dice.uniform(shortest, longest)
        faults.append(Fault(at, kind, whom, lasts))
        at += dice.uniform(0.4 * pause, 1.6 * pause)
    return faults


def _drawn(dice: random.Random) -> Kind:
    return dice.choices(list(_WEIGHTS), [weight for weight, _, _ in _WEIGHTS.values()])[0]
