"""What the page of a run shows beside its story."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.conf import LazySettings, settings

from jobs import clock
from jobs.models import Job, Team, User
from runs import by_hand, passages, story
from runs.dashboard import run_facts
from runs.dashboard.job import activity
from runs.models import Attempt, Decision, Run
from runs.states import FINAL, Origin, State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", runbook="Ask the ledger.")


def attempt(run: Run, number: int = 1, **columns: object) -> Attempt:
    row = {"run": run, "number": number, "lease_id": run.id, "worker": "w", **columns}
    row.setdefault("started_at", clock.now())
    return Attempt.objects.create(**row)


def ended(job: Job, state: State, length: timedelta, now: datetime) -> Run:
    """A run whose one attempt took so long."""
    run = make.run(job, state, started_at=now - length)
    attempt(run, started_at=now - length, ended_at=now, outcome="succeeded", effect="done")
    return run


def told(run: Run) -> list[str]:
    """The gaps of its story, in words."""
    entries = story.tell(run, list(run.attempts.all()), list(run.decisions.all()))
    return [" ".join(part for part in entry.spent if part) for entry in entries if entry.gap]


def test_each_gap_says_what_the_time_was_spent_on(job: Job) -> None:
    due = clock.now() - timedelta(minutes=10)
    at = [due + SECOND * number for number in range(12)]
    passed = [
        *passages.born(State.WAITING, at[1], "beat-1"),
        *passages.born(State.CLAIMED, at[2], ""),
        *passages.born(State.ENQUEUED, at[3], "beat-1"),
        *passages.born(State.ENQUEUED, at[7], "beat-1"),
    ]
    run = make.run(
        job,
        State.SUCCEEDED,
        origin=Origin.SCHEDULE,
        due_at=due,
        created_at=at[1],
        passed=passed,
        finished_at=at[10],
    )
    row = {"outcome": "failed", "effect": "maybe"}
    attempt(run, 1, started_at=at[4], intent_at=at[5], ended_at=at[6], **row)
    row = {"outcome": "succeeded", "effect": "done"}
    attempt(run, 2, started_at=at[8], intent_at=at[9], ended_at=at[10], **row)
    assert told(run) == [
        "waited for a beat",
        "waited for its turn",
        "waited to be sent",
        "waited for a worker",
        "made ready in",
        "the call took",
        "waited before it was tried again",
        "waited for a worker",
        "made ready in",
        "the call took",
    ]


def test_the_page_names_the_wait_for_a_worker(browser: Browser, job: Job) -> None:
    now = clock.now()
    run = make.run(job, State.RUNNING, created_at=now, sent_at=now, sends=1)
    attempt(run, started_at=now + 41 * SECOND)
    page = browser.get(f"/runs/{run.id}/")
    assert "waited 41 s for a worker" in page.words
    assert "waited 41 s for a worker" in browser.get(f"/runs/{run.id}/receipt/").words


def test_attempts_are_drawn_and_told(browser: Browser, job: Job) -> None:
    now = clock.now()
    run = make.run(job, State.RUNNING, attempt=2)
    row = {"outcome": "not sent", "effect": "none", "reason": "No answer."}
    attempt(run, 1, started_at=now - 60 * SECOND, ended_at=now - 50 * SECOND, **row)
    attempt(run, 2, started_at=now - 10 * SECOND, intent_at=now - 9 * SECOND)
    page = browser.get(f"/runs/{run.id}/")
    (picture,) = page.all("svg", class_="gantt")
    assert picture.attrs["role"] == "img"
    assert picture.attrs["aria-label"] == "2 attempts: 1, not sent; 2, under way"
    classes = [bar.attrs["class"] for bar in page.all("rect") if "class" in bar.attrs]
    assert classes == ["of-not_sent", "of-running"]
    assert page.all("path", class_="intent")
    assert "As a table" in page.words
    assert not browser.get(f"/runs/{make.run(job).id}/").all("svg", class_="gantt")


def test_the_runs_before_and_after_are_one_click_away(browser: Browser, job: Job) -> None:
    runs = [make.run(job, State.SUCCEEDED) for _ in range(3)]
    make.run(make.job(job.team, name="another"))
    page = browser.get(f"/runs/{runs[1].id}/")
    (before,), (after,) = page.all("a", rel="prev"), page.all("a", rel="next")
    assert before.attrs["href"] == f"/runs/{runs[0].id}/"
    assert after.attrs["href"] == f"/runs/{runs[2].id}/"
    last = browser.get(f"/runs/{runs[2].id}/")
    assert not last.all("a", rel="next")


def test_an_error_says_how_often_it_was_seen_since(browser: Browser, job: Job) -> None:
    dead = [make.run(job, State.DEAD) for _ in range(4)]
    make.run(job, State.DEAD, reason="Another one.")
    assert [run_facts.seen_since(run) for run in dead] == [3, 2, 1, 0]
    assert run_facts.seen_since(make.run(job, State.SUCCEEDED)) is None
    assert "3 times since" in browser.get(f"/runs/{dead[0].id}/").words
    assert "not again since" in browser.get(f"/runs/{dead[3].id}/").words


@pytest.mark.parametrize(
    ("state", "act", "reason"),
    [
        (State.SUCCEEDED, "Cancel", "It has ended."),
        (State.RUNNING, "Cancel", "It has started: ask it to stop."),
        (State.DEAD, "Decide", "It is safe to repeat: replay it or discard it."),
        (State.CLAIMED, "Ask to stop", "It is not running."),
        (State.WAITING, "Replay or discard", "It is no dead letter."),
    ],
)
def test_an_act_that_is_not_offered_says_why(
    browser: Browser, job: Job, state: State, act: str, reason: str
) -> None:
    run = make.run(job, state)
    assert dict(run_facts.not_offered(run, may_act=True))[act] == reason
    assert reason in browser.get(f"/runs/{run.id}/").words


def test_what_is_offered_is_not_excused(job: Job) -> None:
    offered = {
        State.CLAIMED: "Cancel",
        State.RUNNING: "Ask to stop",
        State.DEAD: "Replay or discard",
    }
    for state, act in offered.items():
        assert act not in dict(run_facts.not_offered(make.run(job, state), may_act=True))
    asked = make.run(job, State.RUNNING, stop_asked_at=clock.now())
    assert (
        dict(run_facts.not_offered(asked, may_act=True))["Ask to stop"] == "It was asked already."
    )


def test_a_viewer_is_told_who_may(team: Team, job: Job) -> None:
    page = Browser(make.viewer(team)).get(f"/runs/{make.run(job, State.DEAD).id}/")
    assert "An operator of Payments may." in page.words
    assert "curl" not in page.words


def test_ids_and_the_command_can_be_copied(browser: Browser, job: Job) -> None:
    run = make.run(job, State.SKIPPED, origin=Origin.SCHEDULE, due_at=clock.now(), reason="x")
    buttons = browser.get(f"/runs/{run.id}/").all("button", class_="button plain copy")
    copied = {button.attrs["data-copy"] for button in buttons}
    assert {str(run.id), run.key, str(job.id)} <= copied
    (command,) = [text for text in copied if text.startswith("curl")]
    assert f"/api/v1/jobs/{job.id}/run/" in command
    assert '"for": "' in command
    assert "$ONEBEAT_TOKEN" in command


def test_no_length_is_told_where_the_clock_was_set_back(browser: Browser, job: Job) -> None:
    now = clock.now()
    run = ended(job, State.SUCCEEDED, -2 * SECOND, now)
    trial = make.trial(job, ended_at=now - 60 * SECOND)
    for path in ("/runs/", f"/runs/{run.id}/", f"/jobs/{job.id}/", "/jobs/"):
        words = browser.get(path).words
        assert not re.search(r"-\d+ m?s\b", words), path
    assert "Took–" in browser.get(f"/tests/{trial.id}/").words


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CLOSED, State.DEAD, State.REVIEW])
def test_a_run_took_what_its_call_took_not_what_a_person_needed(
    browser: Browser, job: Job, state: State
) -> None:
    now = clock.now()
    then = now - timedelta(hours=2)
    run = make.run(job, state, started_at=then)
    attempt(run, started_at=then, ended_at=then + 3 * SECOND, outcome="unknown", effect="maybe")
    if state in FINAL:
        Run.objects.filter(id=run.id).update(finished_at=now)
    for path in ("/runs/", f"/jobs/{job.id}/runs/"):
        cells = [cell.text for cell in browser.get(path).all("td", data_label="Took")]
        assert [" ".join(cell.split()) for cell in cells] == ["3 s"], path
    assert ", took 3 s" in browser.get("/jobs/").words
    assert "Took3 s" in browser.get(f"/runs/{run.id}/").words


@pytest.mark.parametrize("state", [State.CLOSED, State.REVIEW, State.DEAD])
def test_lengths_have_the_colour_of_their_state(state: State) -> None:
    """Of a picture of lengths as of one of outcomes: what a person has closed is no failure."""
    colours = {"CLOSED": None, "REVIEW": "--ask", "DEAD": "--bad"}
    css = (settings.BASE_DIR / "static" / "dashboard.css").read_text()
    rules = re.findall(rf"\.columns \.of-{state.lower()}\b[^{{]*{{ fill: var\(([a-z-]+)\)", css)
    assert rules == [colours[state]] * bool(colours[state])


def test_what_rests_ends_its_story_with_where_it_rests(job: Job) -> None:
    now = clock.now()
    rest = {State.DEAD: "died_at", State.REVIEW: "review_at"}
    for state, column in rest.items():
        run = make.run(job, state, **{column: now}, failures=5, max_attempts=5)
        # The move is written a moment before the attempt's end, in the same transaction.
        attempt(run, ended_at=now + SECOND, outcome="failed", effect="maybe")
        passed_on = Decision(at=now + 2 * SECOND, decision="escalate", to_state=run.state)
        last, decided = story.tell(run, list(run.attempts.all()), [passed_on])[-2:]
        assert decided.title.endswith("passed it on")
        assert (last.glyph, last.gap) == (state.lower(), None)
        if state is State.DEAD:
            assert (last.title, last.detail) == ("Dead letter", "its attempts are used up")


def test_who_asked_for_a_run_is_named_and_attempts_are_counted_where_they_end(
    browser: Browser, team: Team, operator: User
) -> None:
    safe, unsafe = (make.job(team, name=f"{one}", idempotent=one) for one in (True, False))
    words = {}
    for job in (safe, unsafe):
        run = by_hand.run_now(job.id, by=operator)
        words[job] = browser.get(f"/runs/{run.id}/").words
    assert "Asked byoperator, version 1" in words[safe]
    assert "0 started, 0 failed of 5 at most" in words[safe]
    assert "0 started, 0 failed" in words[unsafe]
    assert "at most" not in words[unsafe]


def test_a_run_that_took_longer_than_usual_says_so(browser: Browser, job: Job) -> None:
    now = clock.now()
    for _ in range(20):
        ended(job, State.SUCCEEDED, 2 * SECOND, now)
    slow = ended(job, State.SUCCEEDED, 30 * SECOND, now)
    words = browser.get(f"/runs/{slow.id}/").words
    assert "30 s, usually 2 s" in words
    assert "slower than usual" in words
    page = browser.get(f"/jobs/{job.id}/")
    (strip,) = page.all("svg", class_="strip")
    assert strip.attrs["aria-label"] == "The last 21 runs, oldest first: 21 succeeded"
    (picture,) = page.all("svg", class_="columns")
    assert "21 runs by how long they took" in picture.attrs["aria-label"]
    assert "1 took longer than is usual" in picture.attrs["aria-label"]
    assert "Slower than usual:" in page.words


def test_what_a_person_decides_later_is_no_part_of_a_length(job: Job) -> None:
    now = clock.now()
    run = ended(job, State.SUCCEEDED, 2 * SECOND, now - timedelta(hours=3))
    Run.objects.filter(id=run.id).update(finished_at=now)
    (length,) = activity.of_job(job).lengths
    assert length.seconds == 2
    ended(job, State.DEAD, 9 * SECOND, now)
    make.run(job, State.RUNNING, started_at=now)
    assert [one.seconds for one in activity.of_job(job).lengths] == [2, 9]
    usual = activity.usual_of(job)
    assert usual is not None and usual.count == 1, "of those that succeeded"


def test_the_page_leads_to_the_trace_where_traces_are_looked_at(
    browser: Browser, job: Job, settings: LazySettings
) -> None:
    run = make.run(job)
    trace = str(run.id).replace("-", "")
    page = browser.get(f"/runs/{run.id}/")
    assert trace in page.words and not page.all("a", rel="noopener noreferrer")
    settings.TRACE_URL = "https://traces.example/trace/{trace}"
    (link,) = browser.get(f"/runs/{run.id}/").all("a", rel="noopener noreferrer")
    assert link.attrs["href"] == f"https://traces.example/trace/{trace}"
