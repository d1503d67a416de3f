"""The story of one run, told from its rows: what happened when, how long between, and what that
time was spent on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from runs import passages
from runs.decisions import STOP, said
from runs.models import Attempt, Decision, Run
from runs.states import Origin, State


class Step(StrEnum):
    """What kind of thing happened."""

    DUE = "due"
    BORN = "born"
    WAITS = "waits"
    TURN = "turn"
    SENT = "sent"
    STARTED = "started"
    BEGUN = "begun"
    ANSWERED = "answered"
    DECIDED = "decided"
    OTHER = "other"


@dataclass(frozen=True)
class Entry:
    """One thing that happened. `glyph` names a state whose sign fits it; `gap` is the time
    since the entry before it, and `spent` the words that name it, around its length."""

    at: datetime
    glyph: str
    title: str
    detail: str = ""
    step: Step = Step.OTHER
    gap: timedelta | None = None
    spent: tuple[str, str] = ("", "later")


def tell(run: Run, attempts: Iterable[Attempt], decisions: Iterable[Decision]) -> list[Entry]:
    """The entries, oldest first."""
    found = [*_birth(run), *_sending(run), *_waiting(run)]
    for attempt in attempts:
        found += _attempt(attempt)
    if run.accepted_at:
        found.append(
            Entry(run.accepted_at, "running", "The target took it on", "and reports later")
        )
    found += _rest(run, max(entry.at for entry in found))
    decisions = list(decisions)
    if run.stop_asked_at and all(decision.decision != STOP for decision in decisions):
        detail = "the next moment came, and takes its place"
        found.append(Entry(run.stop_asked_at, "cancelled", "Asked to stop", detail))
    found += [_decision(decision) for decision in decisions]
    found.sort(key=lambda entry: entry.at)  # stable: of two at one instant the cause stands first
    if run.finished_at:  # last, though the decision that ended it is written a moment later
        found.append(_ending(run, run.finished_at))
    return [*found[:1], *(_after(before, entry) for before, entry in pairwise(found))]


def asker(run: Run) -> str:
    """The beat that wrote it down, or who asked for it by hand; empty where that is not known."""
    first = next(passages.read(run.passed), None)
    return first.who if first else ""


_BORN: dict[str, str] = {
    Origin.HAND: "Asked for by hand",
    Origin.BACKFILL: "Written down by a backfill",
}


def _birth(run: Run) -> Iterator[Entry]:
    if run.due_at:
        yield Entry(run.due_at, "claimed", "Due", step=Step.DUE)
    title = _BORN.get(run.origin, "Written down by a beat")
    by = f", by {who}" if (who := asker(run)) else ""
    about = f"version {run.job_version} of the job{by}"
    yield Entry(run.created_at, "claimed", title, about, Step.BORN)


def _sending(run: Run) -> Iterator[Entry]:
    title = f"Sent to the queue {run.queue}"
    sent = [one for one in passages.read(run.passed) if one.state is State.ENQUEUED]
    for passage in sent:
        yield Entry(passage.at, "enqueued", title, f"by {passage.who}", Step.SENT)
    if run.sent_at and not sent:  # from before each time was kept
        times = f"sent {run.sends} times, this was the last" if run.sends > 1 else ""
        yield Entry(run.sent_at, "enqueued", title, times, Step.SENT)


def _waiting(run: Run) -> Iterator[Entry]:
    """When it was made to wait, and when that was over."""
    before = None
    for passage in passages.read(run.passed):
        if passage.state is State.WAITING:
            yield Entry(passage.at, "waiting", "Waits", step=Step.WAITS)
        elif passage.state is State.CLAIMED and before is State.WAITING:
            yield Entry(passage.at, "claimed", "Its turn has come", step=Step.TURN)
        elif passage.state is State.CLAIMED and before is State.RUNNING:
            detail = "nothing had begun: it is sent once more"
            yield Entry(passage.at, "claimed", "Taken back from its worker", detail, Step.TURN)
        before = passage.state


def _attempt(attempt: Attempt) -> Iterator[Entry]:
    name = f"Attempt {attempt.number}"
    yield Entry(
        attempt.started_at, "running", f"{name} started", f"on {attempt.worker}", Step.STARTED
    )
    if attempt.intent_at:
        detail = "from here on it may have taken effect"
        yield Entry(attempt.intent_at, "running", f"{name} began the call", detail, Step.BEGUN)
    if attempt.reported_at:
        title = f"{name}: its target reported"
        yield Entry(attempt.reported_at, "running", title, step=Step.ANSWERED)
    if attempt.ended_at:
        glyph = glyph_of(attempt.outcome)
        effect = f"effect: {attempt.effect}" if attempt.effect else ""
        detail = " · ".join(part for part in (attempt.reason, effect) if part)
        yield Entry(attempt.ended_at, glyph, f"{name}: {attempt.outcome}", detail, Step.ANSWERED)


def _decision(decision: Decision) -> Entry:
    who = decision.by.get_username() if decision.by else "Somebody who is gone"
    glyph = State(decision.to_state).lower()
    title = f"{who} decided: {said(decision)}"
    return Entry(decision.at, glyph, title, decision.note, Step.DECIDED)


def _rest(run: Run, latest: datetime) -> Iterator[Entry]:
    """Where it rests until a person acts; `latest` is when its last attempt ended, which is
    written a moment after the move."""
    if run.state == State.DEAD and run.died_at:
        used_up = run.failures >= run.max_attempts
        detail = "its attempts are used up" if used_up else "it is not tried again by itself"
        yield Entry(max(run.died_at, latest), "dead", "Dead letter", detail)
    if run.state == State.REVIEW and run.review_at:
        detail = "nothing is sent before a person decides"
        yield Entry(max(run.review_at, latest), "review", "Needs review", detail)


def _ending(run: Run, at: datetime) -> Entry:
    return Entry(at, run.state.lower(), f"Ended: {run.state.lower()}", run.reason)


def _after(before: Entry, entry: Entry) -> Entry:
    gap = entry.at - before.at
    shown = gap if gap >= timedelta(milliseconds=1) else None
    return replace(entry, gap=shown, spent=_SPENT.get((before.step, entry.step), ("", "later")))


_SPENT = {
    (Step.DUE, Step.BORN): ("waited", "for a beat"),
    (Step.BORN, Step.SENT): ("waited", "to be sent"),
    (Step.TURN, Step.SENT): ("waited", "to be sent"),
    (Step.WAITS, Step.TURN): ("waited", "for its turn"),
    (Step.SENT, Step.STARTED): ("waited", "for a worker"),
    (Step.SENT, Step.SENT): ("nobody took it for", ""),
    (Step.STARTED, Step.BEGUN): ("made ready in", ""),
    (Step.BEGUN, Step.ANSWERED): ("the call took", ""),
    (Step.ANSWERED, Step.SENT): ("waited", "before it was tried again"),
    (Step.ANSWERED, Step.STARTED): ("waited", "before it was tried again"),
    (Step.ANSWERED, Step.DECIDED): ("waited", "for a decision"),
    (Step.DECIDED, Step.SENT): ("waited", "to be sent"),
}


def glyph_of(outcome: str) -> str:
    """What an outcome of a call is drawn as."""
    return _GLYPHS.get(outcome, "failed")


_GLYPHS = {"succeeded": "succeeded", "unknown": "review", "lost": "review", "later": "retrying"}
