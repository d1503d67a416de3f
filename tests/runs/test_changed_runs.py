"""A run with changes: another path, body or arguments, once; the job stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import holds
from jobs.models import AuditEvent, Job, Team, User
from runs.models import Run
from runs.states import Origin, State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db

HTTP = {
    "type": "http",
    "method": "PUT",
    "url": "https://ledger.example/settle?day={{date}}",
    "headers": {"Authorization": "Bearer very-secret"},
    "body": {"book": "EQ", "key": "{{key}}"},
}


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, target=HTTP)


@pytest.fixture
def pages(editor: User) -> Browser:
    return Browser(editor)


def newest(job: Job) -> Run:
    return Run.objects.filter(job=job).order_by("-id")[0]


def where(job: Job) -> str:
    return f"/jobs/{job.id}/run-changed/"


def test_it_calls_what_was_typed_with_the_jobs_secrets_and_a_key_of_its_own(
    pages: Browser, job: Job
) -> None:
    page = pages.get(where(job))
    assert page.value("url") == HTTP["url"] and '"book": "EQ"' in page.value("body")
    url = "https://ledger.example/settle-one"
    done = pages.post(where(job), url=url, body='{"book": "FX", "key": "{{key}}"}')
    run = newest(job)
    assert done.url == f"/runs/{run.id}/" and "with changes is on its way" in done.words
    assert (run.origin, run.state, run.due_at) == (Origin.HAND, State.CLAIMED, None)
    assert run.snapshot["body"] == {"book": "FX", "key": run.key}
    assert (run.snapshot["method"], run.snapshot["url"]) == ("PUT", url)
    assert run.snapshot["headers"] == job.target["headers"], "sealed as the job keeps it"
    before = job.target
    job.refresh_from_db()
    assert job.target == before and job.version == 1


def test_it_is_filled_in_from_a_run_as_that_called_its_key_anew(pages: Browser, job: Job) -> None:
    old = make.run(job, State.SUCCEEDED)
    called = {**job.target, "url": "https://ledger.example/settle?day=2026-11-27"}
    called["body"] = {"book": "EQ", "key": old.key, "said": "{{"}
    Run.objects.filter(id=old.id).update(snapshot=called)
    page = pages.get(f"{where(job)}?like={old.id}")
    assert page.value("url") == called["url"]
    assert '"key": "{{key}}"' in page.value("body") and '"said": "{{{{"' in page.value("body")
    pages.post(where(job), like=old.id, url=page.value("url"), body=page.value("body"))
    run = newest(job)
    assert run.snapshot["body"] == {"book": "EQ", "key": run.key, "said": "{{"}
    shown = pages.get(f"/runs/{run.id}/")
    assert shown.all("a", href=f"/runs/{old.id}/"), "the new one leads to the old one"
    assert "target.url in place of the job’s" in shown.words
    event = AuditEvent.objects.get(run_id=run.id, verb="run.by_hand")
    assert {line["part"] for line in event.lines} >= {"target.url"}
    assert "very-secret" not in str(event.lines)


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"url": "https://evil.example/"}, "url", "at another host than the job’s"),
        ({"url": "nonsense"}, "url", ""),
        ({"body": "{no json"}, "body", "Write JSON"),
        ({"body": '{"a": "{{nothing}}"}'}, "body", "nothing"),
    ],
)
def test_what_cannot_be_called_is_said_at_its_field(
    pages: Browser, job: Job, typed: dict[str, str], field: str, said: str
) -> None:
    page = pages.post(where(job), **{"url": HTTP["url"], "body": "", **typed})
    assert page.status == 422
    assert page.error(field) and said in page.error(field)
    assert page.value(field) == typed[field], "what was typed stays"
    assert not Run.objects.exists()


def test_a_job_that_is_not_safe_to_repeat_wants_its_name(pages: Browser, team: Team) -> None:
    job = make.job(team, target=HTTP, idempotent=False, name="settle")
    assert "not safe to repeat" in pages.get(where(job)).words
    page = pages.post(where(job), url=HTTP["url"], body="", confirmed="other")
    assert page.status == 422 and "Nothing was run" in page.error("confirmed")
    assert not Run.objects.exists()
    pages.post(where(job), url=HTTP["url"], body="", confirmed="settle")
    assert newest(job).snapshot["body"] is None


def test_a_hold_and_a_run_under_way_keep_what_was_typed(pages: Browser, team: Team) -> None:
    job = make.job(team, target=HTTP, overlap="skip")
    active = make.run(job, State.RUNNING)
    page = pages.post(where(job), url=HTTP["url"], body='{"kept": 1}')
    assert page.status == 409 and page.all("a", href=f"/runs/{active.id}/")
    assert page.value("body") == '{"kept": 1}'
    holds.begin(team, "A move.", by=None)
    page = pages.post(where(job), url=HTTP["url"], body="")
    assert page.status == 409 and "A move." in page.words
    assert Run.objects.count() == 1


def test_a_task_is_given_other_arguments(pages: Browser, team: Team) -> None:
    job = make.job(team, target={"type": "task", "name": "onebeat.sessions"})
    page = pages.get(where(job))
    assert not page.all("input", name="url") and page.value("args") == "[]"
    page = pages.post(where(job), args="[1]", kwargs="")
    assert page.status == 422 and "onebeat.sessions" in page.error("args")
    pages.post(where(job), args="", kwargs="")
    assert newest(job).snapshot == job.target


def test_an_operator_is_offered_none(browser: Browser, job: Job, editor: User) -> None:
    run = make.run(job, State.SUCCEEDED)
    offer = f"{where(job)}?like={run.id}"
    assert not browser.get(f"/runs/{run.id}/").all("a", href=offer)
    assert Browser(editor).get(f"/runs/{run.id}/").all("a", href=offer)


def test_the_api_takes_the_same_of_an_editor(team: Team, editor: User, api: Api, job: Job) -> None:
    path, changes = f"jobs/{job.id}/run/", {"body": {"book": "FX"}}
    assert api.call("POST", path, {"changes": changes}).status == 403, "an operator"
    old = make.run(job, State.SUCCEEDED)
    answer = Api.of(team, editor).call("POST", path, {"changes": changes, "like": str(old.id)})
    assert answer.status == 201
    run = Run.objects.get(id=answer.body["id"])
    assert run.snapshot["body"] == {"book": "FX"} and "2" in run.snapshot["url"]
    assert f"after the run {old.id}" in AuditEvent.objects.get(run_id=run.id).reason


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"changes": {}}, "changes"),
        ({"changes": {"method": "GET"}}, "changes"),
        ({"changes": {"headers": {"X": "1"}}}, "changes"),
        ({"changes": []}, "changes"),
        ({"changes": {"url": "https://evil.example/"}}, "target.url"),
        ({"changes": {"url": 7}}, "target.url"),
        ({"changes": {"body": 1}, "for": "2026-01-01T00:00:00Z"}, "changes"),
        ({"changes": {"body": 1}, "like": "x"}, "like"),
        ({"changes": {"body": 1}, "like": "0192f0c1-0000-7000-8000-000000000000"}, "like"),
        ({"like": "0192f0c1-0000-7000-8000-000000000000"}, "like"),
    ],
)
def test_the_api_says_which_change_it_does_not_understand(
    team: Team, editor: User, job: Job, body: dict[str, Any], field: str
) -> None:
    answer = Api.of(team, editor).call("POST", f"jobs/{job.id}/run/", body)
    assert answer.status == 400, answer.body
    assert answer.body["errors"][0]["field"] == field and answer.body["errors"][0]["hint"]
    assert not Run.objects.exists()
