"""Strips of outcomes: the last runs of a job as marks, the oldest at the left. PURE.

A kind of outcome has a shape of its own, so that a strip reads in grey too: fine is a full bar,
what failed a full bar with a notch, what a person must decide a diamond, what is under way half a
bar, what was not carried out a dot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from runs.states import State

HEIGHT = 20
STEP = 7  # from one mark to the next
_WIDTH = 5


class Kind(StrEnum):
    """What a mark says; the class of its shape in static/dashboard.css."""

    FINE = "fine"
    FAILED = "failed"
    ASK = "ask"
    LATE = "late"
    RUN = "run"
    ASIDE = "none"


WORDS = {
    Kind.FINE: "succeeded",
    Kind.FAILED: "dead",
    Kind.ASK: "in review",
    Kind.LATE: "retrying",
    Kind.RUN: "under way",
    Kind.ASIDE: "not carried out",
}
_KINDS = {
    State.SUCCEEDED: Kind.FINE,
    State.DEAD: Kind.FAILED,
    State.REVIEW: Kind.ASK,
    State.RETRYING: Kind.LATE,
    State.SKIPPED: Kind.ASIDE,
    State.CANCELLED: Kind.ASIDE,
    State.CLOSED: Kind.ASIDE,
}


@dataclass(frozen=True)
class Bar:
    """One mark: where it begins, and its outline as the `d` of a path."""

    kind: Kind
    x: int
    d: str


@dataclass(frozen=True)
class Strip:
    """A strip of `width` × HEIGHT; `paths` are its outlines by kind, `label` says it in words."""

    width: int
    paths: tuple[tuple[Kind, str], ...]
    label: str


def kind(state: str) -> Kind:
    """What a run in this state shows as."""
    return _KINDS.get(State(state), Kind.RUN)


def bars(states: Sequence[str]) -> list[Bar]:
    """A mark for each state, in their order."""
    return [
        Bar(what, place * STEP, _outline(what, place * STEP))
        for place, what in enumerate(map(kind, states))
    ]


def strip(states: Sequence[str]) -> Strip:
    """The strip of a job whose last runs are in these states, the oldest first."""
    drawn = bars(states)
    paths = {what: "".join(bar.d for bar in drawn if bar.kind is what) for what in Kind}
    width = max(0, len(drawn) * STEP - (STEP - _WIDTH))
    return Strip(width, tuple((what, d) for what, d in paths.items() if d), label(states))


def label(states: Sequence[str]) -> str:
    """What a strip shows, for those who do not see it."""
    if not states:
        return "No run yet"
    counts = Counter(map(kind, states))
    said = ", ".join(f"{counts[what]} {WORDS[what]}" for what in Kind if counts[what])
    last = f"the last {'run' if len(states) == 1 else f'{len(states)} runs, oldest first'}"
    return f"{last[0].upper()}{last[1:]}: {said}"


def _outline(what: Kind, x: int) -> str:
    match what:
        case Kind.FINE:
            return f"M{x} 4h5v14h-5z"
        case Kind.FAILED:  # a notch from the right
            return f"M{x} 2h5v5h-3v3h3v8h-5z"
        case Kind.ASK:
            return f"M{x} 11l2.5-7 2.5 7-2.5 7z"
        case Kind.LATE:
            return f"M{x} 8h5v10h-5z"
        case Kind.RUN:
            return f"M{x} 12h5v6h-5z"
        case Kind.ASIDE:
            return f"M{x + 1} 15h3v3h-3z"
