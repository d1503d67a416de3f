"""The pages of runs: what they tell."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from jobs import clock
from jobs.models import Job, Team, User
from runs.models import Attempt
from runs.review import deciding
from runs.states import State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, idempotent=False, runbook="Ask the ledger.")


# ── a run ────────────────────────────────────────────────────────────────────────────────


def test_the_story_tells_everything_in_its_order(
    browser: Browser, job: Job, operator: User
) -> None:
    due = clock.now() - timedelta(minutes=5)
    run = make.run(
        job,
        State.REVIEW,
        origin="schedule",
        due_at=due,
        created_at=due + timedelta(milliseconds=40),
        sent_at=due + timedelta(milliseconds=70),
        sends=1,
    )
    Attempt.objects.create(
        run=run,
        number=1,
        lease_id=run.id,
        worker="worker-1",
        started_at=due + timedelta(seconds=1),
        intent_at=due + timedelta(seconds=2),
        ended_at=due + timedelta(seconds=32),
        outcome="unknown",
        effect="maybe",
        reason="No answer came.",
        sent={"method": "POST", "url": "https://ledger.example/rotate"},
        answer={"status": 502, "body": "<b>bad gateway</b>"},
    )
    deciding.decide(run.id, "happened", token=1, note="Seen in the ledger.", by=operator)
    page = browser.get(f"/runs/{run.id}/")
    story = page.all("ol", class_="story")[0].text
    told = [
        "Due",
        "Written down by a beat",
        "Sent to the queue",
        "Attempt 1 started",
        "began the call",
        "Attempt 1: unknown",
        "operator decided: it happened",
        "Ended: succeeded",
    ]
    places = [story.index(words) for words in told]
    assert places == sorted(places)
    assert "the call took 30 s" in story
    assert "&lt;b&gt;bad gateway&lt;/b&gt;" in page.html
    assert "Seen in the ledger." in page.words


def test_a_run_sent_more_than_once_tells_how_often_and_no_more(browser: Browser, job: Job) -> None:
    run = make.run(job, State.ENQUEUED, sends=3, sent_at=clock.now())
    story = browser.get(f"/runs/{run.id}/").all("ol", class_="story")[0].text
    assert story.count("Sent to the queue") == 1
    assert "sent 3 times, this was the last" in story


@pytest.mark.parametrize(
    ("state", "attempt", "reason", "shown"),
    [
        (State.RUNNING, 2, "No answer came.", "last attempt: No answer came."),
        (State.ENQUEUED, 1, "No answer came.", "last attempt: No answer came."),
        (State.CLAIMED, 1, "Decided: run again. Looked.", "Decided: run again. Looked."),
        (State.RUNNING, 1, "Made up.", "Made up."),
        (State.RETRYING, 1, "No answer came.", "No answer came."),
    ],
)
def test_what_was_said_of_an_attempt_before_is_not_told_as_of_this_one(
    browser: Browser, job: Job, state: State, attempt: int, reason: str, shown: str
) -> None:
    run = make.run(job, state, attempt=attempt, reason=reason)
    assert shown in browser.get(f"/runs/{run.id}/").words
    for path in ("/runs/", f"/jobs/{job.id}/runs/"):
        assert shown in browser.get(path).words
        assert ("last attempt" in browser.get(path).words) == ("last attempt" in shown)


def test_a_time_and_the_time_since_the_one_before_stand_apart(browser: Browser, job: Job) -> None:
    now = clock.now()
    run = make.run(job, State.ENQUEUED, created_at=now, sent_at=now + timedelta(seconds=2), sends=1)
    html = browser.get(f"/runs/{run.id}/").html
    assert re.search(r'</(time|span)> <div class="gap">waited 2 s to be sent', html)


def test_a_run_that_calls_with_a_secret_shows_a_mask(browser: Browser, team: Team) -> None:
    target = {"type": "http", "url": "https://a.example", "headers": {"X-Token": "very-secret"}}
    run = make.run(make.job(team, name="with-secret", target=target))
    page = browser.get(f"/runs/{run.id}/")
    assert "X-Token: ********" in page.words
    assert "very-secret" not in page.html
    assert "sealed:" not in page.html


def test_a_skipped_run_says_how_many_moments_it_stands_for(browser: Browser, job: Job) -> None:
    now = clock.now()
    run = make.run(
        job,
        State.SKIPPED,
        origin="schedule",
        due_at=now,
        skipped_until=now,
        skipped_count=24,
        reason="missed; only the newest moment is made up",
    )
    page = browser.get(f"/runs/{run.id}/")
    assert "(24 moments)" in page.words
    assert "only the newest moment" in page.words


def test_a_job_shows_its_runs_from_an_address_of_their_own(browser: Browser, job: Job) -> None:
    run = make.run(job, State.RUNNING)
    shell = browser.get(f"/jobs/{job.id}/").all("div", id="runs")[0]
    fragment = browser.get(shell.attrs["hx-get"])
    assert fragment.all("a", href=f"/runs/{run.id}/")
    assert not fragment.all("html")
