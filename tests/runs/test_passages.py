"""A run says which states it has passed through, when, and through whom."""

from __future__ import annotations

import pytest
from django.db.models import F

from jobs import clock
from jobs.models import Team, User
from runs import by_hand, claim, enqueue, passages, replica, settle, start
from runs.bounds import EVER
from runs.models import Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make
from tests.runs.test_claim import overdue
from tests.runs.test_rescue import Broker

pytestmark = pytest.mark.django_db


def told(run: Run) -> list[tuple[State, str]]:
    run.refresh_from_db()
    return [(passage.state, passage.who) for passage in passages.read(run.passed)]


def test_a_run_of_the_schedule_names_the_beat_and_the_worker(team: Team) -> None:
    job = make.job(team)
    overdue(job, 1)
    claim.due_jobs(clock.now(), shards=range(256), above=EVER)
    run = Run.objects.get(job=job)
    enqueue.waiting_runs(clock.now(), Broker(), above=EVER)  # type: ignore[arg-type]
    start.run(run.id, worker="worker@host")
    settle.attempt(run.id, 1, Outcome(Kind.SUCCEEDED, Effect.DONE, ""))

    here = replica.name()
    assert told(run) == [
        (State.CLAIMED, here),
        (State.ENQUEUED, here),
        (State.RUNNING, "worker@host"),
        (State.SUCCEEDED, ""),
    ]
    at = [passage.at for passage in passages.read(run.passed)]
    assert at == sorted(at)
    assert at[0] == run.created_at
    assert (at[2], at[3]) == (run.started_at, run.finished_at)


def test_a_run_by_hand_names_the_person(team: Team, operator: User) -> None:
    run = by_hand.run(make.job(team).id, None, by=operator)
    assert told(run) == [(State.CLAIMED, operator.get_username())]


def test_a_long_life_keeps_its_beginning_and_its_end(team: Team) -> None:
    run = make.run(make.job(team))
    for turn in range(passages.MOST + 5):
        Run.objects.filter(id=run.id).update(passed=passages.into(State.ENQUEUED, str(turn)))
    kept = [int(who) for _, who in told(run)]
    assert len(kept) == passages.MOST
    assert kept[:100] == list(range(100))
    assert kept[-100:] == list(range(105, 205))


def test_an_update_that_moves_nothing_writes_no_passage(team: Team) -> None:
    run = make.run(make.job(team), State.RUNNING, attempt=2)
    assert settle.attempt(run.id, 1, Outcome(Kind.SUCCEEDED, Effect.DONE, "")) is None
    assert told(run) == []
    assert Run.objects.filter(id=run.id, passed=F("passed")).exists()
