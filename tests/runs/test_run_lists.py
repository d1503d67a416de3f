"""The lists of jobs and runs: filters, pages, counts."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing
from jobs.models import Job, Team
from runs.models import Attempt
from runs.states import Origin, State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, idempotent=False, runbook="Ask the ledger.")


# ── lists ────────────────────────────────────────────────────────────────────────────────


def test_the_jobs_show_what_became_of_each_last(browser: Browser, team: Team, job: Job) -> None:
    make.run(job, State.SUCCEEDED)
    last = make.run(job, State.REVIEW)
    make.job(team, name="never-ran")
    page = browser.get("/jobs/")
    states = [one.text.strip() for one in page.all("a", href=f"/runs/{last.id}/")]
    assert states == ["Needs review"]
    strips = [one.attrs["aria-label"] for one in page.all("svg", class_="strip")]
    assert strips == ["The last 2 runs, oldest first: 1 succeeded, 1 in review"]
    assert "not run yet" in page.words


def test_the_jobs_are_filtered_by_text_team_and_state(
    browser: Browser, team: Team, job: Job
) -> None:
    paused = make.job(team, name="paused-one", description="Moves the LEDGER.")
    editing.pause(paused.id, editing.Pause("why"), by=None)
    finished = make.job(team, name="finished-one")
    finished.due.delete()

    def names(query: str) -> set[str]:
        return {a.text for a in browser.get(f"/jobs/?{query}").all("a", class_="name")}

    assert names("") == {job.name, "paused-one", "finished-one"}
    assert names("q=PAUSED") == names("q=ledger") == {"paused-one"}
    assert names("state=paused") == {"paused-one"}
    assert names("state=finished") == {"finished-one"}
    assert names("state=active") == {job.name}
    assert names("team=payments&q=one&state=finished") == {"finished-one"}


def test_a_run_says_how_long_it_took_and_how_soon_it_began(browser: Browser, job: Job) -> None:
    due = clock.now() - timedelta(hours=1)
    begun = {"origin": Origin.SCHEDULE, "due_at": due, "started_at": due + timedelta(seconds=4)}
    run = make.run(job, State.SUCCEEDED, **begun, attempt=1)
    ended = {"ended_at": due + timedelta(seconds=84), "outcome": "succeeded", "effect": "done"}
    Attempt.objects.create(run=run, number=1, worker="w", lease_id=uuid4(), started_at=due, **ended)
    for path in ("/runs/", f"/jobs/{job.id}/runs/"):
        assert "1 m 20 s began after 4 s" in browser.get(path).words, path


def test_of_a_second_attempt_no_wait_is_told(browser: Browser, job: Job) -> None:
    due = clock.now() - timedelta(hours=1)
    begun = {"origin": Origin.SCHEDULE, "due_at": due, "started_at": clock.now()}
    make.run(job, State.REVIEW, **begun, attempt=2)
    assert "began after" not in browser.get("/runs/").words


def test_an_empty_list_tells_none_yet_from_filtered_away(browser: Browser, job: Job) -> None:
    assert "No job matches this filter" in browser.get("/jobs/?q=zzz").words
    assert "There are no runs yet" in browser.get("/runs/").words
    assert "No run matches" in browser.get("/runs/?state=DEAD").words
    editing.delete(job.id, by=None)
    assert "There are no jobs yet" in browser.get("/jobs/").words


@pytest.mark.parametrize("query", ["state=NOPE", "team=elsewhere", "job=1", "since=x"])
def test_a_filter_that_is_none_is_refused_and_shows_nothing(
    browser: Browser, job: Job, query: str
) -> None:
    run = make.run(job)
    page = browser.get(f"/runs/?{query}")
    assert page.status == 200
    assert not page.all("tr", id=f"run-{run.id}")


def test_the_runs_are_filtered(browser: Browser, team: Team, job: Job) -> None:
    other = make.job(team, name="other")
    mine, theirs = make.run(job, State.REVIEW), make.run(other, State.RUNNING)

    def shown(query: str) -> set[str]:
        rows = browser.get(f"/runs/?{query}").all("tr")
        return {row.attrs["id"] for row in rows if "id" in row.attrs}

    assert shown("") == {f"run-{mine.id}", f"run-{theirs.id}"}
    assert shown("state=REVIEW") == shown(f"job={job.id}") == {f"run-{mine.id}"}
    assert shown("team=payments&state=RUNNING") == {f"run-{theirs.id}"}


@pytest.mark.parametrize(("path", "state"), [("/runs/", State.CLAIMED), ("/review/", State.REVIEW)])
def test_pages_follow_one_another_without_a_gap(
    browser: Browser, job: Job, monkeypatch: pytest.MonkeyPatch, path: str, state: State
) -> None:
    monkeypatch.setattr("runs.dashboard.lists.views.SIZE", 2)
    monkeypatch.setattr("runs.review.shown.SIZE", 2)
    runs = [make.run(job, state) for _ in range(5)]
    seen: list[str] = []
    address = path
    while address:
        page = browser.get(address)
        seen += [row.attrs["id"] for row in page.all("tr") if "id" in row.attrs]
        more = page.all("a", rel="next")
        address = path + more[0].attrs["href"] if more else ""
    wanted = [f"run-{run.id}" for run in runs]
    assert seen == (wanted if path == "/review/" else wanted[::-1])


def test_the_jobs_page_by_name(
    browser: Browser, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.dashboard.lists.views.SIZE", 2)
    for name in ("c", "a", "e", "b", "d"):
        make.job(team, name=name)
    seen: list[str] = []
    address = "/jobs/"
    while address:
        page = browser.get(address)
        seen += [a.text for a in page.all("a", class_="name")]
        more = page.all("a", rel="next")
        address = "/jobs/" + more[0].attrs["href"] if more else ""
    assert seen == ["a", "b", "c", "d", "e"]


def test_the_rail_counts_what_waits(browser: Browser, team: Team, job: Job) -> None:
    safe = make.job(team, name="safe")
    make.run(job, State.REVIEW)
    make.run(safe, State.DEAD)
    make.run(safe, State.DEAD)
    page = browser.get("/jobs/")
    assert [count.text.strip() for count in page.all("span", class_="count ask")] == ["1 waiting"]
    assert [count.text.strip() for count in page.all("span", class_="count bad")] == ["2 waiting"]


def test_a_list_reads_no_snapshot_and_asks_as_often_for_many_as_for_few(
    browser: Browser, job: Job
) -> None:
    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as context:
            browser.get("/runs/")
        return [query["sql"] for query in context.captured_queries]

    make.run(job)
    few = queries()
    for _ in range(20):
        make.run(job)
    many = queries()
    assert len(many) == len(few)
    assert not any("snapshot" in sql for sql in many)


def test_a_list_says_of_how_many_attempts_each_is(browser: Browser, job: Job, team: Team) -> None:
    safe = make.job(team, name="safe")
    make.run(safe, State.DEAD)  # each of its attempts was used up
    make.run(safe)  # it has not started
    make.run(safe, State.SUCCEEDED, attempt=9)  # by a replay beyond them
    make.run(job, State.REVIEW)  # of a job that is tried once
    cells = browser.get("/runs/").all("td", data_label="Attempts")
    assert [" ".join(cell.text.split()) for cell in cells] == ["1", "9", "0", "5 of 5"]
