"""Waiting runs get their turn: at every exit, at every decision, and never too early."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, editing
from jobs.models import Job, User
from runs import by_hand, cancel, release, rescue, settle, start
from runs.letters import replay
from runs.models import Attempt, Decision, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.review import deciding
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
REFUSED = Outcome(Kind.REFUSED, Effect.NONE, "404")
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def job(overlap: str = "queue_all", **changes: Any) -> Job:
    return make.job(make.team(), name=f"job {uuid4()}", overlap=overlap, **changes)


def at(minute: int) -> datetime:
    return clock.now().replace(microsecond=0) + timedelta(minutes=minute)


def run(of: Job, state: State, minute: int, **columns: Any) -> Run:
    made = make.run(of, state, origin="schedule", due_at=at(minute), **columns)
    if made.lease_id is not None:
        Attempt.objects.create(
            run=made, number=1, lease_id=made.lease_id, worker="w", started_at=clock.now()
        )
    return made


def state(of: Run) -> str:
    of.refresh_from_db()
    return of.state


def settled(outcome: Outcome) -> Callable[[Run, User], object]:
    return lambda run, by: settle.attempt(run.id, run.attempt, outcome)


def silent(run: Run, by: User) -> object:
    Run.objects.filter(id=run.id).update(lease_until=clock.now() - timedelta(seconds=1))
    return rescue.silent_workers()


def deleted(run: Run, by: User) -> object:
    editing.delete(run.job_id, by=by)
    return start.run(run.id, worker="w")


EXITS: list[tuple[State, bool, Callable[[Run, User], object], str]] = [
    (State.RUNNING, True, settled(DONE), "SUCCEEDED"),
    (State.RUNNING, True, settled(REFUSED), "DEAD"),
    (State.RUNNING, False, settled(FAILED), "REVIEW"),
    (State.RUNNING, False, silent, "REVIEW"),
    (State.ENQUEUED, True, lambda run, by: cancel.cancel(run.id, by=by), "CANCELLED"),
    (State.RETRYING, True, lambda run, by: cancel.cancel(run.id, by=by), "CANCELLED"),
    (State.ENQUEUED, True, deleted, "CANCELLED"),
]


@pytest.mark.parametrize(("before", "idempotent", "leave", "after"), EXITS)
def test_every_exit_from_the_active_states_releases_the_oldest_that_waits(
    operator: User,
    before: State,
    idempotent: bool,
    leave: Callable[[Run, User], object],
    after: str,
) -> None:
    of = job(idempotent=idempotent)
    active = run(of, before, 0, **({"intent_at": clock.now()} if not idempotent else {}))
    later, sooner = run(of, State.WAITING, 2), run(of, State.WAITING, 1)
    leave(active, operator)
    assert (state(active), state(sooner), state(later)) == (after, "CLAIMED", "WAITING")
    assert (sooner.serial, sooner.reason, sooner.blocked_by) == (True, "", None)
    assert (later.blocked_by, str(sooner.id) in later.reason) == (sooner.id, True)


@pytest.mark.parametrize("outcome", [FAILED, Outcome(Kind.LATER, Effect.MAYBE, "busy")])
def test_a_run_that_waits_for_its_retry_is_active_and_releases_none(outcome: Outcome) -> None:
    of = job()
    active, waiting = run(of, State.RUNNING, 0), run(of, State.WAITING, 1)
    settle.attempt(active.id, 1, outcome)
    assert (state(active), state(waiting)) == ("RETRYING", "WAITING")


def blocked(overlap: str) -> tuple[Run, list[Run]]:
    """A run in review and two moments that wait behind it."""
    of = job(overlap, idempotent=False, block_on_review=True)
    return run(of, State.REVIEW, 0), [run(of, State.WAITING, minute) for minute in (2, 1)]


@pytest.mark.parametrize("choice", ["happened", "close"])
@pytest.mark.parametrize(("overlap", "released"), [("queue", 1), ("allow", 2)])
def test_a_decision_releases_the_next_and_under_allow_each(
    operator: User, choice: Any, overlap: str, released: int
) -> None:
    rested, waiting = blocked(overlap)
    deciding.decide(rested.id, choice, token=1, note="seen", by=operator)
    assert [state(each) for each in waiting].count("CLAIMED") == released
    assert state(waiting[1]) == "CLAIMED"  # the older moment


def test_run_again_goes_before_what_waits_behind_it(operator: User) -> None:
    rested, waiting = blocked("queue")
    deciding.decide(rested.id, "run_again", token=1, note="it did not", by=operator)
    assert state(rested) == "CLAIMED"
    assert {state(each) for each in waiting} == {"WAITING"}
    assert {each.blocked_by for each in waiting} == {rested.id}


def test_a_run_that_ends_in_review_holds_back_what_waits(operator: User) -> None:
    """C35: as the job's `block_on_review` says."""
    of = job(idempotent=False, block_on_review=True)
    active, waiting = run(of, State.RUNNING, 0), run(of, State.WAITING, 1)
    settle.attempt(active.id, 1, FAILED)
    assert (state(active), state(waiting)) == ("REVIEW", "WAITING")
    assert "is decided" in waiting.reason


def test_a_later_review_holds_back_nothing() -> None:
    of = job(idempotent=False, block_on_review=True)
    active, waiting = run(of, State.RUNNING, 0), run(of, State.WAITING, 1)
    run(of, State.REVIEW, 2)
    settle.attempt(active.id, 1, DONE)
    assert state(waiting) == "CLAIMED"


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "cancel"])
def test_a_replay_of_a_busy_serial_job_waits_whatever_the_overlap(
    operator: User, overlap: str
) -> None:
    of = job(overlap)
    active, dead = run(of, State.RUNNING, 1), run(of, State.DEAD, 0)
    replay.replay(dead.id, token=None, note="", by=operator)
    assert (state(dead), dead.blocked_by, dead.failures) == ("WAITING", active.id, 0)
    assert state(active) == "RUNNING"
    assert active.stop_asked_at is None
    settle.attempt(active.id, 1, DONE)
    assert (state(dead), dead.attempt) == ("CLAIMED", dead.max_attempts)


def test_a_run_again_waits_for_an_active_run_and_behind_an_earlier_review(
    operator: User,
) -> None:
    of = job(idempotent=False, block_on_review=True)
    earlier, again = run(of, State.REVIEW, 0), run(of, State.REVIEW, 1)
    active = run(of, State.RUNNING, 2)
    deciding.decide(again.id, "run_again", token=1, note="it did not", by=operator)
    assert (state(again), again.blocked_by) == ("WAITING", earlier.id)
    settle.attempt(active.id, 1, DONE)
    assert state(again) == "WAITING"
    deciding.decide(earlier.id, "close", token=1, note="seen", by=operator)
    assert state(again) == "CLAIMED"


@pytest.mark.parametrize("waits", [False, True])
def test_a_run_again_that_is_taken_back_before_it_starts_is_in_review_again(
    operator: User, waits: bool
) -> None:
    of = job(idempotent=False)
    rested = run(of, State.REVIEW, 0, review_class="failed", effect="maybe")
    if waits:
        run(of, State.RUNNING, 1)
    for _ in range(2):  # a second time as well: a decision is not used up
        deciding.decide(rested.id, "run_again", token=1, note="it did not", by=operator)
        assert state(rested) == ("WAITING" if waits else "CLAIMED")
        cancel.cancel(rested.id, by=operator, note="wrong one")
        assert (state(rested), rested.review_class) == ("REVIEW", "failed")
        assert rested.reason == "Taken back before it ran again. wrong one"
    assert Decision.objects.count() == 4


def test_run_again_withdraws_the_request_to_stop(operator: User) -> None:
    rested = run(job(idempotent=False), State.REVIEW, 0, stop_asked_at=clock.now())
    deciding.decide(rested.id, "run_again", token=1, note="it did not", by=operator)
    assert state(rested) == "CLAIMED"
    assert rested.stop_asked_at is None
    assert start.run(rested.id, worker="w") is not None


def test_what_waits_can_be_taken_back(operator: User) -> None:
    of = job()
    run(of, State.RUNNING, 0)
    waiting = run(of, State.WAITING, 1)
    cancel.cancel(waiting.id, by=operator)
    assert state(waiting) == "CANCELLED"


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "cancel"])
@pytest.mark.parametrize("busy", ["CLAIMED", "ENQUEUED", "RUNNING", "RETRYING"])
def test_a_run_by_hand_of_a_busy_serial_job_is_refused_and_told_by_what(
    operator: User, overlap: str, busy: str
) -> None:
    of = job(overlap)
    active = run(of, State(busy), 0)
    with pytest.raises(by_hand.Busy, match=str(active.id)) as refused:
        by_hand.run_now(of.id, by=operator)
    assert refused.value.run == active
    assert Run.objects.count() == 1


def test_a_run_by_hand_of_a_job_that_is_free_is_in_the_way_of_the_next(operator: User) -> None:
    of = job()
    first = by_hand.run_now(of.id, by=operator)
    assert first.serial
    with pytest.raises(by_hand.Busy):
        by_hand.run_now(of.id, by=operator)


def test_who_waited_beyond_the_window_is_not_started() -> None:
    """As of a moment that was missed; the next has its turn."""
    of = job(catch_up={"window": 3600})
    active, late = run(of, State.RUNNING, -90), run(of, State.WAITING, -61)
    young = run(of, State.WAITING, -10)
    settle.attempt(active.id, 1, DONE)
    assert (state(late), late.skipped_count) == ("SKIPPED", 1)
    assert "too late" in late.reason
    assert state(young) == "CLAIMED"


def test_a_person_is_asked_about_who_waited_too_long_where_the_job_says_so() -> None:
    of = job(idempotent=False, block_on_review=True, catch_up={"policy": "ask", "window": 3600})
    active, late = run(of, State.RUNNING, -90), run(of, State.WAITING, -61)
    young = run(of, State.WAITING, -10)
    settle.attempt(active.id, 1, DONE)
    assert (state(late), late.review_class, state(young)) == ("REVIEW", "missed", "WAITING")


def test_what_somebody_asked_for_has_no_window(operator: User) -> None:
    of = job(catch_up={"window": 3600})
    active, dead = run(of, State.RUNNING, 0), run(of, State.DEAD, -300)
    replay.replay(dead.id, token=None, note="", by=operator)
    settle.attempt(active.id, 1, DONE)
    assert state(dead) == "CLAIMED"


def test_rescue_releases_what_an_edit_left_waiting() -> None:
    of = job("queue")
    run(of, State.RUNNING, 0)
    waiting = run(of, State.WAITING, 1)
    assert rescue.missed_wake_ups() == 0
    editing.edit(of.id, make.definition(name=of.name, overlap="allow"), by=None)
    assert rescue.missed_wake_ups() == 1
    assert (state(waiting), waiting.serial) == ("CLAIMED", False)


def test_rescue_lets_what_a_review_holds_back_wait() -> None:
    rested, waiting = blocked("queue")
    assert rescue.missed_wake_ups() == 0
    Run.objects.filter(id=rested.id).update(state="CLOSED", finished_at=clock.now())
    assert rescue.missed_wake_ups() == 1
    assert [state(each) for each in waiting] == ["WAITING", "CLAIMED"]


@pytest.mark.parametrize("due_row", [True, False])
def test_the_lock_is_there_with_and_without_a_due_row(due_row: bool) -> None:
    of = job()
    if not due_row:
        editing.pause(of.id, editing.Pause("moving"), by=None)
    assert release.lock(of.id) == of
