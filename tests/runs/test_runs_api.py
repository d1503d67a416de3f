"""Runs over the API: listed, read, started by hand, decided, replayed, taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock
from jobs.models import Job, Team, User
from runs.models import Attempt, Run
from runs.states import Origin, State
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team)


@pytest.fixture
def unsafe(team: Team) -> Job:
    return make.job(team, name="settle-eod", idempotent=False)


def test_a_run_tells_what_happened_with_its_evidence(api: Api, job: Job, operator: User) -> None:
    due_at = datetime(2026, 11, 29, 18, 0, 0, 250, tzinfo=UTC)
    run = make.run(job, State.DEAD, origin=Origin.SCHEDULE, due_at=due_at, reason="500 each time")
    Attempt.objects.create(
        run=run,
        number=1,
        lease_id=uuid4(),
        worker="w1",
        started_at=due_at,
        ended_at=due_at + timedelta(seconds=1),
        outcome="failed",
        effect="maybe",
        answer={"status": 500},
    )
    assert api.post(f"runs/{run.id}/replay/", {"note": "Mended."}).status == 200
    body = api.get(f"runs/{run.id}/").body
    assert body["id"] == str(run.id)
    assert body["job"] == str(job.id)
    assert body["due_at"] == "2026-11-29T18:00:00.000250Z"
    assert (body["state"], body["origin"], body["failures"]) == ("CLAIMED", "schedule", 0)
    (attempt,) = body["attempts"]
    assert attempt["started_at"] == body["due_at"]
    assert (attempt["outcome"], attempt["answer"]) == ("failed", {"status": 500})
    assert "lease_id" not in attempt
    (decision,) = body["decisions"]
    assert (decision["by"], decision["decision"], decision["note"]) == (
        operator.username,
        "replay",
        "Mended.",
    )


def test_a_run_by_hand_has_a_key_of_its_own(api: Api, job: Job) -> None:
    first, second = api.post(f"jobs/{job.id}/run/"), api.post(f"jobs/{job.id}/run/", {})
    assert (first.status, second.status) == (201, 201)
    assert first.headers["Location"].endswith(f"/api/v1/runs/{first.body['id']}/")
    assert first.body["key"].startswith(f"{job.id}:hand:")
    assert first.body["key"] != second.body["key"]
    assert (first.body["state"], first.body["origin"]) == ("CLAIMED", "hand")
    assert first.body["due_at"] is None
    assert api.post(f"jobs/{job.id}/run/", {"for": "2026-11-29T18:00:00Z"}).fields == ["for"]


@pytest.mark.parametrize(
    ("decision", "state"),
    [("happened", "SUCCEEDED"), ("run_again", "CLAIMED"), ("close", "CLOSED")],
)
def test_a_review_is_decided(api: Api, unsafe: Job, decision: str, state: str) -> None:
    run = make.run(unsafe, State.REVIEW)
    body = {"decision": decision, "note": "Looked at the ledger.", "attempt": 1}
    answer = api.post(f"runs/{run.id}/decide/", body)
    assert (answer.status, answer.body["state"]) == (200, state)
    assert answer.body["key"] == run.key


def test_who_comes_second_is_told_who_came_first_and_where(
    api: Api, team: Team, unsafe: Job
) -> None:
    run = make.run(unsafe, State.REVIEW)
    path = f"runs/{run.id}/decide/"
    assert api.post(path, {"decision": "close", "note": "Not needed."}).status == 200
    late = Api.of(team, make.operator(team, "late"))
    answer = late.post(path, {"decision": "run_again", "note": "Again."})
    assert answer.status == 409
    assert "operator" in answer.body["detail"]
    assert "close" in answer.body["detail"]
    assert answer.body["state"] == "CLOSED"
    assert late.get(answer.body["run"]).body["id"] == str(run.id)
    assert Run.objects.get().state == State.CLOSED


def test_a_decision_on_an_earlier_attempt_is_stale(api: Api, unsafe: Job) -> None:
    run = make.run(unsafe, State.REVIEW, attempt=2)
    body = {"decision": "run_again", "note": "Again.", "attempt": 1}
    answer = api.post(f"runs/{run.id}/decide/", body)
    assert (answer.status, answer.body["attempt"]) == (409, 2)
    assert Run.objects.get().state == State.REVIEW


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"note": "x"}, "decision"),
        ({"decision": "maybe", "note": "x"}, "decision"),
        ({"decision": ["close"], "note": "x"}, "decision"),
        ({"decision": "close"}, "note"),
        ({"decision": "close", "note": "  "}, "note"),
        ({"decision": "close", "note": 7}, "note"),
        ({"decision": "close", "note": "x", "attempt": "1"}, "attempt"),
        ({"decision": "close", "note": "x", "attempt": True}, "attempt"),
        ({"decision": "close", "note": "x", "attempt": 10**30}, "attempt"),
        ({"decision": "close", "note": "x", "new_key": True}, "new_key"),
    ],
)
def test_a_decision_that_is_none_is_refused(
    api: Api, unsafe: Job, body: dict[str, Any], field: str
) -> None:
    run = make.run(unsafe, State.REVIEW)
    answer = api.post(f"runs/{run.id}/decide/", body)
    assert (answer.status, answer.fields) == (400, [field])
    assert Run.objects.get().state == State.REVIEW


def test_a_dead_letter_is_discarded_with_the_reason(api: Api, job: Job) -> None:
    run = make.run(job, State.DEAD)
    assert api.post(f"runs/{run.id}/discard/").fields == ["note"]
    answer = api.post(f"runs/{run.id}/discard/", {"note": "Of no use."})
    assert (answer.status, answer.body["state"]) == (200, "CLOSED")


def test_a_run_that_has_not_started_is_cancelled_and_one_that_has_is_asked_to_stop(
    api: Api, job: Job
) -> None:
    waiting, running = make.run(job), make.run(job, State.RUNNING)
    answer = api.post(f"runs/{waiting.id}/cancel/", {"note": "Asked twice."})
    assert (answer.status, answer.body["state"]) == (200, "CANCELLED")
    answer = api.post(f"runs/{running.id}/cancel/")
    assert (answer.status, answer.body["state"]) == (200, "RUNNING")
    running.refresh_from_db()
    assert running.stop_asked_at is not None


@pytest.mark.parametrize("arrow", ["decide", "replay", "discard", "cancel"])
def test_a_run_that_has_ended_moves_no_more(api: Api, job: Job, arrow: str) -> None:
    run = make.run(job, State.SUCCEEDED)
    body = {"note": "x", **({"decision": "close"} if arrow == "decide" else {})}
    assert api.post(f"runs/{run.id}/{arrow}/", body).status == 409


def test_a_list_is_newest_first_and_reads_no_evidence(api: Api, job: Job) -> None:
    made = [str(make.run(job).id) for _ in range(5)]
    with CaptureQueriesContext(connection) as queries:
        page = api.get("runs/?page_size=2")
    (listing,) = [q["sql"] for q in queries.captured_queries if 'FROM "runs_run"' in q["sql"]]
    assert "snapshot" not in listing
    assert "count(" not in listing.lower()
    seen = [run["id"] for run in page.body["results"]]
    while page.body["next"]:
        page = api.get(page.body["next"])
        seen += [run["id"] for run in page.body["results"]]
    assert seen == made[::-1]


def test_a_list_is_filtered(api: Api, job: Job, unsafe: Job) -> None:
    dead, review = make.run(job, State.DEAD), make.run(unsafe, State.REVIEW)

    def ids(query: str) -> set[str]:
        return {run["id"] for run in api.get(f"runs/?{query}").body["results"]}

    assert ids("") == ids("team=payments") == {str(dead.id), str(review.id)}
    assert ids(f"job={job.id}") == ids("state=DEAD") == {str(dead.id)}
    assert ids("state=DEAD&state=REVIEW") == {str(dead.id), str(review.id)}
    assert ids("state=RUNNING") == ids("team=elsewhere") == ids(f"job={uuid4()}") == set()


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("job=7", "job"),
        ("job=", "job"),
        ("state=dead", "state"),
        ("team=%2e", "team"),
        ("page_size=201", "page_size"),
        ("cursor=%00", "cursor"),
        ("order=id", "order"),
    ],
)
def test_a_bad_parameter_is_refused_by_its_name(api: Api, query: str, parameter: str) -> None:
    answer = api.get(f"runs/?{query}")
    assert (answer.status, answer.fields) == (400, [parameter])


def test_the_runs_of_a_deleted_job_stay(api: Api, job: Job) -> None:
    run = make.run(job, State.SUCCEEDED)
    Job.objects.filter(id=job.id).update(deleted_at=clock.now())
    assert api.get(f"runs/{run.id}/").status == 200
    assert api.post(f"jobs/{job.id}/run/").status == 410
