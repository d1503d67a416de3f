"""A handler's steps: each done once, whoever asks, however often."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.models import Team
from jobs.targets.errors import TargetError
from jobs.task_registry import RunContext, running
from runs import housekeeping, idempotency, steps
from runs.models import IdempotencyKey, Run
from runs.states import State
from tests import make
from tests.api import Api
from tests.races import ROUNDS, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """A run that has begun."""
    found = make.run(make.job(make.team()), State.RUNNING)
    assert idempotency.take(found.key, run_id=found.id, holder=1, payload={})
    return found


def claim(run: Run, attempt: int = 1, payload: object = None, step: str = "charge") -> steps.Step:
    return steps.claim(run.key, step, run_id=run.id, attempt=attempt, payload=payload)


def test_a_step_is_begun_once_and_its_answer_is_everybodys(run: Run) -> None:
    assert claim(run).first
    with pytest.raises(steps.Held, match="Attempt 1"):
        claim(run)
    steps.finish(run.key, "charge", attempt=1, answer={"id": 7})
    found = claim(run, attempt=2)
    assert (found.done, found.first, found.answer) == (True, False, {"id": 7})


def test_a_higher_attempt_takes_over_and_the_lower_one_is_told(run: Run) -> None:
    claim(run)
    assert claim(run, attempt=2).first
    with pytest.raises(steps.Held, match="Attempt 2"):
        steps.finish(run.key, "charge", attempt=1, answer="late")
    assert steps.finish(run.key, "charge", attempt=2, answer="mine").answer == "mine"
    assert steps.finish(run.key, "charge", attempt=1, answer="late").answer == "mine"


def test_another_payload_is_another_effect(run: Run) -> None:
    claim(run, payload={"amount": 1})
    with pytest.raises(steps.OtherPayload):
        claim(run, attempt=2, payload={"amount": 2})
    assert claim(run, payload={"amount": 2}, step="refund").first


def test_what_nobody_claimed_cannot_be_finished(run: Run) -> None:
    with pytest.raises(steps.NotClaimed):
        steps.finish(run.key, "charge", attempt=1, answer=None)


@pytest.mark.django_db(transaction=True)
def test_of_claims_at_one_instant_one_is_the_first() -> None:
    found = make.run(make.job(make.team()), State.RUNNING)
    for number in range(ROUNDS):
        took = partial(claim, found, step=f"step {number}")
        outcomes = at_once(took, took, took)
        assert sorted(type(each).__name__ for each in outcomes) == ["Held", "Held", "Step"]


def in_run(run: Run, attempt: int = 1) -> Any:
    return running(RunContext(run.key, str(run.id), str(run.job_id), None, attempt))


def test_a_task_does_a_step_once_over_all_its_attempts(run: Run) -> None:
    done: list[int] = []

    def charge() -> dict[str, int]:
        done.append(1)
        return {"charged": len(done)}

    for attempt in (1, 2, 2):
        with in_run(run, attempt):
            assert steps.once("charge", charge) == {"charged": 1}
    assert done == [1]


@pytest.mark.django_db(transaction=True)
def test_a_step_that_raises_leaves_neither_itself_nor_what_it_wrote() -> None:
    run = make.run(make.job(make.team()), State.RUNNING)

    def broken() -> None:
        make.team("written")
        raise RuntimeError("the ledger is closed")

    with in_run(run), pytest.raises(RuntimeError):
        steps.once("charge", broken)
    assert not Team.objects.filter(slug="written").exists()
    with in_run(run):
        assert steps.once("charge", lambda: 5) == 5


@pytest.mark.parametrize("answer", [{1, 2}, float("nan"), "x" * 300_000])
def test_an_answer_that_cannot_be_kept_is_refused(run: Run, answer: Any) -> None:
    with in_run(run), pytest.raises(TargetError, match="answer"):
        steps.once("charge", lambda: answer)
    assert not IdempotencyKey.objects.filter(step="charge").exists()


def test_outside_a_run_there_is_no_step() -> None:
    with pytest.raises(LookupError):
        steps.once("charge", lambda: 1)


# ── the API ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def api() -> Api:
    team = make.team()
    return Api.of(team, make.operator(team))


def test_the_life_of_a_step_over_the_api(api: Api, run: Run) -> None:
    path = f"keys/{run.key}/charge/"
    assert api.get(path).status == 404
    begun = {"attempt": 1, "payload": {"amount": 5}}
    answer = api.post(path, begun)
    assert (answer.status, answer.body["state"], answer.body["attempt"]) == (201, "held", 1)
    answer = api.post(path, begun)
    assert (answer.status, answer.body["attempt"]) == (409, 1)
    answer = api.post(path, {**begun, "payload": {"amount": 6}})
    assert (answer.status, answer.body["errors"][0]["field"]) == (422, "payload")
    answer = api.put(path, {"attempt": 1, "answer": {"receipt": "r-1"}})
    assert (answer.status, answer.body["answer"]) == (200, {"receipt": "r-1"})
    ahead = api.post(path, {**begun, "attempt": 2})
    assert (ahead.status, ahead.fields) == (400, ["attempt"])
    Run.objects.filter(id=run.id).update(attempt=2)
    answer = api.post(path, {**begun, "attempt": 2})
    assert (answer.status, answer.body["answer"]) == (200, {"receipt": "r-1"})
    assert api.get(path).body["state"] == "done"


def test_an_attempt_that_was_overtaken_begins_nothing(api: Api, run: Run) -> None:
    claim(run)
    Run.objects.filter(id=run.id).update(attempt=2)
    with pytest.raises(steps.Overtaken, match="Attempt 2 of the run has begun"):
        claim(run, step="refund")
    with in_run(run), pytest.raises(steps.Held):
        steps.once("refund", lambda: pytest.fail("must not be called"))
    refused = api.post(f"keys/{run.key}/refund/", {"attempt": 1})
    assert (refused.status, refused.body["attempt"]) == (409, 2)
    assert steps.finish(run.key, "charge", attempt=1, answer="done").done  # what it had begun


@pytest.mark.parametrize(
    ("changes", "days"),
    [
        ({}, 60),
        ({"catch_up": {"window": 366 * 86_400}}, 732),
        ({"retries": {"max_attempts": 100, "cap": 604_800}}, 1400),
        ({"deadline": 30 * 86_400}, 60),
        ({"decide_by": 100 * 86_400}, 200),
    ],
)
def test_a_key_lives_twice_as_long_as_its_run_may_be_open(
    changes: dict[str, Any], days: int
) -> None:
    run = make.run(make.job(make.team(), **changes), State.RUNNING)
    idempotency.take(run.key, run_id=run.id, holder=1, payload={})
    claim(run)
    for told in (lambda: None, lambda: steps.finish(run.key, "charge", attempt=1, answer=1)):
        told()
        for row in IdempotencyKey.objects.all():
            assert round((row.expires_at - row.created_at).total_seconds() / 86_400) == days
    idempotency.finish(run.key, 1, {})
    own = IdempotencyKey.objects.get(step="")
    assert round((own.expires_at - own.created_at).total_seconds() / 86_400) == days


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "attempt"), ({"attempt": 0}, "attempt"), ({"attempt": "1"}, "attempt"), ({"x": 1}, "x")],
)
def test_a_claim_that_says_too_little_is_refused(
    api: Api, run: Run, body: dict[str, Any], field: str
) -> None:
    answer = api.post(f"keys/{run.key}/charge/", body)
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, field)


def test_a_key_of_another_team_or_of_no_run_is_not_there(run: Run) -> None:
    team = make.team("elsewhere")
    other = Api.of(team, make.operator(team, "other"))
    body = {"attempt": 1}
    assert other.post(f"keys/{run.key}/charge/", body).status == 404
    unknown = f"{UUID(int=0)}:hand:{uuid4()}"
    assert other.post(f"keys/{unknown}/charge/", body).status == 404
    assert not IdempotencyKey.objects.exclude(step="").exists()


def test_a_viewer_looks_and_claims_nothing(run: Run) -> None:
    api = Api.of(make.team(), make.viewer(make.team()))
    claim(run)
    assert api.get(f"keys/{run.key}/charge/").status == 200
    assert api.post(f"keys/{run.key}/other/", {"attempt": 1}).status == 403


def test_a_step_outlives_its_expiry_while_its_run_may_be_replayed(run: Run) -> None:
    claim(run)
    IdempotencyKey.objects.update(expires_at="2020-01-01T00:00:00Z")
    housekeeping.key_expiry()
    assert IdempotencyKey.objects.filter(step="charge").exists()
