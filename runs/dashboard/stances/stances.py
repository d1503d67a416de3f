"""How a job stands, in one word. PURE.

The words of the Overview for one job: it is fine when it counts among the fine there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Stance(StrEnum):
    """How a job stands, the worst first; of several that are so, the first one is told."""

    REVIEW = "review"
    FAILING = "failing"
    LATE = "late"
    DEAD = "dead"
    RETRYING = "retrying"
    PAUSED = "paused"
    HELD = "held"
    NEW = "new"
    ENDED = "ended"
    FINE = "fine"


class Look(NamedTuple):
    """Its word, its glyph in templates/_glyphs.html, and the class of its colour."""

    word: str
    glyph: str
    colour: str


LOOKS = {
    Stance.REVIEW: Look("Needs review", "review", "review"),
    Stance.FAILING: Look("Failing", "failed", "failed"),
    Stance.LATE: Look("Late", "waiting", "waiting"),
    Stance.DEAD: Look("Dead letters", "letters", "dead"),
    Stance.RETRYING: Look("Retrying", "retrying", "retrying"),
    Stance.PAUSED: Look("Paused", "paused", "paused"),
    Stance.HELD: Look("On hold", "paused", "paused"),
    Stance.NEW: Look("Not run yet", "claimed", "claimed"),
    Stance.ENDED: Look("Ended", "finished", "finished"),
    Stance.FINE: Look("Fine", "succeeded", "succeeded"),
}

TROUBLE = (Stance.REVIEW, Stance.FAILING, Stance.LATE, Stance.DEAD, Stance.RETRYING)


def worst(counts: Mapping[Stance, int]) -> Stance | None:
    """How many jobs stand as one: the worst trouble that any of them has; without any, fine where
    one is; None for no job. One that is paused is no trouble of those that are fine."""
    order = (*TROUBLE, Stance.FINE, *Stance)
    return next((stance for stance in order if counts.get(stance)), None)


def counted(stance: Stance, count: int) -> str:
    """So many jobs stand so, in words: `2 need review`, `148 fine`."""
    match stance:
        case Stance.REVIEW:
            return f"{count:,} need{'s' if count == 1 else ''} review"
        case Stance.DEAD:
            return f"{count:,} with dead letters"
        case _:
            return f"{count:,} {LOOKS[stance].word.lower()}"
