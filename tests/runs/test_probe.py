"""The outcome probe: how it is asked, and what its word locks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobs import clock, task_registry
from jobs.models import Team, User
from runs.models import Attempt, ProbeAnswer, Run
from runs.review import probe, queue, run_again
from tests.runs.loopback import Loopback
from tests.runs.reviewing import attempt, decide, job_with, since, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Sets what the task `probe.ledger` answers; an exception is raised."""
    told: list[object] = ["cannot_tell"]

    def handler(key: str) -> object:
        if isinstance(told[0], BaseException):
            raise told[0]
        return told[0]

    monkeypatch.setattr(task_registry._registry, "_handlers", {"probe.ledger": handler})
    return lambda answer: told.__setitem__(0, answer)


@pytest.fixture
def probed(team: Team, says: Callable[[object], None]) -> Run:
    return waits(team, job=job_with(team, probe={"task": "probe.ledger"}))


def test_what_the_probe_says_happened_is_not_run_again(
    probed: Run, operator: User, says: Callable[[object], None]
) -> None:
    says({"answer": "happened", "detail": "batch 88121"})
    for new_key in (False, True):
        with pytest.raises(run_again.Happened, match="batch 88121"):
            decide(probed, "run_again", operator, new_key=new_key)
    probed.refresh_from_db()
    assert (probed.state, ProbeAnswer.objects.count()) == ("REVIEW", 2)
    assert decide(probed, "happened", operator).state == "SUCCEEDED"
    assert ProbeAnswer.objects.count() == 3, "asked again at the decision"


@pytest.mark.parametrize("answer", ["did_not", {"answer": "did_not"}, "cannot_tell"])
def test_otherwise_the_person_decides(
    probed: Run, operator: User, says: Callable[[object], None], answer: object
) -> None:
    says(answer)
    assert decide(probed, "run_again", operator).state == "CLAIMED"
    asked = ProbeAnswer.objects.get()
    assert (asked.by, asked.key) == (operator, probed.key)


@pytest.mark.parametrize(
    "answer",
    [None, 7, "perhaps", {"answer": "perhaps"}, {}, [], RuntimeError("down"), SystemExit(1)],
)
def test_a_probe_that_answers_nonsense_cannot_tell(
    probed: Run, operator: User, says: Callable[[object], None], answer: object
) -> None:
    says(answer)
    told = probe.ask(probed, by=operator)
    assert told is not None
    assert (told.answer, told.detail != "") == ("cannot_tell", True)


def test_a_probe_that_is_silent_cannot_tell(
    probed: Run, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = threading.Event()
    monkeypatch.setattr(
        task_registry._registry, "_handlers", {"probe.ledger": lambda key: silent.wait(60)}
    )
    monkeypatch.setattr(probe, "TIMEOUT", 0.1)
    told = probe.ask(probed, by=operator)
    silent.set()
    assert told is not None and "did not answer" in told.detail


def _answer(body: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("raw", "answer", "detail"),
    [
        (_answer('{"answer": "happened", "detail": "batch 7"}'), "happened", "batch 7"),
        (_answer('{"answer": "did_not", "detail": 7}'), "did_not", ""),
        (_answer('"happened"'), "happened", ""),
        (_answer("nonsense"), "cannot_tell", "Its answer is none"),
        (_answer("{}", "500 Broken"), "cannot_tell", "500"),
        (b"", "cannot_tell", ""),
    ],
)
def test_a_url_is_asked_with_the_key(
    team: Team, operator: User, settings: Any, raw: bytes, answer: str, detail: str
) -> None:
    settings.EGRESS_ALLOW = "127.0.0.0/8"
    with Loopback(raw) as ledger:
        url = f"http://127.0.0.1:{ledger.port}/did?book=EQ"
        run = waits(team, job=job_with(team, probe={"url": url}))
        told = probe.ask(run, by=operator)
    assert told is not None
    assert told.answer == answer
    assert detail in told.detail
    head = ledger.requests[0].decode()
    assert head.startswith(f"GET /did?book=EQ&key={run.key.replace(':', '%3A')} HTTP/1.1\r\n")
    assert f"Idempotency-Key: {run.key}" in head
    assert "webhook-signature: v1," in head


def test_a_url_inside_the_network_is_not_asked(team: Team, operator: User) -> None:
    with Loopback() as ledger:
        job = job_with(team)
        job.probe = {"url": f"http://127.0.0.1:{ledger.port}/did"}
        job.save()
        told = probe.ask(waits(team, job=job), by=operator)
    assert told is not None and told.answer == "cannot_tell"
    assert ledger.connections == 0


def test_who_names_no_probe_asks_nobody(team: Team, operator: User) -> None:
    assert probe.ask(waits(team), by=operator) is None


def test_run_again_is_locked_while_the_call_could_be_under_way(
    probed: Run, operator: User, says: Callable[[object], None], settings: Any
) -> None:
    """300 s of time-out and 60 s of settling after a call whose answer never came."""
    says("did_not")
    attempt(probed, started=timedelta(seconds=100))
    with pytest.raises(run_again.NotYetSettled) as early:
        decide(probed, "run_again", operator)
    assert 255 < -since(early.value.until) <= 260
    with pytest.raises(run_again.NotYetSettled):
        decide(probed, "run_again", operator, new_key=True)
    Attempt.objects.update(started_at=clock.now() - timedelta(seconds=361))
    Attempt.objects.update(ended_at=clock.now() - timedelta(seconds=61))
    assert decide(probed, "run_again", operator).state == "CLAIMED"


def test_without_a_probe_the_person_is_told_and_decides(team: Team, operator: User) -> None:
    run = waits(team)
    attempt(run, started=timedelta(seconds=100))
    found = queue.evidence(run)
    assert found.locked_until is None
    assert found.under_way_until is not None and found.under_way_until > clock.now()
    assert decide(run, "run_again", operator).state == "CLAIMED"
