"""The runs of a window as bars, one a step: pure geometry, drawn by a template. PURE.

From the bottom up: what succeeded, what is in flight, what was left out or closed, and on top,
set apart by a gap, what died and what waits for a decision. Heights are shares of the fullest
step; whatever is there at all is seen, be it one in a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runs.states import UNDER_WAY, State

WIDTH, HEIGHT = 24, 64  # of a step, with its gap; of the fullest one
_BAR, _GAP, _LEAST = 18, 2, 3
LAYERS: tuple[tuple[str, str, tuple[State, ...]], ...] = (
    ("ok", "succeeded", (State.SUCCEEDED,)),
    ("run", "in flight", tuple(state for state in State if state in UNDER_WAY)),
    ("quiet", "skipped, closed or cancelled", (State.SKIPPED, State.CLOSED, State.CANCELLED)),
    ("bad", "dead", (State.DEAD,)),
    ("ask", "in review", (State.REVIEW,)),
)
_APART = ("bad", "ask")
_NARROWER = {"run": 4, "quiet": 8, "ask": 10}  # told by their breadth too, not by colour alone
BASE = HEIGHT + len(LAYERS) * _LEAST + len(_APART) * _GAP + 1  # where the bars stand


@dataclass(frozen=True)
class Part:
    """One layer of a bar, in the picture's own units; `y` from the top."""

    kind: str
    x: int
    y: int
    height: int
    width: int


@dataclass(frozen=True)
class Step:
    """One step: when it begins, how many of each layer, its parts, and the place of its left
    edge."""

    at: datetime
    counts: tuple[int, ...]
    parts: tuple[Part, ...]
    x: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.counts)


def steps(starts: Sequence[datetime], found: Sequence[dict[State, int]]) -> list[Step]:
    """The bars of these steps, the oldest at the left."""
    counts = [tuple(sum(step.get(s, 0) for s in of) for _, _, of in LAYERS) for step in found]
    fullest = max((sum(each) for each in counts), default=0)
    return [
        Step(at, each, _parts(place * WIDTH, each, fullest), place * WIDTH)
        for place, (at, each) in enumerate(zip(starts, counts, strict=True))
    ]


def _parts(x: int, counts: tuple[int, ...], fullest: int) -> tuple[Part, ...]:
    found, top = [], BASE
    for (kind, _, _), count in zip(LAYERS, counts, strict=True):
        if count:
            height = max(_LEAST, round(HEIGHT * count / fullest))
            top -= height + (_GAP if kind in _APART else 0)
            less = _NARROWER.get(kind, 0)
            found.append(Part(kind, x + less // 2, top, height, _BAR - less))
    return tuple(found)


def label(found: Sequence[Step], each: str) -> str:
    """The picture in one sentence, for who cannot see it."""
    most = max((step.total for step in found), default=0)
    least = min((step.total for step in found), default=0)
    sums = [sum(column) for column in zip(*(step.counts for step in found), strict=True)]
    told = [
        f"{count:,} {words}" for (_, words, _), count in zip(LAYERS, sums, strict=True) if count
    ]
    if not told:
        return f"Runs for every {each}: none."
    return f"Runs for every {each}, from {least:,} to {most:,}: {', '.join(told)}."
