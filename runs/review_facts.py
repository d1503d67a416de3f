"""What a person who must decide about a run knows, and what nobody knows. PURE."""

from __future__ import annotations

from dataclasses import dataclass

from runs.outcomes import Effect
from runs.states import ReviewClass


@dataclass(frozen=True)
class Facts:
    """One sentence each, and what the three decisions are called for such a run."""

    known: str
    unknown: str
    happened: str = "It happened. Mark it done."
    run_again: str = "It did not happen. Run it again with the same key."
    close: str = "Neither. Close it with a note."


def of(review_class: str, effect: str) -> Facts:
    """The facts of a run in REVIEW by its class; an earlier attempt that may have taken effect
    outweighs a last one that surely did not."""
    facts = _BY_CLASS[ReviewClass(review_class)]
    if effect == Effect.MAYBE and not facts.unknown:
        return Facts(facts.known, "Whether an earlier attempt of this run took effect.")
    return facts


_BY_CLASS = {
    ReviewClass.NOT_SENT: Facts("Nothing reached the target: the call was never sent.", ""),
    ReviewClass.REFUSED: Facts("The target answered, and refused: it says it did nothing.", ""),
    ReviewClass.FAILED: Facts(
        "The call was sent, and the target answered that it failed.",
        "Whether the target acted before it failed.",
    ),
    ReviewClass.UNKNOWN: Facts(
        "The call was begun, and no whole answer came back.", "Whether the target acted."
    ),
    ReviewClass.MISSED: Facts(
        "The moment passed while no beat was at work. Nothing was sent.",
        "",
        happened="It happened elsewhere. Mark it done.",
        run_again="Make it up: run it now with the key of its moment.",
        close="Let it go: close it with a note.",
    ),
}
