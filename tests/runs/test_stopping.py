"""A run that is asked to stop: seen by the heartbeat, cut or told, and never begun again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from django.db import connection

from jobs import clock, task_registry
from jobs.models import Job, User
from jobs.task_registry import current_run
from runs import calls, cancel, execute, rescue, settle, start
from runs.decisions import Stale
from runs.lease import Lease
from runs.models import Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from runs.targets.http import PreparedRequest
from tests import make
from tests.api import Api
from tests.races import at_once
from tests.runs.silent import Silent
from tests.servers import wait_until

pytestmark = pytest.mark.django_db

Handler = Callable[[], object]
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")
UNSENT = Outcome(Kind.NOT_SENT, Effect.NONE, "no such host")


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Handler], None]]:
    """Says what the task `a.task` does."""
    doing: list[Handler] = []
    registry: dict[str, Any] = {"a.task": lambda: doing[0]()}
    monkeypatch.setattr(task_registry, "registered", registry.get)
    monkeypatch.setattr(task_registry, "names", lambda: ["a.task"])
    monkeypatch.setattr("runs.calls.task_registry.registered", registry.get)
    yield doing.append


def job(**changes: Any) -> Job:
    target = {"type": "task", "name": "a.task"}
    return make.job(make.team(), name=f"job {uuid4()}", **{"target": target, **changes})


def running(*, idempotent: bool = True, **columns: Any) -> Run:
    target = make.shape()["target"]
    return make.run(job(idempotent=idempotent, target=target), State.RUNNING, **columns)


def ask(run_id: Any) -> None:
    Run.objects.filter(id=run_id).update(stop_asked_at=clock.now())


@pytest.mark.parametrize("outcome", [FAILED, UNSENT, Outcome(Kind.LATER, Effect.MAYBE, "busy")])
def test_an_idempotent_run_that_was_asked_makes_no_further_attempt(outcome: Outcome) -> None:
    run = running()
    ask(run.id)
    assert settle.attempt(run.id, 1, outcome) is State.CANCELLED
    run.refresh_from_db()
    assert run.reason.startswith("Stopped as asked.")
    assert run.finished_at is not None


def test_one_that_ends_well_all_the_same_has_succeeded() -> None:
    run = running()
    ask(run.id)
    done = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
    assert settle.attempt(run.id, 1, done) is State.SUCCEEDED


def test_one_whose_worker_is_lost_is_cancelled_by_rescue() -> None:
    run = running()
    Run.objects.filter(id=run.id).update(lease_until=clock.now(), stop_asked_at=clock.now())
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert run.state == "CANCELLED"


@pytest.mark.parametrize(("outcome", "state"), [(FAILED, "REVIEW"), (UNSENT, "CANCELLED")])
def test_one_that_is_not_safe_to_repeat_is_cancelled_only_where_nothing_was_sent(
    outcome: Outcome, state: str
) -> None:
    run = running(idempotent=False)
    ask(run.id)
    assert settle.attempt(run.id, 1, outcome) == state


@pytest.mark.parametrize("state", [State.CLAIMED, State.ENQUEUED, State.RETRYING])
def test_one_that_was_asked_before_it_started_never_starts(state: State) -> None:
    run = make.run(job(target=make.shape()["target"]), state, stop_asked_at=clock.now())
    assert start.run(run.id, worker="w") is None
    run.refresh_from_db()
    assert (run.state, run.reason) == ("CANCELLED", "It was asked to stop before it started.")


def test_one_that_is_asked_before_its_intent_begins_no_effect(
    handler: Callable[[Handler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler(lambda: pytest.fail("must not be called"))
    run = make.run(job(), State.ENQUEUED)
    prepare = calls.prepare

    def prepared(of: Run, **how: Any) -> Any:
        ask(of.id)
        return prepare(of, **how)

    monkeypatch.setattr(execute, "prepare", prepared)
    assert execute.run(run.id, worker="w") is State.CANCELLED
    run.refresh_from_db()
    assert (run.effect, run.attempts.get().outcome) == ("none", "stopped")


@pytest.mark.django_db(transaction=True)
def test_a_call_over_http_is_cut(settings: LazySettings) -> None:
    settings.LEASE, settings.EGRESS_ALLOW = 0.9, "127.0.0.1/32"
    with Silent() as target:
        http = {"type": "http", "url": target.url()}
        run = make.run(job(target=http), State.ENQUEUED)

        def asks() -> None:
            assert target.read.wait(timeout=30)
            ask(run.id)
            connection.close()

        asking = threading.Thread(target=asks)
        asking.start()
        assert execute.run(run.id, worker="w") is State.CANCELLED
        asking.join(timeout=30)
    attempt = run.attempts.get()
    assert (attempt.outcome, attempt.effect) == ("stopped", "maybe")
    assert "was cut off" in attempt.reason


@pytest.mark.django_db(transaction=True)
def test_the_heartbeat_tells_a_task_within_a_third_of_the_lease(
    handler: Callable[[Handler], None], settings: LazySettings
) -> None:
    settings.LEASE = 0.9
    begun, told = threading.Event(), threading.Event()

    def long_task() -> None:
        begun.set()
        wait_until(lambda: current_run().stop_asked, seconds=30, what="it was told")
        told.set()
        raise RuntimeError("I stop.")

    handler(long_task)
    run = make.run(job(), State.ENQUEUED)
    asked: list[float] = []

    def asks() -> None:
        assert begun.wait(timeout=30)
        ask(run.id)
        asked.append(clock.now().timestamp())
        connection.close()

    asking = threading.Thread(target=asks)
    asking.start()
    assert execute.run(run.id, worker="w") is State.CANCELLED
    asking.join(timeout=30)
    assert told.is_set()
    ended = run.attempts.get().ended_at
    assert ended is not None
    assert ended.timestamp() - asked[0] < 0.9 / 3 + 1  # and what a busy machine takes


@pytest.mark.parametrize(("idempotent", "state"), [(True, "CANCELLED"), (False, "REVIEW")])
def test_a_person_asks_a_run_to_stop_and_its_kind_decides(
    idempotent: bool, state: str, settings: LazySettings
) -> None:
    """A call that is cut may have taken effect: what may not be repeated goes to Review."""
    settings.EGRESS_ALLOW = "127.0.0.1/32"
    of = make.team()
    api = Api.of(of, make.operator(of))
    with Silent() as target:
        url = {"type": "http", "method": "POST", "url": target.url()}
        run = make.run(job(idempotent=idempotent, target=url), State.ENQUEUED)

        heard = PreparedRequest.perform

        def performed(request: PreparedRequest) -> Outcome:
            answer = api.post(f"runs/{run.id}/cancel/", {"note": "wrong book"})
            assert (answer.status, answer.body["state"]) == (200, "RUNNING")
            assert answer.body["stop_asked_at"]
            again = api.post(f"runs/{run.id}/cancel/")
            assert (again.status, "asked it to stop" in again.body["detail"]) == (409, True)
            request.stop()  # what the heartbeat does when it sees it
            return heard(request)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(PreparedRequest, "perform", performed)
            patched.setattr(Lease, "stop_asked", property(lambda _: True))
            execute.run(run.id, worker="w")
    run.refresh_from_db()
    assert (run.state, run.effect) == (state, "maybe")
    assert run.decisions.get().note == "wrong book"


def test_where_a_report_is_waited_for_a_stop_ends_the_lease_and_rescue_the_run() -> None:
    run = running(idempotent=False, accepted_at=clock.now(), intent_at=clock.now())
    person = make.operator(make.team())
    assert cancel.stop(run.id, by=person).state == "RUNNING"
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert (run.state, run.review_class) == ("REVIEW", "unknown")
    with pytest.raises(Stale):
        cancel.stop(run.id, by=person)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_ask_at_once_one_is_told_of_the_other() -> None:
    run, person = running(), make.operator(make.team())
    found = at_once(*[partial(asked, run.id, person.pk)] * 2)
    assert sorted(type(each).__name__ for each in found) == ["Stale", "str"]
    assert run.decisions.count() == 1


def asked(run_id: UUID, person_id: int) -> str:
    return cancel.stop(run_id, by=User.objects.get(pk=person_id)).state
