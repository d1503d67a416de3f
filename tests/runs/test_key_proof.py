"""What proves that a target acts once for a key, and what does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs.models import Job, Team
from runs import asked_of_target, idempotency, key_proof, steps
from runs.models import Run
from runs.outcomes import Kind
from runs.states import State
from tests import make
from tests.runs.reviewing import attempt, job_with, waits

pytestmark = pytest.mark.django_db


def earlier(job: Job, **more: Any) -> Run:
    """A run of the job that has ended, with an attempt that left this behind."""
    run = make.run(job, State.SUCCEEDED)
    attempt(run, started=timedelta(hours=1), **more)
    return run


def replay(value: str = "true", header: str = "idempotency-replayed") -> dict[str, Any]:
    return {"status": 200, "headers": {header: value}, "body": ""}


@pytest.mark.parametrize("header", key_proof.REPLAYED)
def test_an_answer_given_again_is_proof(team: Team, header: str) -> None:
    run = waits(team)
    before = earlier(run.job, outcome=Kind.SUCCEEDED, answer=replay("True", header))
    proof = key_proof.of(run)
    assert (proof.proven, proof.run_id) == (True, before.id)
    assert "again" in proof.words


def test_that_it_was_still_at_work_on_the_key_is_proof(team: Team) -> None:
    run = waits(team)
    before = earlier(run.job, outcome=Kind.LATER, answer={"status": 409})
    assert key_proof.of(run).run_id == before.id


def test_steps_claimed_here_are_proof(team: Team) -> None:
    run = waits(team)
    before = earlier(run.job, outcome=Kind.SUCCEEDED)
    idempotency.take(before.key, run_id=before.id, holder=1, payload={})
    assert not key_proof.of(run).proven, "the run's own row is ours, not the target's"
    steps.claim(before.key, "charge", run_id=before.id, attempt=1, payload={})
    proof = key_proof.of(run)
    assert proof.run_id == before.id
    assert "«charge»" in proof.words


@pytest.mark.parametrize(
    "more",
    [
        {"outcome": Kind.SUCCEEDED, "answer": {"status": 200, "headers": {}}},
        {"outcome": Kind.SUCCEEDED, "answer": replay("false")},
        {"outcome": Kind.REFUSED, "answer": {"status": 422, "headers": {}}},
        {"outcome": Kind.SUCCEEDED, "answer": {"headers": ["idempotency-replayed"]}},
    ],
    ids=["an answer", "marked as none", "a refusal", "no headers"],
)
def test_nothing_else_is(team: Team, more: dict[str, Any]) -> None:
    run = waits(team)
    earlier(run.job, **more)
    assert key_proof.of(run) == key_proof.Proof()


def test_it_is_of_the_place_that_is_called_now_and_of_this_job(team: Team) -> None:
    run = waits(team)
    earlier(job_with(team), outcome=Kind.LATER)
    moved = earlier(run.job, outcome=Kind.LATER)
    Run.objects.filter(id=moved.id).update(
        snapshot={**moved.snapshot, "url": "https://other.example/settle"}
    )
    assert not key_proof.of(run).proven
    Run.objects.filter(id=moved.id).update(
        snapshot={**moved.snapshot, "url": f"{run.snapshot['url']}?day=1"}
    )
    assert key_proof.of(run).proven, "what is asked may differ from moment to moment"


def test_the_request_is_shown_as_it_would_go_out(team: Team) -> None:
    run = waits(team, attempt=2)
    run.snapshot = {**run.snapshot, "headers": {"Authorization": "sealed:x:y"}, "body": {"a": 1}}
    request = asked_of_target.of_next(run)
    assert request is not None
    assert request.headers["Authorization"] == "********"
    assert request.headers["Onebeat-Attempt"] == "3"
    assert request.text.endswith('\n\n{"a":1}') or request.text.endswith('\n\n{"a": 1}')
    run.snapshot = {"type": "task", "name": "t", "args": [], "kwargs": {}}
    assert asked_of_target.of_next(run) is None
    run.snapshot = {"type": "of a newer version"}
    assert asked_of_target.of_next(run) is None
