"""How a job stands, in one word. PURE.

The words of the Overview for one job: it is fine when it counts among the fine there.
"""

from __future__ import annotations

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
