"""What is tried again, when, and what never is by itself: reported cases of this field."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings
from structlog.testing import capture_logs

from jobs import clock, task_registry
from jobs.models import Due, Job, Team
from jobs.schedules import schedules
from jobs.shards import COUNT
from jobs.task_registry import NotYet, Refused
from runs import backoff, claim, execute, idempotency, rescue, settle, start
from runs.bounds import EVER
from runs.models import Attempt, Decision, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make
from tests.races import at_once
from tests.runs.histories import aged
from tests.runs.loopback import Loopback, Script, read_request

pytestmark = pytest.mark.django_db

NO = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(autouse=True)
def loopback(settings: LazySettings) -> None:
    settings.EGRESS_ALLOW = "127.0.0.1/32"


def job(team: Team, url: str, **changes: Any) -> Job:
    target = {"type": "http", "method": "POST", "url": url}
    return make.job(team, **{"name": f"job {uuid4()}", "target": target, "timeout": 1, **changes})


def carried_out(of: Job, state: State = State.ENQUEUED, **columns: Any) -> Run:
    run = make.run(of, state, **columns)
    execute.run(run.id, worker="w")
    run.refresh_from_db()
    return run


def fails_once(*_: object, **__: object) -> float:
    raise OverflowError("cannot convert float infinity to integer")


@pytest.mark.parametrize("broken", ["delay", "asked_for"])
def test_a_fault_in_the_wait_ends_no_run(
    team: Team, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """K123: it is tried again after the default wait, and the fault is logged."""
    monkeypatch.setattr(backoff, broken, fails_once)
    answer = NO if broken == "delay" else NO.replace(b"No\r\n", b"No\r\nRetry-After: 7\r\n")
    if broken == "asked_for":
        monkeypatch.setattr(backoff, "delay", lambda *_, **__: 1.0)
    with Loopback(answer) as target, capture_logs() as logs:
        run = carried_out(job(team, target.url(), retries={"backoff": 3600}))
    assert (run.state, run.failures) == ("RETRYING", 1)
    assert run.send_at is not None
    waits = (run.send_at - clock.now()).total_seconds()
    assert backoff.DEFAULT - 5 < waits <= backoff.DEFAULT
    told = [line for line in logs if line["event"] == "run.default_wait"]
    assert [(line["log_level"], "OverflowError" in line["why"]) for line in told] == [
        ("error", True)
    ]


@pytest.mark.parametrize("asked", [float("nan"), float("inf"), -1.0, 1e308])
def test_a_wait_that_a_task_makes_up_is_taken_as_far_as_it_makes_sense(
    team: Team, asked: float
) -> None:
    run = make.run(job(team, "https://ledger.example/"), State.RUNNING)
    later = Outcome(Kind.LATER, Effect.NONE, "not ready", retry_after=asked)
    assert settle.attempt(run.id, 1, later) is State.RETRYING
    run.refresh_from_db()
    assert run.send_at is not None
    assert run.send_at <= clock.now() + timedelta(seconds=run.cap)


def tried(run: Run, number: int, ago: float) -> None:
    at = clock.now() - timedelta(seconds=ago)
    Attempt.objects.create(
        run=run, number=number, lease_id=uuid4(), worker="w", started_at=at, ended_at=at,
        outcome=Kind.LATER,
    )  # fmt: skip


def test_later_is_no_failure_until_the_deadline_and_then_it_is_one(team: Team) -> None:
    """Counted from the first attempt, not from the claim: a run may have waited long before."""
    of = job(team, "https://ledger.example/", deadline=60, retries={"max_attempts": 1})
    later = Outcome(Kind.LATER, Effect.NONE, "not ready")
    for ago, state in ((30.0, "RETRYING"), (61.0, "DEAD")):
        long_ago = clock.now() - timedelta(days=3)
        run = make.run(of, State.RUNNING, attempt=2, created_at=long_ago)
        tried(run, 1, ago)
        tried(run, 2, 1)
        assert settle.attempt(run.id, 2, later) == state


def test_a_replay_gives_it_its_time_anew(team: Team) -> None:
    of = job(team, "https://ledger.example/", deadline=60)
    run = make.run(of, State.RUNNING, attempt=2)
    tried(run, 1, 3600)
    tried(run, 2, 5)
    later = Outcome(Kind.LATER, Effect.NONE, "not ready")
    Decision.objects.create(
        run=run, at=clock.now(), decision="replay", note="", from_state="DEAD",
        to_state="CLAIMED", attempt=1,
    )  # fmt: skip
    assert settle.attempt(run.id, 2, later) is State.RETRYING


@pytest.mark.parametrize(("error", "review_class"), [(Refused, "refused"), (NotYet, "refused")])
def test_a_task_that_says_it_did_nothing_is_not_begun_anew_where_that_is_not_safe(
    team: Team, error: type[Exception], review_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent again by itself once its intent is written."""

    def says_so() -> None:
        raise error("the book is closed")

    registry = {"a.task": says_so}
    monkeypatch.setattr(task_registry, "registered", registry.get)
    monkeypatch.setattr(task_registry, "names", lambda: ["a.task"])
    monkeypatch.setattr("runs.calls.task_registry.registered", registry.get)
    of = make.job(team, target={"type": "task", "name": "a.task"}, idempotent=False)
    run = carried_out(of)
    assert (run.state, run.review_class, run.effect) == ("REVIEW", review_class, "none")


def started(run_id: UUID) -> int | None:
    grant = start.run(run_id, worker="w")
    return grant.token if grant else None


@pytest.mark.django_db(transaction=True)
def test_of_two_messages_for_a_retry_one_starts_the_second_attempt() -> None:
    """K126: a crash between sending anew and acknowledging doubles the message, not the attempt."""
    run = make.run(job(make.team(), "https://ledger.example/"), State.RETRYING, attempt=1)
    found = at_once(partial(started, run.id), partial(started, run.id))
    assert sorted(found, key=str) == [2, None]
    assert list(Attempt.objects.values_list("number", flat=True)) == [2]


def test_both_copies_of_an_hour_have_a_key_of_their_own(team: Team) -> None:
    """K128: 01:30 twice on the night on which New York's clock goes back."""
    half_hours = schedules.parse(
        {"cron": "*/30 * * * *", "timezone": "America/New_York", "dst": "once"},
        now=datetime(2026, 1, 1, tzinfo=UTC),
    )
    after = datetime(2026, 11, 1, 5, 0, tzinfo=UTC)
    moments: list[datetime] = []
    while len(moments) < 4:
        after = schedules.next_moment(half_hours, after) or pytest.fail("no moment")
        moments.append(after)
    of = UUID(int=1)
    keys = [idempotency.key_of_moment(of, moment) for moment in moments]
    assert f"{of}:2026-11-01T05:30:00Z" in keys
    assert len(set(keys)) == len(keys)


def drops(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def says_nothing(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)  # until the caller has had enough


AFTER_SENDING: list[tuple[Script | bytes, str]] = [
    (NO, "failed"),
    (drops, "unknown"),
    (says_nothing, "unknown"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "unknown"),
]


@pytest.mark.parametrize(("script", "review_class"), AFTER_SENDING)
@pytest.mark.parametrize("retry_unsent", [True, False])
def test_what_may_have_been_acted_on_is_never_sent_again_by_itself(
    team: Team, script: Script | bytes, review_class: str, retry_unsent: bool
) -> None:
    """K130, after sending: 5xx, reset, time-out, half an answer: a person, with the evidence."""
    with Loopback(script) as target:
        of = job(team, target.url(), idempotent=False, retry_unsent=retry_unsent)
        run = carried_out(of)
        assert target.connections == 1
    assert (run.state, run.review_class, run.effect) == ("REVIEW", review_class, "maybe")
    attempt = run.attempts.get()
    assert (attempt.sent["url"], bool(attempt.answer)) == (of.target["url"], True)


def test_nor_where_its_worker_was_lost(team: Team) -> None:
    """K130: lost after it had begun."""
    of = job(team, "https://ledger.example/", idempotent=False, retry_unsent=True)
    run = make.run(of, State.RUNNING, intent_at=clock.now(), lease_until=clock.now())
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert (run.state, run.review_class) == ("REVIEW", "unknown")


@pytest.mark.parametrize(("retry_unsent", "state"), [(True, "RETRYING"), (False, "REVIEW")])
@pytest.mark.parametrize("listens", [False, None])
def test_what_was_surely_not_sent_may_be(
    team: Team, listens: bool | None, retry_unsent: bool, state: str
) -> None:
    """K130, before sending: nobody listens, no such name."""
    with socket.socket() as bound:  # and listens not
        bound.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{bound.getsockname()[1]}/"
        url = "https://nowhere.invalid/" if listens is None else nobody
        of = job(team, url, idempotent=False, retry_unsent=retry_unsent, timeout=2)
        run = carried_out(of)
    assert (run.state, run.effect, run.attempts.get().intent_at) == (state, "none", None)


@pytest.mark.parametrize(
    ("overlap", "states"),
    [("allow", ["RETRYING", "CLAIMED"]), ("skip", ["RETRYING", "SKIPPED"])],
)
def test_retries_go_on_beside_the_next_moment_as_the_overlap_says(
    team: Team, overlap: str, states: list[str]
) -> None:
    """K131: a run that is being tried again is active; the next moment says whose way it is in."""
    of = job(team, "https://ledger.example/", schedule={"every": 300}, overlap=overlap)
    aged(of, timedelta(hours=1))
    due = clock.now() - timedelta(seconds=1)
    Due.objects.filter(job=of).update(at=due)
    first = make.run(of, State.RETRYING, attempt=1, send_at=clock.now() + timedelta(minutes=4))
    claim.due_jobs(clock.now(), shards=range(COUNT), above=EVER)
    second = Run.objects.exclude(id=first.id).get()
    first.refresh_from_db()
    assert [first.state, second.state] == states
    if overlap == "skip":
        assert second.blocked_by == first.id
