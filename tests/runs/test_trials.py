"""Test requests: marked, recorded, bounded, asked for like a real effect, and no run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from jobs import clock, holds
from jobs.models import Job, Team, User
from runs import asked_of_target, by_hand, housekeeping, key_proof
from runs.models import Run, Trial
from runs.trials import trial
from tests import make
from tests.api import Api
from tests.pages import Browser, Page, typed
from tests.runs.loopback import Loopback
from tests.runs.reviewing import waits

pytestmark = pytest.mark.django_db
AGAIN = b"HTTP/1.1 200 OK\r\nIdempotency-Replayed: true\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def target(settings: LazySettings) -> Iterator[Loopback]:
    settings.EGRESS_ALLOW = "127.0.0.1/32"
    with Loopback() as target:
        yield target


def job_at(team: Team, target: Loopback, **more: Any) -> Job:
    called = {"type": "http", "method": "POST", "url": target.url("/settle"), "body": {"n": 1}}
    called["headers"] = {"Authorization": "Bearer very-secret"}
    return make.job(team, **{"name": "settle", "target": called, **more})


def sent_to(target: Loopback) -> str:
    (request,) = target.requests
    return request.decode()


def hidden(page: Page) -> dict[str, str]:
    fields = page.all("input", type="hidden")
    return {one.attrs["name"]: one.attrs["value"] for one in fields if "name" in one.attrs}


# ── what is sent ─────────────────────────────────────────────────────────────────────────


def test_it_is_marked_and_recorded_and_no_run(team: Team, operator: User, target: Loopback) -> None:
    job = job_at(team, target)
    done = trial.send(trial.of_job(job), confirmed="", by=operator)
    request = sent_to(target)
    assert "Onebeat-Test: true\r\n" in request
    assert f"Idempotency-Key: {job.id}:test:{done.id}\r\n" in request
    assert "Authorization: Bearer very-secret\r\n" in request
    assert "webhook-signature:" in request
    assert "Onebeat-Run" not in request
    assert (done.outcome, done.effect, done.by) == ("succeeded", "done", operator)
    assert done.answer["status"] == 200
    assert "very-secret" not in str([done.sent, done.answer, done.snapshot])
    assert not Run.objects.exists()


def test_a_real_run_is_not_marked(team: Team, target: Loopback) -> None:
    asked = trial.of_job(job_at(team, target))
    assert asked.request.headers["Onebeat-Test"] == "true"
    run = waits(team)
    request = asked_of_target.of_next(run)
    assert request is not None
    assert "Onebeat-Test" not in request.headers


def test_what_is_not_safe_to_repeat_wants_its_name(
    team: Team, operator: User, target: Loopback
) -> None:
    job = job_at(team, target, idempotent=False)
    for said in ("", "settl", "SETTLE"):
        with pytest.raises(trial.NotConfirmed, match="Type “settle”"):
            trial.send(trial.of_job(job), confirmed=said, by=operator)
    assert (target.requests, Trial.objects.count()) == ([], 0)
    assert trial.send(trial.of_job(job), confirmed=" settle ", by=operator).outcome == "succeeded"


def test_a_second_click_is_no_second_call(team: Team, operator: User, target: Loopback) -> None:
    asked = trial.of_job(job_at(team, target))
    first, second = (trial.send(asked, confirmed="", by=operator) for _ in range(2))
    assert first.id == second.id
    assert target.connections == 1


def test_the_id_of_another_teams_is_not_theirs(
    browser: Browser, team: Team, target: Loopback
) -> None:
    job = job_at(team, target)
    theirs = make.trial(make.job(make.team("elsewhere")))
    page = browser.send(f"/jobs/{job.id}/test/", {"trial": str(theirs.id), "send": "1"})
    assert (page.status, target.requests) == (409, [])
    assert "open it anew" in page.words


def test_a_team_sends_ten_a_minute(team: Team, operator: User, target: Loopback) -> None:
    job = job_at(team, target)
    for _ in range(trial.MOST):
        make.trial(job)
    with pytest.raises(trial.TooMany) as refused:
        trial.send(trial.of_job(job), confirmed="", by=operator)
    assert 1 <= refused.value.wait <= 60
    assert target.requests == []
    Trial.objects.update(at=clock.now() - trial.WITHIN)
    assert trial.send(trial.of_job(job), confirmed="", by=operator).outcome == "succeeded"


def test_under_a_hold_nothing_is_sent(team: Team, operator: User, target: Loopback) -> None:
    job = job_at(team, target)
    holds.begin(team, "A move.", by=None)
    with pytest.raises(by_hand.Held):
        trial.send(trial.of_job(job), confirmed="", by=operator)
    assert target.requests == []


def test_what_cannot_be_reached_is_recorded_too(team: Team, operator: User) -> None:
    job = make.job(team, target={"type": "http", "url": "https://nowhere.invalid/"})
    done = trial.send(trial.of_job(job), confirmed="", by=operator)
    assert (done.outcome, done.effect, done.sent) == ("not sent", "none", {})
    assert done.reason


def test_the_same_key_again_proves_that_it_is_honoured(
    team: Team, operator: User, settings: LazySettings
) -> None:
    settings.EGRESS_ALLOW = "127.0.0.1/32"
    with Loopback(AGAIN) as target:
        job = job_at(team, target, idempotent=False)
        run = waits(team, job=job)
        first = trial.send(trial.of_job(job), confirmed="settle", by=operator)
        second = trial.send(trial.once_more(first), confirmed="settle", by=operator)
    keys = [line for one in target.requests for line in one.decode().split("\r\n") if "Key" in line]
    assert len(set(keys)) == 1
    tries = [
        line for one in target.requests for line in one.decode().split("\r\n") if "Att" in line
    ]
    assert tries == ["Onebeat-Attempt: 1", "Onebeat-Attempt: 2"]
    assert (second.key, second.same_key_as_id) == (first.key, first.id)
    assert key_proof.of(run).trial_id == second.id
    third = trial.once_more(second)
    assert third.same_key_as == first
    assert third.request.headers["Onebeat-Attempt"] == "3"


def test_old_ones_go_with_the_runs_batch_by_batch(
    team: Team, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    job = make.job(team)
    new, *old = (make.trial(job) for _ in range(6))
    kept = timedelta(days=settings.KEEP_RUNS_DAYS)
    past = Trial.objects.filter(id__in=[one.id for one in old])
    past.update(at=clock.now() - kept - timedelta(hours=1))
    housekeeping.retention()
    assert list(Trial.objects.values_list("id", flat=True)) == [new.id]


# ── the pages ────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_the_exact_request_and_asks(
    browser: Browser, team: Team, target: Loopback
) -> None:
    job = job_at(team, target, idempotent=False)
    page = browser.get(f"/jobs/{job.id}/test/")
    shown = page.all("pre")[0].text
    assert shown.startswith(f"POST {target.url('/settle')}\n")
    assert "Onebeat-Test: true" in shown
    assert "very-secret" not in page.html
    assert "not safe to repeat" in page.words
    refused = browser.send(f"/jobs/{job.id}/test/", {**hidden(page), "confirmed": "x", "send": "1"})
    assert (refused.status, target.requests) == (422, [])
    assert "Type “settle”" in refused.error("confirmed")
    assert hidden(refused)["trial"] == hidden(page)["trial"]
    fields = {**hidden(page), "confirmed": "settle", "send": "1"}
    done = browser.send(f"/jobs/{job.id}/test/", fields)
    assert done.url == f"/tests/{hidden(page)['trial']}/"
    assert "Test request: succeeded, 200" in done.words
    assert "Not tried: send the same once more" in done.words
    assert browser.send(f"/jobs/{job.id}/test/", fields).url == done.url
    assert len(target.requests) == 1
    again = browser.send(done.url, {"confirmed": "settle"})
    assert "Not proven: the same key was sent again" in again.words
    assert "succeeded" in browser.get(f"/jobs/{job.id}/test/").words, "those sent before"


def test_a_task_is_not_tried_out(browser: Browser, team: Team) -> None:
    job = make.job(team)
    Job.objects.filter(id=job.id).update(
        target={"type": "task", "name": "t", "args": [], "kwargs": {}}
    )
    assert "Its target is a task" in browser.get(f"/jobs/{job.id}/test/").words
    assert "Test request…" not in browser.get(f"/jobs/{job.id}/").words


def test_too_many_are_told_when_the_next_may_go(
    browser: Browser, team: Team, target: Loopback
) -> None:
    job = job_at(team, target)
    for _ in range(trial.MOST):
        make.trial(job)
    page = browser.send(f"/jobs/{job.id}/test/", {"send": "1"})
    assert (page.status, "10 test requests a minute" in page.words) == (429, True)


def test_what_is_typed_is_tried_out_and_not_saved(team: Team, target: Loopback) -> None:
    browser = Browser(make.editor(team))
    fields = typed(url=target.url("/x?k={{key}}"), idempotent="", name="to be")
    page = browser.send("/jobs/test/", fields)
    assert "counts as not" in page.words
    assert f"/x?k={team.id}%3Atest%3A" in page.all("pre")[0].text
    assert "very-secret" not in page.all("pre")[0].text
    assert target.requests == []
    done = browser.send("/jobs/test/", {**hidden(page), "confirmed": "to be", "send": "1"})
    assert "Test request: succeeded" in done.words
    assert "Authorization: Bearer very-secret" in sent_to(target)
    assert not Job.objects.exists()


def test_a_mask_stands_for_the_secret_of_the_job_that_is_edited(
    team: Team, target: Loopback
) -> None:
    browser, job = Browser(make.editor(team)), job_at(team, target)
    fields = typed(url=target.url("/new"), headers="Authorization: ********", job=str(job.id))
    page = browser.send("/jobs/test/", fields)
    browser.send("/jobs/test/", {**hidden(page), "send": "1"})
    assert "Authorization: Bearer very-secret" in sent_to(target)
    elsewhere = browser.send("/jobs/test/", {**fields, "url": "https://other.example/"})
    assert (elsewhere.status, "another host" in elsewhere.words) == (422, True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "http://10.0.0.1/"}, "URL"),
        ({"url": "nonsense"}, "URL"),
        ({"body": "{"}, "Body"),
        ({"name": " "}, "Name"),
        ({"target_kind": "task"}, "Its target is a task"),
        ({"team": "other"}, "whose jobs you may edit"),
        ({"headers": "Authorization: ********"}, "stands for a value that is not there"),
    ],
)
def test_what_cannot_be_called_is_refused_by_its_field(
    team: Team, changes: dict[str, str], said: str
) -> None:
    page = Browser(make.editor(team)).send("/jobs/test/", typed(**changes, send="1"))
    assert page.status == 422
    assert said in page.words
    assert not Trial.objects.exists()


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_the_api_sends_one_and_lists_them(api: Api, team: Team, target: Loopback) -> None:
    job = job_at(team, target, idempotent=False)
    refused = api.post(f"jobs/{job.id}/test/")
    assert (refused.status, refused.fields) == (400, ["confirm"])
    sent = api.post(f"jobs/{job.id}/test/", {"confirm": "settle"})
    assert (sent.status, sent.body["outcome"], sent.body["by"]) == (201, "succeeded", "operator")
    assert sent.body["sent"]["headers"]["Onebeat-Test"] == "true"
    again = {"confirm": "settle", "same_key_as": sent.body["id"]}
    assert api.post(f"jobs/{job.id}/test/", again).body["key"] == sent.body["key"]
    assert len(api.get(f"jobs/{job.id}/test/").body["results"]) == 2
    wrong = api.post(f"jobs/{job.id}/test/", {**again, "same_key_as": "x"})
    assert (wrong.status, wrong.fields) == (400, ["same_key_as"])


def test_the_api_tells_a_bound_and_a_hold(api: Api, team: Team, target: Loopback) -> None:
    job = job_at(team, target)
    for _ in range(trial.MOST):
        make.trial(job)
    many = api.post(f"jobs/{job.id}/test/")
    assert many.status == 429
    assert "Try again in" in many.body["detail"]
    holds.begin(team, "A move.", by=None)
    assert api.post(f"jobs/{job.id}/test/").status == 409
    assert target.requests == []
