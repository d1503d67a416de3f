"""A worker that loses the database around a commit: it reads back what became of it, goes on where
it may, and begins nothing where it cannot know."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection, connections, transaction

from jobs import clock, task_registry
from runs import execute, persist, rescue, settle, start
from runs.lease import Grant, Lease
from runs.models import Attempt, IdempotencyKey, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make
from tests.servers import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("handler")]
cut = pytest.mark.django_db(transaction=True)  # connections are cut on the way

STEPS = ("start", "intent", "result")
Do = Callable[[], object]


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Do], None]]:
    """Says what the task `a.task` does."""
    doing: list[Do] = []
    registry: dict[str, Any] = {"a.task": lambda: doing[0]()}
    monkeypatch.setattr(task_registry, "registered", registry.get)
    monkeypatch.setattr(task_registry, "names", lambda: ["a.task"])
    monkeypatch.setattr("runs.calls.task_registry.registered", registry.get)
    yield doing.append


def enqueued(**changes: Any) -> Run:
    target = {"type": "task", "name": "a.task"}
    job = make.job(make.team(), name=f"job {uuid4()}", target=target, **changes)
    return make.run(job, State.ENQUEUED)


class Commits:
    """Breaks the connection at one of this thread's commits: before it reaches the server, or
    after, so that its answer is lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at: dict[int, str] = {}
        self._thread = threading.get_ident()
        wrapper: Any = connections["default"]
        real = wrapper._commit

        def commit() -> None:
            self.count += 1
            how = self.at.get(self.count) or self.at.get(0)
            if how == "unheard":
                real()
            if how:
                end_own_backend(wrapper)
                raise OperationalError("server closed the connection unexpectedly")
            real()

        monkeypatch.setattr(wrapper, "_commit", commit)


def end_own_backend(wrapper: Any) -> None:
    wrapper.connection.close()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Commits:
    return Commits(monkeypatch)


@cut
@pytest.mark.parametrize("step", STEPS)
def test_a_commit_of_unknown_outcome_is_read_back_and_the_run_goes_on(
    step: str, commits: Commits, handler: Callable[[Do], None]
) -> None:
    """C11, C14, C18: one start, one effect, one result, and nothing that came late."""
    effects: list[int] = []
    handler(lambda: effects.append(1))
    for how, idempotent in product(("unheard", "lost"), (True, False)):
        effects.clear()
        run = enqueued(idempotent=idempotent)
        commits.count, commits.at = 0, {1 + STEPS.index(step): how}
        assert execute.run(run.id, worker="w") is State.SUCCEEDED
        run.refresh_from_db()
        attempt = run.attempts.get()
        assert (run.state, run.attempt, run.failures, effects) == ("SUCCEEDED", 1, 0, [1])
        assert (attempt.outcome, attempt.late) == ("succeeded", None)
        assert IdempotencyKey.objects.get(key=run.key).state == "done"


@cut
@pytest.mark.parametrize(("idempotent", "state"), [(True, "RETRYING"), (False, "REVIEW")])
def test_an_intent_that_cannot_be_read_back_in_time_begins_nothing(
    idempotent: bool,
    state: str,
    commits: Commits,
    handler: Callable[[Do], None],
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C14: it was committed, and nobody can tell; rescue decides by what is stored."""
    settings.LEASE = 0.9  # so that a third of it is over at the second try
    handler(lambda: pytest.fail("must not be called"))
    run = enqueued(idempotent=idempotent)
    commits.count, commits.at = 0, {2: "unheard"}
    with monkeypatch.context() as away, pytest.raises(OperationalError):
        refusing(away, times=99, after=commits)
        execute.run(run.id, worker="w")
    wait_until(rescue.silent_workers, seconds=30, what="the lease is over")
    run.refresh_from_db()
    assert (run.state, run.effect) == (state, "maybe")


@cut
@pytest.mark.parametrize(("idempotent", "state"), [(True, "RETRYING"), (False, "CLAIMED")])
def test_an_intent_that_came_too_late_is_taken_back_and_needs_no_person(
    idempotent: bool,
    state: str,
    commits: Commits,
    handler: Callable[[Do], None],
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C14: the database is back before the lease is over, and the worker has begun nothing."""
    settings.LEASE = 0.9
    handler(lambda: pytest.fail("must not be called"))
    run = enqueued(idempotent=idempotent)
    commits.count, commits.at = 0, {2: "unheard"}
    with monkeypatch.context() as away, pytest.raises(OperationalError):
        refused = refusing(away, times=2, after=commits)
        execute.run(run.id, worker="w")
    assert refused.times == 0
    assert run.attempts.get().intent_at is None
    wait_until(rescue.silent_workers, seconds=30, what="the lease is over")
    run.refresh_from_db()
    assert (run.state, run.failures, run.review_class) == (state, 1, "")


def refusing(monkeypatch: pytest.MonkeyPatch, *, times: int, after: Commits) -> _Refusing:
    wrapper = connections["default"]
    refused = _Refusing(wrapper.connect, times=times, after=after)
    monkeypatch.setattr(wrapper, "connect", refused)
    return refused


class _Refusing:
    """A database that lets nobody in, so many times, once commits have begun to break."""

    def __init__(self, real: Callable[[], None], *, times: int, after: Commits) -> None:
        self.times = times
        self._real = real
        self._after = after

    def __call__(self) -> None:
        broken = self._after.count >= max(self._after.at, default=0)
        if broken and self.times:
            self.times -= 1
            raise OperationalError("connection refused")
        self._real()


@cut
def test_a_result_waits_for_a_database_that_is_away(
    commits: Commits, handler: Callable[[Do], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """K112: done, and the database is not there at the moment of saving; the worker lives."""
    effects: list[int] = []
    handler(lambda: effects.append(1))
    run = enqueued(idempotent=False)
    commits.count, commits.at = 0, {3: "lost"}
    refused = refusing(monkeypatch, times=3, after=commits)
    assert execute.run(run.id, worker="w") is State.SUCCEEDED
    assert (refused.times, effects) == (0, [1])


@pytest.mark.parametrize(("idempotent", "state"), [(True, "RETRYING"), (False, "REVIEW")])
def test_and_where_the_worker_dies_with_its_result_the_kind_of_job_decides(
    idempotent: bool, state: str
) -> None:
    """K112: safe to repeat: again, with the same key; else a person, with what is known."""
    run = enqueued(idempotent=idempotent)
    grant = start.run(run.id, worker="w")
    assert grant is not None
    assert execute._intend(grant, {"url": "https://ledger.example/"})
    Run.objects.filter(id=run.id).update(lease_until=clock.now() - timedelta(seconds=1))
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert (run.state, run.effect, run.key) == (state, "maybe", Run.objects.get().key)
    assert run.attempts.get().sent == {"url": "https://ledger.example/"}


@cut
def test_a_start_read_back_knows_that_the_key_is_done(commits: Commits) -> None:
    run = enqueued()
    IdempotencyKey.objects.create(
        key=run.key,
        run=run,
        fingerprint="x",
        holder=0,
        state="done",
        created_at=clock.now(),
        expires_at=clock.now(),
    )
    commits.count, commits.at = 0, {1: "unheard"}
    assert execute.run(run.id, worker="w") is State.DEAD
    run.refresh_from_db()
    assert run.reason == "Its key is recorded as done already."


def test_a_write_that_finds_its_own_first_try_done_is_read_once_more() -> None:
    stored: list[int] = []

    def write() -> bool:
        if not stored:
            stored.append(1)  # it comes through only after the first look
            raise OperationalError("server closed the connection unexpectedly")
        return False

    looks = iter([False, True])
    assert persist.read_back(write, lambda: next(looks), within=5)


@cut
def test_a_server_that_hangs_is_waited_for_no_longer_than_said() -> None:
    with pytest.raises(OperationalError), persist.no_longer_than(0.3), connection.cursor() as asked:
        asked.execute("select pg_sleep(2)")
    connection.close()
    with transaction.atomic(), persist.no_longer_than(5), connection.cursor() as asked:
        asked.execute("select 1")


def test_who_lost_touch_before_its_first_byte_sends_none(
    handler: Callable[[Do], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The intent is written, and the lease was not renewed for two thirds of its length."""
    handler(lambda: pytest.fail("must not be called"))
    goods = iter([True, False])
    monkeypatch.setattr(Lease, "good", property(lambda _: next(goods)))
    run = enqueued(idempotent=False)
    assert execute.run(run.id, worker="w") is State.REVIEW
    run.refresh_from_db()
    assert (run.review_class, run.effect) == ("not sent", "none")


def test_a_lease_that_is_lost_still_holds_its_run_to_the_time_out(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.lease.GRACE", 0.1)
    settings.LEASE = 0.3
    run = enqueued()
    ended: list[Outcome] = []
    grant = Grant(run.id, 1, uuid4(), timeout=0.5)  # nobody's lease: the first renewal finds none
    with Lease(grant, end=ended.append) as lease:
        wait_until(lambda: lease._lost, seconds=30, what="it is lost")
        wait_until(lambda: ended, seconds=30, what="its time is over")
    assert ended[0].kind is Kind.UNKNOWN


def test_an_outcome_that_cannot_be_told_keeps_no_process_alive(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.lease.GRACE", 0.0)
    monkeypatch.setattr("runs.lease._child", lambda: True)
    killed: list[int] = []
    monkeypatch.setattr("runs.lease.os.kill", lambda pid, signal: killed.append(signal))
    settings.LEASE = 0.3

    def away(_: Outcome) -> None:
        raise OperationalError("connection refused")

    with Lease(Grant(uuid4(), 1, uuid4(), timeout=0.1), end=away):
        wait_until(lambda: killed, seconds=30, what="it is killed")


def test_two_kinds_of_late_evidence_keep_the_first() -> None:
    run = enqueued()
    grant = start.run(run.id, worker="w")
    assert grant is not None
    Run.objects.filter(id=run.id).update(lease_until=clock.now() - timedelta(seconds=1))
    assert rescue.silent_workers() == 1
    for kind in (Kind.SUCCEEDED, Kind.FAILED):
        assert settle.attempt(run.id, 1, Outcome(kind, Effect.MAYBE, "came late")) is None
    late = Attempt.objects.get().late
    assert late is not None
    assert late["kind"] == "succeeded"
