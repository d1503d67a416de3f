"""The table of endings, as a table of tests (README, «How is it decided …»)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runs import verdicts
from runs.outcomes import Effect, Kind, Outcome
from runs.states import EDGES, State
from runs.verdicts import Facts

IDEMPOTENT = Facts(
    idempotent=True,
    retry_unsent=False,
    stop_asked=False,
    failures=0,
    max_attempts=3,
    backoff=10,
    cap=60,
    effect=Effect.NONE,
    intent=True,
    age=5,
    deadline=86_400,
)
NOT = replace(IDEMPOTENT, idempotent=False)
NOT_SENT = Outcome(Kind.NOT_SENT, Effect.NONE, "no such host")
REFUSED = Outcome(Kind.REFUSED, Effect.NONE, "404")
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")
BUSY = Outcome(Kind.FAILED, Effect.NONE, "429", status=429)
UNKNOWN = Outcome(Kind.UNKNOWN, Effect.MAYBE, "no answer")
LATER = Outcome(Kind.LATER, Effect.MAYBE, "still at it")
NOT_YET = Outcome(Kind.LATER, Effect.NONE, "not ready")
LOST_AFTER = Outcome(Kind.LOST, Effect.MAYBE, "silent")
LOST_BEFORE = Outcome(Kind.LOST, Effect.NONE, "silent")
DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")


@pytest.mark.parametrize(
    ("outcome", "facts", "state", "review_class"),
    [
        (DONE, IDEMPOTENT, State.SUCCEEDED, ""),
        (DONE, NOT, State.SUCCEEDED, ""),
        (NOT_SENT, IDEMPOTENT, State.RETRYING, ""),
        (NOT_SENT, replace(IDEMPOTENT, failures=2), State.DEAD, ""),
        (NOT_SENT, NOT, State.REVIEW, "not sent"),
        (NOT_SENT, replace(NOT, retry_unsent=True), State.RETRYING, ""),
        (NOT_SENT, replace(NOT, retry_unsent=True, failures=2), State.REVIEW, "not sent"),
        (FAILED, IDEMPOTENT, State.RETRYING, ""),
        (FAILED, replace(IDEMPOTENT, failures=2), State.DEAD, ""),
        (FAILED, NOT, State.REVIEW, "failed"),
        (FAILED, replace(NOT, retry_unsent=True), State.REVIEW, "failed"),
        (BUSY, IDEMPOTENT, State.RETRYING, ""),
        (BUSY, NOT, State.REVIEW, "refused"),
        (UNKNOWN, IDEMPOTENT, State.RETRYING, ""),
        (UNKNOWN, NOT, State.REVIEW, "unknown"),
        (LOST_AFTER, IDEMPOTENT, State.RETRYING, ""),
        (LOST_AFTER, replace(IDEMPOTENT, failures=2), State.DEAD, ""),
        (LOST_AFTER, NOT, State.REVIEW, "unknown"),
        (LOST_BEFORE, replace(NOT, intent=False), State.CLAIMED, ""),
        (LOST_BEFORE, replace(NOT, intent=False, failures=2), State.REVIEW, "not sent"),
        (REFUSED, IDEMPOTENT, State.DEAD, ""),
        (REFUSED, NOT, State.REVIEW, "refused"),
        (LATER, IDEMPOTENT, State.RETRYING, ""),
        (LATER, replace(IDEMPOTENT, age=90_000, failures=2), State.DEAD, ""),
        (LATER, replace(IDEMPOTENT, age=60, deadline=60), State.RETRYING, ""),
        (LATER, NOT, State.REVIEW, "failed"),
        (NOT_YET, IDEMPOTENT, State.RETRYING, ""),
        (NOT_YET, NOT, State.REVIEW, "refused"),
    ],
)
def test_an_outcome_becomes(
    outcome: Outcome, facts: Facts, state: State, review_class: str
) -> None:
    verdict = verdicts.of(outcome, facts, dice=0.5)
    assert (verdict.state, verdict.review_class) == (state, review_class)
    assert verdict.state in EDGES[State.RUNNING]


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("intent", [True, False])
@pytest.mark.parametrize("failures", [0, 2, 7])
def test_an_effect_that_was_begun_and_is_not_safe_never_goes_on_by_itself(
    kind: Kind, intent: bool, failures: int
) -> None:
    facts = replace(NOT, intent=intent, failures=failures)
    verdict = verdicts.of(Outcome(kind, Effect.MAYBE, "x"), facts, dice=0.1)
    if intent and kind not in (Kind.SUCCEEDED, Kind.NOT_SENT):
        assert verdict.state is State.REVIEW
    assert verdict.state is not State.DEAD


@pytest.mark.parametrize("outcome", [NOT_SENT, FAILED, UNKNOWN, LOST_AFTER, REFUSED, BUSY])
def test_a_failure_counts_and_asking_for_later_does_not(outcome: Outcome) -> None:
    assert verdicts.of(outcome, IDEMPOTENT, dice=0.5).failures == 1
    assert verdicts.of(LATER, IDEMPOTENT, dice=0.5).failures == 0


def test_who_says_later_is_asked_again_as_he_says_or_ever_more_seldom() -> None:
    def wait(age: float, retry_after: float | None = None) -> float:
        later = replace(LATER, retry_after=retry_after)
        return verdicts.of(later, replace(IDEMPOTENT, age=age, cap=3600), dice=0.5).wait

    assert [wait(1), wait(200), wait(80_000)] == [10, 20, 3600]
    assert [wait(200, 5), wait(200, 0), wait(1, 10_000)] == [5, 1, 3600]


def test_a_maybe_sticks_though_a_later_attempt_was_surely_not_sent() -> None:
    facts = replace(IDEMPOTENT, effect=Effect.MAYBE)
    assert verdicts.of(NOT_SENT, facts, dice=0.5).effect is Effect.MAYBE
    assert verdicts.of(DONE, facts, dice=0.5).effect is Effect.DONE


def test_the_wait_is_the_longer_of_jitter_and_retry_after_within_the_cap() -> None:
    def wait(retry_after: float | None, dice: float = 0.5) -> float:
        return verdicts.of(replace(FAILED, retry_after=retry_after), IDEMPOTENT, dice=dice).wait

    assert wait(None) == 5
    assert wait(20) == 20
    assert wait(1) == 5
    assert wait(10_000) == 60
