"""A target that answers 202 and reports later: settled once, under its attempt, or unknown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings as Settings
from django.db import connection

from jobs import clock
from jobs.definitions import definitions
from jobs.models import Job, Team
from runs import execute, placing, reports, rescue
from runs.models import Attempt, IdempotencyKey, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from runs.targets import http
from tests import make
from tests.api import Answer, Api
from tests.pages import Browser
from tests.runs.loopback import Loopback

pytestmark = pytest.mark.django_db

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
FAILED = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"


def job(of: Team, url: str, **changes: Any) -> Job:
    target = {"type": "http", "method": "POST", "url": url}
    shape = {"name": f"job {uuid4()}", "target": target, "completion": "callback", "timeout": 5}
    return make.job(of, **{**shape, **changes})


@pytest.fixture
def carried_out(team: Team, settings: Settings) -> Callable[..., tuple[Run, str]]:
    """A run whose target answers so, as it stands then, and the secret that the call had."""
    settings.EGRESS_ALLOW = "127.0.0.1/32"

    def carry_out(answer: bytes = ACCEPTED, **changes: Any) -> tuple[Run, str]:
        with Loopback(answer) as target:
            run = make.run(job(team, target.url(), **changes), State.ENQUEUED)
            execute.run(run.id, worker="w")
        run.refresh_from_db()
        return run, secret_of(target.requests[0])

    return carry_out


def secret_of(request: bytes) -> str:
    lines = request.partition(b"\r\n\r\n")[0].decode().splitlines()
    return next((line[18:] for line in lines if line.startswith("Onebeat-Callback: ")), "")


def told(run: Run, secret: str, **said: Any) -> Answer:
    headers = {"Onebeat-Callback": secret}
    return Api().call("POST", f"runs/{run.id}/complete/", {"outcome": "succeeded", **said}, headers)


def test_a_202_keeps_it_running_until_its_target_reports(
    carried_out: Callable[..., tuple[Run, str]], api: Api, browser: Browser
) -> None:
    run, secret = carried_out(deadline=3600)
    assert (run.state, run.effect) == ("RUNNING", "none")
    assert run.started_at is not None
    assert run.report_until == run.lease_until == run.started_at + timedelta(seconds=3600)
    shown = api.get(f"runs/{run.id}/").body
    assert shown["report_until"] == api.get("runs/").body["results"][0]["report_until"]
    assert shown["attempts"][0]["sent"]["headers"]["Onebeat-Callback"] == "********"
    assert "report of its target" in browser.get(f"/runs/{run.id}/").words
    answer = told(run, secret, reason="closed", answer={"lines": 3})
    assert (answer.status, answer.body["state"]) == (200, "SUCCEEDED")
    run.refresh_from_db()
    attempt = run.attempts.get()
    assert (run.state, run.effect, run.report_until) == ("SUCCEEDED", "done", None)
    assert attempt.reported_at is not None
    assert attempt.answer == {"report": "succeeded", "value": {"lines": 3}}
    assert IdempotencyKey.objects.get().answer == attempt.answer
    assert secret not in str([*Attempt.objects.values(), *Run.objects.values()])


@pytest.mark.parametrize(
    ("outcome", "idempotent", "state", "effect"),
    [
        ("failed", True, "RETRYING", "maybe"),
        ("failed", False, "REVIEW", "maybe"),
        ("refused", True, "DEAD", "none"),
        ("refused", False, "REVIEW", "none"),
    ],
)
def test_a_report_is_settled_by_the_table(
    carried_out: Callable[..., tuple[Run, str]],
    outcome: str,
    idempotent: bool,
    state: str,
    effect: str,
) -> None:
    run, secret = carried_out(idempotent=idempotent)
    assert told(run, secret, outcome=outcome, reason="no such book").body["state"] == state
    run.refresh_from_db()
    assert (run.state, run.effect, run.failures) == (state, effect, 1)
    assert "no such book" in run.reason


def test_a_second_report_is_refused_with_the_state_and_changes_nothing(
    carried_out: Callable[..., tuple[Run, str]],
) -> None:
    run, secret = carried_out()
    told(run, secret)
    second = told(run, secret, outcome="failed")
    assert (second.status, second.body["state"], second.body["attempt"]) == (409, "SUCCEEDED", 1)
    run.refresh_from_db()
    assert (run.state, run.attempts.get().late) == ("SUCCEEDED", None)


def test_a_wrong_secret_is_as_unknown_as_a_wrong_run(
    carried_out: Callable[..., tuple[Run, str]],
) -> None:
    run, secret = carried_out()
    other = Run(id=uuid4())
    for said in (told(run, ""), told(run, "1.guess"), told(run, secret + "x"), told(other, secret)):
        assert (said.status, said.body) == (404, told(other, "").body)
    assert told(run, f"٣.{secret}").status == 404
    assert told(run, secret, outcome="done").fields == ["outcome"]
    assert told(run, secret, note="?").fields == ["note"]
    run.refresh_from_db()
    assert run.state == "RUNNING"


def test_a_report_that_comes_before_the_202_was_read_counts(
    team: Team, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EGRESS_ALLOW = "127.0.0.1/32"
    real = http.PreparedRequest.perform

    def told_meanwhile(request: http.PreparedRequest) -> Outcome:
        outcome = real(request)
        assert outcome.kind is Kind.ACCEPTED
        assert told(run, secret_of(target.requests[0])).body["state"] == "SUCCEEDED"
        return outcome

    monkeypatch.setattr(http.PreparedRequest, "perform", told_meanwhile)
    with Loopback(ACCEPTED) as target:
        run = make.run(job(team, target.url()), State.ENQUEUED)
        assert execute.run(run.id, worker="w") is None
    run.refresh_from_db()
    assert (run.state, run.attempts.get().late) == ("SUCCEEDED", None)


@pytest.mark.parametrize(("idempotent", "state"), [(True, "RETRYING"), (False, "REVIEW")])
def test_no_report_by_the_deadline_is_an_unknown_outcome(
    carried_out: Callable[..., tuple[Run, str]], idempotent: bool, state: str
) -> None:
    run, secret = carried_out(idempotent=idempotent)
    assert rescue.silent_workers() == 0
    Run.objects.filter(id=run.id).update(lease_until=clock.now() - timedelta(seconds=1))
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    attempt = run.attempts.get()
    assert (run.state, run.effect, attempt.outcome) == (state, "maybe", "unknown")
    assert attempt.answer["status"] == 202  # what came before stays
    late = told(run, secret)
    assert (late.status, late.body["state"]) == (409, state)
    attempt.refresh_from_db()
    assert attempt.late is not None
    assert attempt.late["kind"] == "succeeded"
    assert attempt.reported_at is not None


def test_each_attempt_has_a_secret_of_its_own(
    carried_out: Callable[..., tuple[Run, str]], settings: Settings
) -> None:
    run, first = carried_out(FAILED, retries={"backoff": 0})
    assert run.state == "RETRYING"
    with Loopback(ACCEPTED) as target:
        Run.objects.filter(id=run.id).update(snapshot=run.snapshot | {"url": target.url()})
        execute.run(run.id, worker="w")
    second = secret_of(target.requests[0])
    assert told(run, first).status == 409
    assert told(run, second).status == 200


def test_one_that_is_asked_to_stop_while_its_report_is_waited_for_is_cancelled(
    carried_out: Callable[..., tuple[Run, str]],
) -> None:
    run, secret = carried_out(overlap="cancel")
    with connection.cursor() as cursor:
        placing._stop(cursor, [run.id], clock.now())
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert (run.state, run.effect) == ("CANCELLED", "maybe")
    assert told(run, secret).body["state"] == "CANCELLED"


def test_one_that_was_asked_to_stop_before_its_202_does_not_wait(team: Team) -> None:
    run = make.run(job(team, "https://ledger.example/"), State.RUNNING, stop_asked_at=clock.now())
    Attempt.objects.create(run=run, number=1, lease_id=uuid4(), worker="w", started_at=clock.now())
    accepted = Outcome(Kind.ACCEPTED, Effect.MAYBE, "202", 202)
    assert reports.wait_for(run.id, 1, accepted) is State.CANCELLED


def test_other_answers_of_such_a_target_end_the_run_at_once(
    carried_out: Callable[..., tuple[Run, str]],
) -> None:
    done, _ = carried_out(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert done.state == "SUCCEEDED"
    refused, _ = carried_out(FAILED, refusal_codes=[500])
    assert (refused.state, refused.effect) == ("DEAD", "none")


def test_who_answers_is_sent_no_secret_and_its_202_is_an_answer(
    carried_out: Callable[..., tuple[Run, str]],
) -> None:
    run, secret = carried_out(completion="answer")
    assert (run.state, secret, run.attempts.get().callback_digest) == ("SUCCEEDED", "", "")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"completion": "later"}, "completion"),
        ({"completion": True}, "completion"),
        ({"completion": "callback", "deadline": 60, "timeout": 61}, "deadline"),
        ({"deadline": 0}, "deadline"),
        ({"deadline": 30 * 86_400 + 1}, "deadline"),
        ({"deadline": 10**400}, "deadline"),
        ({"refusal_codes": [200]}, "refusal_codes"),
        ({"refusal_codes": [True]}, "refusal_codes"),
        ({"refusal_codes": "409"}, "refusal_codes"),
        ({"refusal_codes": list(range(400, 421))}, "refusal_codes"),
        ({"late_after": 0}, "late_after"),
    ],
)
def test_a_field_that_cannot_be_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(definitions.DefinitionError) as refused:
        make.definition(**changes)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_the_terms_of_a_run_are_those_of_its_version(team: Team, editor_api: Api) -> None:
    of = job(team, "https://ledger.example/", deadline=77, refusal_codes=[503, 409, 409])
    shown = editor_api.get(f"jobs/{of.id}/").body
    assert (shown["completion"], shown["deadline"]) == ("callback", 77)
    assert shown["refusal_codes"] == [409, 503]
    changed = {"deadline": 78, "completion": "answer", "refusal_codes": [], "late_after": 5}
    assert editor_api.patch(f"jobs/{of.id}/", changed).status == 200
    newest = editor_api.get(f"jobs/{of.id}/versions/").body["results"][0]["changes"]
    assert newest["deadline"] == {"from": 77, "to": 78}
    assert newest["refusal_codes"] == {"from": [409, 503], "to": []}
    assert set(newest) == set(changed)


@pytest.fixture
def editor_api(team: Team) -> Api:
    return Api.of(team, make.editor(team))
