"""What a run becomes by the outcome of its attempt: the table of DESIGN «life of a run». PURE.

The closed set of endings is matched here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runs import backoff
from runs.outcomes import Effect, Kind, Outcome
from runs.states import ReviewClass, State


@dataclass(frozen=True)
class Facts:
    """What the verdict depends on, as the run stood when the attempt ended."""

    idempotent: bool
    retry_unsent: bool
    failures: int
    max_attempts: int
    backoff: float
    cap: float
    effect: Effect
    intent: bool
    stop_asked: bool
    age: float  # seconds since it was first attempted, of late: what `deadline` bounds
    deadline: float = 86_400.0  # seconds in which «ask again later» is no failure


@dataclass(frozen=True)
class Verdict:
    """The next state, with the columns that go with it. `wait`: seconds until it is sent;
    `fault`: why that is the default one, for the log."""

    state: State
    effect: Effect
    failures: int
    reason: str = ""
    wait: float = 0.0
    review_class: str = ""
    fault: str = ""


def of(outcome: Outcome, facts: Facts, *, dice: float) -> Verdict:
    """The verdict on an attempt. `dice` from [0, 1) sets the jitter of a retry."""
    effect = _sticky(facts.effect, outcome.effect)
    if outcome.kind is Kind.SUCCEEDED:
        return Verdict(State.SUCCEEDED, Effect.DONE, facts.failures)
    if facts.stop_asked and (facts.idempotent or effect is Effect.NONE):
        reason = f"Stopped as asked. {outcome.reason}"
        return Verdict(State.CANCELLED, effect, facts.failures, reason)
    if outcome.kind is Kind.LATER and facts.idempotent and facts.age < facts.deadline:
        return _again(outcome, effect, facts.failures, lambda: _later(outcome, facts))
    failures = facts.failures + 1
    if not _may_repeat(outcome, facts):
        review_class = _class(outcome, facts)
        return Verdict(State.REVIEW, effect, failures, outcome.reason, review_class=review_class)
    if outcome.kind is Kind.REFUSED or failures >= facts.max_attempts:
        if not facts.idempotent:
            review_class = ReviewClass.NOT_SENT
            return Verdict(
                State.REVIEW, effect, failures, outcome.reason, review_class=review_class
            )
        return Verdict(State.DEAD, effect, failures, outcome.reason)
    if outcome.kind is Kind.LOST and not facts.idempotent:
        return Verdict(State.CLAIMED, effect, failures, outcome.reason)
    return _again(outcome, effect, failures, lambda: _wait(outcome, facts, failures, dice))


def _again(outcome: Outcome, effect: Effect, failures: int, wait: Callable[[], float]) -> Verdict:
    """To be tried again after `wait`; a fault in working that out ends no run."""
    try:
        seconds, fault = wait(), ""
    except Exception as error:
        seconds, fault = backoff.DEFAULT, f"{type(error).__name__}: {error}"
    return Verdict(State.RETRYING, effect, failures, outcome.reason, seconds, fault=fault)


def _may_repeat(outcome: Outcome, facts: Facts) -> bool:
    if facts.idempotent:
        return True
    if outcome.kind is Kind.NOT_SENT:
        return facts.retry_unsent
    return outcome.kind is Kind.LOST and not facts.intent


def _class(outcome: Outcome, facts: Facts) -> ReviewClass:
    match outcome.kind:
        case Kind.NOT_SENT:
            return ReviewClass.NOT_SENT
        case Kind.REFUSED:
            return ReviewClass.REFUSED
        # 429, a task that is not ready: not now, and nothing was done
        case Kind.FAILED | Kind.LATER if outcome.effect is Effect.NONE:
            return ReviewClass.REFUSED
        case Kind.FAILED | Kind.LATER:
            return ReviewClass.FAILED
        case _:
            return ReviewClass.UNKNOWN


def _later(outcome: Outcome, facts: Facts) -> float:
    # Unless it says when: the longer it takes, the longer the waits, else a day is of thousands.
    asked = outcome.retry_after
    if asked is None:
        asked = max(facts.backoff, facts.age / 10)
    return max(backoff.SHORTEST_LATER, backoff.asked_for(asked, cap=facts.cap))


def _wait(outcome: Outcome, facts: Facts, failures: int, dice: float) -> float:
    jittered = backoff.delay(failures, base=facts.backoff, cap=facts.cap, dice=dice)
    if outcome.retry_after is None:
        return jittered
    return backoff.asked_for(max(outcome.retry_after, jittered), cap=facts.cap)


def _sticky(earlier: Effect, this: Effect) -> Effect:
    # Once an earlier attempt may have acted, a later one that surely did not proves nothing.
    return max(earlier, this, key=list(Effect).index)
