"""Where markers stand in a picture: pure geometry, drawn by a template. PURE.

A thin line for each, and above the picture flags that number them. Flags that would cover each
other are one: `2–4`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

ROOM = 34.0  # of a flag with its number, in a picture that is as wide as its units say
SHARE = 0.09  # of the width: the same on a phone, where the picture is squeezed

Thing = TypeVar("Thing")
Mark = TypeVar("Mark")


@dataclass(frozen=True)
class Flag:
    """One flag, at `x` hundredths of the width, for the markers numbered `first` to `last`."""

    x: float
    first: int
    last: int

    @property
    def label(self) -> str:
        """Which markers it is for."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Row(Generic[Thing, Mark]):
    """A row of a table of things: one of them, or the marker of this number between them."""

    thing: Thing | None = None
    mark: Mark | None = None
    number: int = 0


def flags(places: Sequence[float], width: float) -> list[Flag]:
    """The flags of markers at these places of a picture, in its units and ascending. None stands
    so far right that its number would be cut off."""
    room = max(ROOM, width * SHARE)
    found: list[Flag] = []
    for number, place in enumerate(places, 1):
        x = min(max(0.0, place), max(0.0, width - room))
        if found and x - found[-1].x * width / 100 < room:
            found[-1] = Flag(found[-1].x, found[-1].first, number)
        else:
            found.append(Flag(round(x / width * 100, 2) if width else 0.0, number, number))
    return found


def among(starts: Sequence[float], at: float) -> int:
    """How many of the things that began at these instants, ascending, began by `at`."""
    return bisect_right(starts, at)


def along(at: float, since: float, until: float, width: float) -> float:
    """Where an instant stands on a line from `since` to `until`, in units of `width`."""
    share = (at - since) / ((until - since) or 1.0)
    return round(min(max(share, 0.0), 1.0) * width, 1)


def between(places: Sequence[int], step: float) -> list[float]:
    """The same of things side by side, a `step` each: in the gap before the one at this place."""
    return [max(0.5, round(place * step - 1, 1)) for place in places]


def mixed(
    things: Sequence[Thing], marks: Sequence[Mark], places: Sequence[int]
) -> list[Row[Thing, Mark]]:
    """Things and markers as rows in one order: each marker before the thing at its place."""
    rows = [
        (place, 0, Row[Thing, Mark](mark=mark, number=number))
        for number, (mark, place) in enumerate(zip(marks, places, strict=True), 1)
    ]
    rows += [(place, 1, Row[Thing, Mark](thing=thing)) for place, thing in enumerate(things)]
    rows.sort(key=lambda row: row[:2])
    return [row for *_, row in rows]
