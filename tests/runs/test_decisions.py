"""What people do with runs: decide, replay, discard, cancel, run now. Each once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal

import pytest
from django.db import connection

from jobs import editing
from jobs.models import User
from runs import by_hand, cancel
from runs.decisions import NoteMissing, Stale
from runs.letters import replay
from runs.models import Decision, IdempotencyKey, Run
from runs.review import deciding
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

Choice = Literal["happened", "run_again", "close"]


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def run(state: State, *, idempotent: bool = True, **columns: Any) -> Run:
    return make.run(make.job(make.team(), idempotent=idempotent), state, **columns)


def in_review(**columns: Any) -> Run:
    return run(State.REVIEW, idempotent=False, **columns)


@pytest.mark.parametrize(
    ("choice", "state"),
    [("happened", "SUCCEEDED"), ("run_again", "CLAIMED"), ("close", "CLOSED")],
)
def test_a_decision_moves_the_run_and_is_recorded(
    operator: User, choice: Choice, state: str
) -> None:
    rested = in_review(failures=3)
    decided = deciding.decide(rested.id, choice, token=1, note=" seen in the ledger ", by=operator)
    assert decided.state == state
    assert (decided.finished_at is None) == (state == "CLAIMED")
    row = Decision.objects.get()
    assert (row.by, row.decision, row.note) == (operator, choice, "seen in the ledger")
    assert (row.from_state, row.to_state, row.attempt) == ("REVIEW", state, 1)


def test_run_again_is_the_same_run_with_the_same_key_and_fresh_attempts(operator: User) -> None:
    rested = in_review(failures=3)
    again = deciding.decide(rested.id, "run_again", token=None, note="it did not", by=operator)
    assert (again.key, again.attempt, again.failures) == (rested.key, 1, 0)
    assert again.send_at is not None


def test_what_happened_settles_the_key(operator: User) -> None:
    rested = in_review()
    deciding.decide(rested.id, "happened", token=None, note="seen", by=operator)
    assert IdempotencyKey.objects.get(key=rested.key).state == "done"


@pytest.mark.parametrize("note", ["", "  "])
def test_a_decision_needs_a_note(operator: User, note: str) -> None:
    rested = in_review()
    with pytest.raises(NoteMissing):
        deciding.decide(rested.id, "close", token=None, note=note, by=operator)
    rested.refresh_from_db()
    assert rested.state == "REVIEW"


def test_a_decision_about_an_attempt_that_is_over_is_told_the_one_there_is(
    operator: User,
) -> None:
    rested = in_review(attempt=3)
    with pytest.raises(Stale, match=r"^The run is at attempt 3 by now\.$"):
        deciding.decide(rested.id, "close", token=2, note="late", by=operator)


@pytest.mark.parametrize(
    ("choice", "said"),
    [("happened", "it happened"), ("run_again", "run it again"), ("close", "closed")],
)
def test_who_was_faster_is_told_in_words(operator: User, choice: Choice, said: str) -> None:
    rested = in_review()
    deciding.decide(rested.id, choice, token=1, note="looked", by=operator)
    with pytest.raises(Stale, match=rf"operator decided “{said}” at 20..-.*Z\."):
        deciding.decide(rested.id, "close", token=1, note="twice", by=operator)


def test_a_stale_decision_is_told_who_was_faster(operator: User) -> None:
    rested = in_review()
    deciding.decide(rested.id, "run_again", token=1, note="it did not", by=operator)
    with pytest.raises(Stale, match=r"CLAIMED by now\. operator decided “run it again”"):
        deciding.decide(rested.id, "close", token=1, note="twice", by=operator)


def test_a_decision_on_an_older_attempt_is_stale(operator: User) -> None:
    rested = in_review()
    Run.objects.filter(id=rested.id).update(attempt=2)
    with pytest.raises(Stale):
        deciding.decide(rested.id, "run_again", token=1, note="old page", by=operator)


def test_a_replay_is_the_same_run_with_the_same_key(operator: User) -> None:
    dead = run(State.DEAD)
    again = replay.replay(dead.id, token=dead.attempt, note="", by=operator)
    assert (again.id, again.key, again.state, again.failures) == (dead.id, dead.key, "CLAIMED", 0)


def test_a_discarded_letter_is_closed_with_the_reason(operator: User) -> None:
    dead = run(State.DEAD)
    closed = replay.discard(dead.id, token=None, note="the book is closed", by=operator)
    assert (closed.state, closed.reason) == ("CLOSED", "Discarded: the book is closed")


@pytest.mark.parametrize("state", [State.CLAIMED, State.ENQUEUED, State.RETRYING])
def test_what_has_not_started_can_be_cancelled(operator: User, state: State) -> None:
    assert cancel.cancel(run(state).id, by=operator).state == "CANCELLED"


@pytest.mark.parametrize("state", [State.RUNNING, State.SUCCEEDED, State.DEAD])
def test_what_runs_or_rests_cannot(operator: User, state: State) -> None:
    with pytest.raises(Stale):
        cancel.cancel(run(state).id, by=operator)


def test_run_now_has_a_key_of_its_own_and_no_moment(operator: User) -> None:
    job = make.job(make.team())
    first, second = (by_hand.run_now(job.id, by=operator) for _ in range(2))
    assert first.key != second.key
    assert first.key.startswith(f"{job.id}:hand:")
    assert (first.due_at, first.origin, first.snapshot) == (None, "hand", job.target)


def test_a_deleted_job_cannot_be_run(operator: User) -> None:
    job = make.job(make.team())
    editing.delete(job.id, by=operator)
    with pytest.raises(editing.Gone):
        by_hand.run_now(job.id, by=operator)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("arrow", ["decide", "replay", "cancel"])
def test_of_two_clicks_at_once_one_wins(arrow: str) -> None:
    operator = make.operator(make.team())
    state = {"decide": State.REVIEW, "replay": State.DEAD, "cancel": State.ENQUEUED}[arrow]
    rested = run(state, idempotent=arrow != "decide")
    clicks: dict[str, Callable[[], Run]] = {
        "decide": lambda: deciding.decide(rested.id, "run_again", token=1, note="x", by=operator),
        "replay": lambda: replay.replay(rested.id, token=None, note="", by=operator),
        "cancel": lambda: cancel.cancel(rested.id, by=operator),
    }
    outcomes: list[str] = []
    start = threading.Barrier(2)

    def click() -> None:
        start.wait(timeout=30)
        try:
            outcomes.append(clicks[arrow]().state)
        except Stale:
            outcomes.append("stale")
        connection.close()

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert sorted(outcomes) == sorted(["stale", "CANCELLED" if arrow == "cancel" else "CLAIMED"])
    assert Decision.objects.count() == 1
