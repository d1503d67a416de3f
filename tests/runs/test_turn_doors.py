"""What the API and the pages say and allow about runs that wait, are skipped or are stopped."""

from __future__ import annotations

import pytest

from jobs import clock
from jobs.models import Job, Team, User
from runs.models import Run
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(team: Team, editor: User) -> Api:
    return Api.of(team, editor)


@pytest.fixture
def browser(editor: User) -> Browser:
    return Browser(editor)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", overlap="queue")


@pytest.fixture
def active(job: Job) -> Run:
    return make.run(job, State.RUNNING)


@pytest.fixture
def waiting(job: Job, active: Run) -> Run:
    reason = f"Waits for run {active.id} by hand to end."
    return make.run(job, State.WAITING, reason=reason, blocked_by=active.id)


def test_a_run_by_hand_of_a_busy_job_is_409_and_names_the_run(
    api: Api, job: Job, active: Run
) -> None:
    answer = api.post(f"jobs/{job.id}/run/")
    assert answer.status == 409
    assert answer.body["run"].endswith(f"/api/v1/runs/{active.id}/")
    assert answer.body["state"] == "RUNNING"
    assert str(active.id) in answer.body["detail"]
    assert Run.objects.count() == 1


def test_the_api_says_what_a_run_waits_for_and_lists_those_that_do(
    api: Api, active: Run, waiting: Run
) -> None:
    shown = api.get(f"runs/{waiting.id}/").body
    assert (shown["state"], shown["blocked_by"]) == ("WAITING", str(active.id))
    assert str(active.id) in shown["reason"]
    (listed,) = api.get("runs/?state=WAITING").body["results"]
    assert listed["id"] == str(waiting.id)


def test_the_api_takes_back_what_waits(api: Api, waiting: Run) -> None:
    assert api.post(f"runs/{waiting.id}/cancel/", {}).body["state"] == "CANCELLED"


def test_the_api_replays_into_the_queue(api: Api, job: Job, active: Run) -> None:
    dead = make.run(job, State.DEAD)
    assert api.post(f"runs/{dead.id}/replay/", {}).body["state"] == "WAITING"


def test_a_job_is_edited_through_the_api_and_refused_by_the_field(api: Api, job: Job) -> None:
    shown = api.get(f"jobs/{job.id}/").body
    assert (shown["overlap"], shown["block_on_review"]) == ("queue", False)
    answer = api.patch(f"jobs/{job.id}/", {"overlap": "queue_all", "queue_limit": 7})
    assert (answer.body["overlap"], answer.body["queue_limit"]) == ("queue_all", 7)
    answer = api.patch(f"jobs/{job.id}/", {"overlap": "cancel", "idempotent": False})
    assert (answer.status, answer.fields) == (400, ["overlap"])
    job.refresh_from_db()
    assert job.overlap == "queue_all"


def test_the_pages_tell_who_waits_by_word_and_sign_and_for_what(
    browser: Browser, job: Job, active: Run, waiting: Run
) -> None:
    page = browser.get(f"/runs/{waiting.id}/")
    assert "Waiting" in page.words
    assert "Waits for a run by hand to end." in page.words
    assert "#glyph-waiting" in page.html
    assert page.all("a", href=f"/runs/{active.id}/")
    assert page.all("form", action=f"/runs/{waiting.id}/cancel/")
    listed = browser.get("/runs/?state=WAITING")
    assert listed.all("tr", id=f"run-{waiting.id}")
    assert not listed.all("tr", id=f"run-{active.id}")


def test_a_page_tells_that_a_run_was_asked_to_stop(browser: Browser, active: Run) -> None:
    Run.objects.filter(id=active.id).update(stop_asked_at=clock.now())
    assert "Asked to stop" in browser.get(f"/runs/{active.id}/").words


def test_run_now_of_a_busy_job_leads_to_the_run_that_is_in_the_way(
    browser: Browser, job: Job, active: Run
) -> None:
    assert "one at a time" in browser.get(f"/jobs/{job.id}/run-now/").words
    page = browser.post(f"/jobs/{job.id}/run-now/")
    assert "Nothing was started" in page.words
    assert page.url == f"/runs/{active.id}/"


@pytest.mark.parametrize(
    ("fields", "overlap", "blocks"),
    [
        ({}, "skip", False),
        ({"idempotent": "no"}, "queue", False),
        ({"idempotent": "no", "block_on_review": "on"}, "queue", True),
        ({"idempotent": "yes", "block_on_review": "on"}, "skip", False),  # nothing is reviewed
        ({"overlap": "cancel"}, "cancel", False),
        ({"overlap": "queue_all", "queue_limit": "5"}, "queue_all", False),
    ],
)
def test_the_form_says_how_runs_overlap(
    browser: Browser, team: Team, fields: dict[str, str], overlap: str, blocks: bool
) -> None:
    browser.send("/jobs/new/", {**typed(**fields), "save": "1"})
    job = Job.objects.get()
    assert (job.overlap, job.block_on_review) == (overlap, blocks)
    assert job.queue_limit == int(fields.get("queue_limit", 100))


@pytest.mark.parametrize(
    "fields", [{"idempotent": "no"}, {"catch_up_policy": "all"}, {"overlap": "sometimes"}]
)
def test_the_form_shows_what_is_wrong_at_the_field(
    browser: Browser, fields: dict[str, str]
) -> None:
    page = browser.send("/jobs/new/", {**typed(**{"overlap": "cancel", **fields}), "save": "1"})
    assert page.status == 422
    assert page.error("overlap")
    assert not Job.objects.exists()


def test_the_form_is_opened_with_the_box_ticked(browser: Browser) -> None:
    (box,) = browser.get("/jobs/new/").all("input", name="block_on_review")
    assert "checked" in box.attrs


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        ("skip", "is skipped, and recorded"),
        ("queue", "one waits"),
        ("queue_all", "all wait in order, at most 100"),
        ("allow", "side by side"),
        ("cancel", "asked to stop"),
    ],
)
def test_the_page_of_a_job_says_it_in_words(
    browser: Browser, team: Team, overlap: str, words: str
) -> None:
    job = make.job(team, name=overlap, overlap=overlap)
    assert words in browser.get(f"/jobs/{job.id}/?tab=settings").words
