"""Two things at one instant: nobody is left waiting, and a serial job never has two active runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, editing
from jobs.models import Due, Job, User
from jobs.shards import COUNT
from runs import by_hand, cancel, claim, release, settle, start
from runs.bounds import EVER
from runs.letters import replay
from runs.models import Run
from runs.outcomes import Effect, Kind, Outcome
from runs.review import deciding
from runs.states import ACTIVE, State
from tests import make
from tests.races import ROUNDS, at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")
ALL = list(range(COUNT))


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def job(overlap: str, **changes: Any) -> Job:
    """A job with a moment that is due at this instant."""
    soon = {"every": 86_400, "anchor": "2026-01-01T00:00:00Z"}
    made = make.job(make.team(), name=f"job {uuid4()}", overlap=overlap, schedule=soon, **changes)
    Job.objects.filter(id=made.id).update(version_began_at=clock.now() - timedelta(days=9))
    Due.objects.filter(job=made).update(at=clock.now() - timedelta(seconds=1))
    return made


def take(of: Job) -> None:
    """Claim until the job's row is taken: one that another holds is skipped, and looked for
    with the next tick."""
    while Due.objects.filter(job=of, at__lte=clock.now()).exists():
        claim.due_jobs(clock.now(), shards=ALL, above=EVER)


def states(of: Job) -> list[str]:
    return sorted(Run.objects.filter(job=of).values_list("state", flat=True))


def active(of: Job) -> int:
    return Run.objects.filter(job=of, state__in=ACTIVE).count()


def failures(outcomes: list[Any]) -> list[Any]:
    return [found for found in outcomes if isinstance(found, Exception)]


def rounds() -> Iterator[int]:
    return iter(range(ROUNDS))


@pytest.mark.parametrize("overlap", ["queue", "queue_all", "cancel"])
def test_a_run_that_ends_as_the_next_is_claimed_leaves_it_not_waiting(overlap: str) -> None:
    for _ in rounds():
        of = job(overlap)
        run = make.run(of, State.RUNNING)
        outcomes = at_once(partial(settle.attempt, run.id, 1, DONE), partial(take, of))
        assert failures(outcomes) == []
        assert states(of) == ["CLAIMED", "SUCCEEDED"]


def test_a_run_that_fails_as_it_is_asked_to_stop_is_not_tried_again() -> None:
    for _ in rounds():
        of = job("cancel")
        run = make.run(of, State.RUNNING)
        outcomes = at_once(partial(settle.attempt, run.id, 1, FAILED), partial(take, of))
        assert failures(outcomes) == []
        assert states(of) == ["CANCELLED", "CLAIMED"]


def test_a_worker_that_starts_a_run_as_the_next_moment_replaces_it() -> None:
    for _ in rounds():
        of = job("cancel")
        old = make.run(of, State.ENQUEUED)
        started, taken = at_once(partial(start.run, old.id, worker="w"), partial(take, of))
        assert taken is None
        old.refresh_from_db()
        if started is None:
            assert states(of) == ["CANCELLED", "CLAIMED"]
        else:
            assert states(of) == ["RUNNING", "WAITING"]
            assert old.stop_asked_at is not None


def test_a_start_by_hand_and_one_by_schedule_are_one(operator: User) -> None:
    """Whoever comes first runs; the other one is refused by hand, or skipped, with the reason."""
    for _ in rounds():
        of = job("skip")
        by_person, taken = at_once(partial(by_hand.run_now, of.id, by=operator), partial(take, of))
        assert taken is None
        assert active(of) == 1
        if isinstance(by_person, by_hand.Busy):
            assert states(of) == ["CLAIMED"]
        else:
            assert states(of) == ["CLAIMED", "SKIPPED"]
            assert Run.objects.get(job=of, state="SKIPPED").blocked_by == by_person.id


def test_of_two_starts_by_hand_one_is_refused(operator: User) -> None:
    for paused in (False, True) * (ROUNDS // 2):  # with a due row, and without
        of = job("queue")
        if paused:
            Due.objects.filter(job=of).delete()
        press = partial(by_hand.run_now, of.id, by=operator)
        outcomes = at_once(press, press)
        assert [type(found) for found in failures(outcomes)] == [by_hand.Busy]
        assert states(of) == ["CLAIMED"]


def test_a_replay_a_claim_and_an_end_at_once_run_one_after_the_other(operator: User) -> None:
    for _ in rounds():
        of = job("queue_all")
        dead = make.run(of, State.DEAD)
        run = make.run(of, State.RUNNING)
        outcomes = at_once(
            partial(replay.replay, dead.id, token=None, note="", by=operator),
            partial(settle.attempt, run.id, 1, DONE),
            partial(take, of),
        )
        assert failures(outcomes) == []
        assert states(of) == ["CLAIMED", "SUCCEEDED", "WAITING"]


def test_a_decision_as_the_next_moment_is_claimed_leaves_it_not_waiting(operator: User) -> None:
    for _ in rounds():
        of = job("queue", idempotent=False, block_on_review=True)
        rested = make.run(of, State.REVIEW)
        Run.objects.filter(id=rested.id).update(created_at=clock.now() - timedelta(days=2))
        close = partial(deciding.decide, rested.id, "close", token=1, note="seen", by=operator)
        assert failures(at_once(close, partial(take, of))) == []
        assert states(of) == ["CLAIMED", "CLOSED"]


def test_who_is_taken_back_as_it_is_released_lets_the_next_go(operator: User) -> None:
    for _ in rounds():
        of = job("queue_all")
        run = make.run(of, State.RUNNING)
        first, second = (make.run(of, State.WAITING) for _ in range(2))
        at_once(
            partial(settle.attempt, run.id, 1, DONE),
            partial(cancel.cancel, first.id, by=operator),
            release.missed_wake_ups,
        )
        first.refresh_from_db()
        second.refresh_from_db()
        assert (first.state, second.state) == ("CANCELLED", "CLAIMED")


def test_an_edit_and_an_end_leave_nobody_that_rescue_does_not_find() -> None:
    for _ in rounds():
        of = job("queue_all")
        Due.objects.filter(job=of).delete()
        run = make.run(of, State.RUNNING)
        waiting = [make.run(of, State.WAITING) for _ in range(2)]
        allow = make.definition(name=of.name, overlap="allow", schedule=of.schedule)
        outcomes = at_once(
            partial(settle.attempt, run.id, 1, DONE), partial(editing.edit, of.id, allow, by=None)
        )
        assert failures(outcomes) == []
        release.missed_wake_ups()
        assert {Run.objects.get(id=each.id).state for each in waiting} == {"CLAIMED"}
