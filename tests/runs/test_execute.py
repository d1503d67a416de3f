"""One run carried out: start, prepare, intent, effect, result, and who comes too late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from config.celery import app
from jobs import clock, editing, task_registry
from jobs.task_registry import NotYet, Refused, current_run
from runs import calls, execute, idempotency, rescue, settle, start
from runs.models import Attempt, IdempotencyKey, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

Handler = Callable[[], object]


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Handler], None]]:
    """Says what the task `a.task` does."""
    doing: list[Handler] = []
    registry: dict[str, Any] = {"a.task": lambda: doing[0]()}
    monkeypatch.setattr(task_registry, "registered", registry.get)
    monkeypatch.setattr(task_registry, "names", lambda: ["a.task"])
    monkeypatch.setattr("runs.calls.task_registry.registered", registry.get)
    yield doing.append


def waiting(*, idempotent: bool = True, **changes: Any) -> Run:
    job = make.job(
        make.team(),
        name=f"job {uuid4()}",
        target={"type": "task", "name": "a.task"},
        idempotent=idempotent,
        **changes,
    )
    return make.run(job, State.ENQUEUED)


def carried_out(run: Run) -> Run:
    execute.run(run.id, worker="worker one")
    run.refresh_from_db()
    return run


def test_a_run_succeeds_and_run_key_and_attempt_tell_the_same(
    handler: Callable[[Handler], None],
) -> None:
    handler(lambda: {"closed": "main"})
    run = carried_out(waiting())
    assert (run.state, run.effect, run.attempt, run.failures) == ("SUCCEEDED", "done", 1, 0)
    assert run.finished_at is not None
    attempt = Attempt.objects.get()
    assert (attempt.worker, attempt.outcome, attempt.effect) == ("worker one", "succeeded", "done")
    assert attempt.sent["name"] == "a.task"
    assert attempt.intent_at is not None
    key = IdempotencyKey.objects.get()
    assert (key.key, key.step, key.state, key.answer) == (run.key, "", "done", attempt.answer)


def test_a_run_costs_its_worker_nine_statements(handler: Callable[[Handler], None]) -> None:
    """Each is a round trip: one for every run of an installation is a worker more or less."""
    handler(lambda: None)
    run = waiting(overlap="allow", block_on_review=False)
    with CaptureQueriesContext(connection) as asked:
        carried_out(run)
    own = [query["sql"] for query in asked if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len(own) - 1 <= 9, own  # the last one is this test's own


def test_a_task_that_ends_leaves_its_process_the_connection() -> None:
    """One for each run would cost the server more than the run does."""
    connection.ensure_connection()
    own = connection.connection
    import_module("celery.fixups.django").DjangoWorkerFixup(app).close_database()
    assert connection.connection is own
    assert not own.closed


def test_the_intent_is_committed_before_the_effect_and_the_handler_knows_its_run(
    handler: Callable[[Handler], None],
) -> None:
    run = waiting()
    seen: list[Any] = []

    def effect() -> None:
        seen.append((Run.objects.get(id=run.id).intent_at is not None, current_run()))

    handler(effect)
    carried_out(run)
    ((intended, context),) = seen
    assert intended
    assert (context.key, context.run_id, context.attempt) == (run.key, str(run.id), 1)


@pytest.mark.parametrize("state", [s for s in State if s not in ("CLAIMED", "ENQUEUED")])
def test_a_doubled_message_finds_nothing_to_start(
    handler: Callable[[Handler], None], state: State
) -> None:
    handler(lambda: pytest.fail("must not be called"))
    run = make.run(waiting().job, state)
    if state is State.RETRYING:
        Run.objects.filter(id=run.id).update(send_at=clock.now() + timedelta(minutes=1))
    run.refresh_from_db()
    before = (run.state, run.attempt)
    run = carried_out(run)
    assert (run.state, run.attempt) == before


def test_a_run_of_a_deleted_job_is_cancelled_at_its_start(
    handler: Callable[[Handler], None],
) -> None:
    handler(lambda: pytest.fail("must not be called"))
    run = waiting()
    editing.delete(run.job_id, by=None)
    run = carried_out(run)
    assert (run.state, run.reason) == ("CANCELLED", "Its job was deleted.")


def test_a_paused_and_an_edited_job_run_their_snapshot(handler: Callable[[Handler], None]) -> None:
    """C28, as are the deleted job above and the hold in tests/runs/test_holds.py."""
    handler(lambda: None)
    run = waiting()
    editing.pause(run.job_id, editing.Pause("moving"), by=None)
    assert carried_out(run).state == "SUCCEEDED"


def raising(error: BaseException) -> Handler:
    def effect() -> None:
        raise error

    return effect


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(1), MemoryError(), KeyboardInterrupt()]
)
def test_whatever_a_task_raises_is_a_failure_and_the_worker_lives(
    handler: Callable[[Handler], None], error: BaseException
) -> None:
    """C23, as far as an exception tells it; tests/story/test_poison.py kills the process."""
    handler(raising(error))
    safe, unsafe = carried_out(waiting()), carried_out(waiting(idempotent=False))
    assert (safe.state, safe.failures, safe.effect) == ("RETRYING", 1, "maybe")
    assert (unsafe.state, unsafe.review_class) == ("REVIEW", "failed")


def test_a_retry_keeps_the_key_and_the_last_failure_is_a_dead_letter(
    handler: Callable[[Handler], None],
) -> None:
    handler(raising(ValueError("no")))
    run = waiting(retries={"max_attempts": 2, "backoff": 0})
    key = run.key
    assert carried_out(run).state == "RETRYING"
    run = carried_out(run)
    assert (run.state, run.key, run.attempt, run.failures) == ("DEAD", key, 2, 2)
    assert Attempt.objects.count() == 2
    assert IdempotencyKey.objects.get().holder == 2


def test_refused_is_for_good_and_not_yet_is_no_failure(handler: Callable[[Handler], None]) -> None:
    handler(raising(Refused("closed book")))
    assert carried_out(waiting()).state == "DEAD"


def test_not_yet_comes_back_later(handler: Callable[[Handler], None]) -> None:
    handler(raising(NotYet("the file is not there", retry_after=30)))
    run = carried_out(waiting())
    assert (run.state, run.failures) == ("RETRYING", 0)
    assert run.send_at is not None
    assert 25 < (run.send_at - clock.now()).total_seconds() <= 30


def test_a_task_that_is_not_registered_was_not_sent() -> None:
    job = make.job(make.team(), idempotent=False)
    job.target = {"type": "task", "name": "os.system", "args": ["true"], "kwargs": {}}
    run = make.run(job, State.ENQUEUED)
    run = carried_out(run)
    assert (run.state, run.review_class, run.effect) == ("REVIEW", "not sent", "none")
    assert Attempt.objects.get().intent_at is None


def test_a_run_taken_away_meanwhile_begins_no_effect(
    handler: Callable[[Handler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler(lambda: pytest.fail("must not be called"))
    run = waiting(idempotent=False)

    def taken_while_preparing(of: Run, **how: Any) -> Any:
        Run.objects.filter(id=of.id).update(lease_until=clock.now() - timedelta(seconds=1))
        assert rescue.silent_workers() == 1
        return calls.prepare(of, **how)

    monkeypatch.setattr("runs.execute.prepare", taken_while_preparing)
    run = carried_out(run)
    assert (run.state, run.failures) == ("CLAIMED", 1)  # sent again: nothing had begun


@pytest.mark.parametrize(("idempotent", "state"), [(True, "DEAD"), (False, "REVIEW")])
def test_nothing_is_sent_under_a_key_that_is_done(
    handler: Callable[[Handler], None], idempotent: bool, state: str
) -> None:
    handler(lambda: pytest.fail("must not be called"))
    run = waiting(idempotent=idempotent)
    idempotency.settled_by_a_person(run.key, run_id=run.id, payload=run.snapshot)
    run = carried_out(run)
    assert (run.state, run.reason) == (state, "Its key is recorded as done already.")


def test_a_result_that_comes_too_late_is_evidence_and_no_state(
    handler: Callable[[Handler], None],
) -> None:
    run = waiting(idempotent=False)
    grant = start.run(run.id, worker="frozen")
    assert grant is not None
    Run.objects.filter(id=run.id).update(
        lease_until=clock.now() - timedelta(seconds=1), intent_at=clock.now()
    )
    assert rescue.silent_workers() == 1
    done = Outcome(Kind.SUCCEEDED, Effect.DONE, "200", answer={"status": 200})
    assert settle.attempt(run.id, grant.token, done) is None
    run.refresh_from_db()
    assert (run.state, run.review_class, run.effect) == ("REVIEW", "unknown", "maybe")
    attempt = Attempt.objects.get()
    assert attempt.outcome == "lost"
    assert attempt.late is not None
    assert attempt.late["kind"] == "succeeded"


def test_an_outcome_settled_twice_leads_to_one_state_and_nothing_late(
    handler: Callable[[Handler], None],
) -> None:
    run = waiting()
    grant = start.run(run.id, worker="one")
    assert grant is not None
    done = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
    assert settle.attempt(run.id, grant.token, done) is State.SUCCEEDED
    assert settle.attempt(run.id, grant.token, done) is State.SUCCEEDED
    assert Attempt.objects.get().late is None


@pytest.mark.django_db(transaction=True)  # its connection is closed on the way
def test_a_start_whose_answer_was_lost_is_read_back(
    handler: Callable[[Handler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler(lambda: None)
    real = start.run
    calls: list[int] = []

    def committed_but_unheard(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        real(*args, **kwargs)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(start, "run", committed_but_unheard)
    run = carried_out(waiting())
    assert (run.state, run.attempt, len(calls)) == ("SUCCEEDED", 1, 1)


@pytest.mark.django_db(transaction=True)  # its connection is closed on the way
def test_a_start_that_met_an_error_before_its_commit_is_done_again(
    handler: Callable[[Handler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler(lambda: None)
    real = start.run
    errors = [OperationalError("canceling statement due to lock timeout")]

    def failing_once(*args: Any, **kwargs: Any) -> Any:
        if errors:
            raise errors.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(start, "run", failing_once)
    assert carried_out(waiting()).state == "SUCCEEDED"
