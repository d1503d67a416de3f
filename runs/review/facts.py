"""What a person who must decide about a run knows, and what nobody knows. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from runs.outcomes import Effect, Kind
from runs.states import ReviewClass


@dataclass(frozen=True)
class Facts:
    """One sentence each, and what the decisions are called for such a run."""

    known: str
    unknown: str
    happened: str = "It happened. Mark it done."
    run_again: str = "It did not happen. Run it again with the same key."
    close: str = "Partly. Close it with a note."
    escalate: str = "Not sure. Pass it on."


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


@dataclass(frozen=True)
class Seen:
    """What has been looked at of a run in review. `unknown` is its Facts' own; `probe` what the
    job's probe said last, empty where it was not asked, None where the job names none."""

    unknown: str
    phase: Phase | None
    under_way: bool
    probe: str | None
    key_proven: bool


def open_questions(seen: Seen) -> list[str]:
    """What nobody knows, a sentence each, the question itself first; none where nothing is open."""
    asked = [seen.unknown] if seen.unknown else []
    if seen.phase is Phase.BEGUN:
        asked.append("How much of the request left this host.")
    if seen.phase is Phase.ANSWERING:
        asked.append("What the rest of the answer would have said.")
    if seen.under_way:
        asked.append("Whether the call is still under way.")
    if seen.unknown:
        asked += [_OF_PROBE[seen.probe]] if seen.probe in _OF_PROBE else []
        asked += [] if seen.key_proven else ["Whether this target acts once for a key."]
    return asked


_OF_PROBE: dict[str | None, str] = {
    None: "What the target itself would say: the job names no probe to ask.",
    "": "What the probe says: it has not been asked yet.",
    "cannot_tell": "What the target itself knows: its probe cannot tell.",
}


class Phase(StrEnum):
    """How far an attempt came, as far as its evidence tells."""

    PREPARING = "preparing"  # nothing was sent: the intent was not written, or the line broke
    BEGUN = "begun"  # the intent was written; what followed, nobody heard
    SENDING = "sending"
    SENT = "sent"
    ANSWERING = "answering"
    ANSWERED = "answered"


PHASE_WORDS = {
    Phase.PREPARING: "It was being prepared. Nothing was sent.",
    Phase.BEGUN: "It had begun. How much was sent, nobody knows.",
    Phase.SENDING: "It was being sent.",
    Phase.SENT: "It was sent whole. No answer began.",
    Phase.ANSWERING: "It was sent whole, and an answer had begun.",
    Phase.ANSWERED: "It was sent whole, and answered.",
}
_BROKEN_IN = {
    "sending": Phase.SENDING,
    "waiting": Phase.SENT,
    "reading": Phase.ANSWERING,
}
_ANSWERED = (Kind.SUCCEEDED, Kind.FAILED, Kind.REFUSED, Kind.LATER)
_BY_A_GATEWAY = (408, 502, 503, 504)  # who answers so may have given up on one still at work


@dataclass(frozen=True)
class Tried:
    """What an attempt left behind. `lease_until`: as its last heartbeat had it."""

    outcome: str
    started_at: datetime
    intent_at: datetime | None
    ended_at: datetime | None
    lease_until: datetime | None
    answer: Mapping[str, object]


def phase(tried: Tried) -> Phase:
    """How far it came."""
    if tried.intent_at is None or tried.outcome == Kind.NOT_SENT:
        return Phase.PREPARING
    broken = tried.answer.get("phase")
    if isinstance(broken, str) and broken in _BROKEN_IN:
        return _BROKEN_IN[broken]
    answered = tried.outcome in _ANSWERED or "status" in tried.answer
    return Phase.ANSWERED if answered else Phase.BEGUN


def bytes_sent(tried: Tried) -> int | None:
    """How many bytes of the request left this host; None where nobody counted."""
    counted = tried.answer.get("bytes_sent")
    if isinstance(counted, int):
        return counted
    return 0 if phase(tried) is Phase.PREPARING else None


def under_way_until(tried: Tried, timeout: float) -> datetime | None:
    """The last moment at which its effect could still be under way; None: it never could.

    Whoever has answered is done. Where nobody has, the target may be at work, and a worker that
    fell silent may be alive, for as long as the attempt might take (`timeout` seconds).
    """
    if phase(tried) is Phase.PREPARING or tried.outcome == Kind.REFUSED:
        return None
    at_the_door = tried.answer.get("status") in _BY_A_GATEWAY
    if tried.outcome == Kind.FAILED and tried.ended_at is not None and not at_the_door:
        return tried.ended_at
    longest = tried.started_at + timedelta(seconds=timeout)
    return max(at for at in (longest, tried.ended_at, tried.lease_until) if at is not None)
