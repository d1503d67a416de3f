"""What a person does with runs on their pages."""

from __future__ import annotations

import pytest

from jobs.models import Job, Team, User
from runs.models import Decision, Run
from runs.review import deciding
from runs.states import ReviewClass, State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, idempotent=False, runbook="Ask the ledger.")


# ── run now ──────────────────────────────────────────────────────────────────────────────


def test_a_job_that_is_not_safe_to_repeat_asks_first(browser: Browser, job: Job) -> None:
    make.run(job, State.RUNNING)
    address = f"/jobs/{job.id}/run-now/"
    page = browser.get(f"/jobs/{job.id}/")
    assert page.all("a", href=address) and not page.all("form", action=address)
    asked = browser.get(address)
    assert "not safe to repeat" in asked.words
    assert "under way" in asked.words
    assert Run.objects.count() == 1, "looking starts nothing"
    page = browser.post(address)
    run = Run.objects.order_by("-id")[0]
    assert (run.origin, run.state) == ("hand", "CLAIMED")
    assert page.url == f"/runs/{run.id}/"


def test_a_job_that_is_safe_to_repeat_runs_with_one_click(browser: Browser, team: Team) -> None:
    job = make.job(team, name="safe")
    assert browser.get(f"/jobs/{job.id}/").all("form", action=f"/jobs/{job.id}/run-now/")
    assert "on its way" in browser.post(f"/jobs/{job.id}/run-now/").words


# ── decide ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("decision", "state"),
    [("happened", "SUCCEEDED"), ("run_again", "CLAIMED"), ("close", "CLOSED")],
)
def test_a_person_decides(
    browser: Browser, job: Job, operator: User, decision: str, state: str
) -> None:
    run = make.run(job, State.REVIEW)
    fields = {"decision": decision, "note": "Looked.", "token": "1", "job_name": job.name}
    page = browser.send(f"/runs/{run.id}/decide/", fields)
    assert "recorded with your name" in page.words
    run.refresh_from_db()
    assert run.state == state
    made = run.decisions.get()
    assert (made.by, made.note) == (operator, "Looked.")


def test_nothing_is_preselected_and_what_is_known_is_shown(browser: Browser, job: Job) -> None:
    run = make.run(job, State.REVIEW)
    page = browser.get(f"/runs/{run.id}/")
    radios = page.all("input", name="decision")
    assert [radio.attrs["value"] for radio in radios] == [
        "happened",
        "run_again",
        "close",
        "escalate",
    ]
    assert not any("checked" in radio.attrs for radio in radios)
    assert "Whether the target acted." in page.words
    assert "Ask the ledger." in page.words


@pytest.mark.parametrize("review_class", list(ReviewClass))
def test_every_class_of_review_has_its_facts(
    browser: Browser, job: Job, review_class: ReviewClass
) -> None:
    run = make.run(job, State.REVIEW, review_class=review_class)
    page = browser.get(f"/runs/{run.id}/")
    assert page.status == 200
    assert "What we know" in page.words


def test_an_earlier_attempt_that_may_have_acted_is_not_forgotten(
    browser: Browser, job: Job
) -> None:
    run = make.run(job, State.REVIEW, review_class="not sent", effect="maybe")
    assert "earlier attempt" in browser.get(f"/runs/{run.id}/").words


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"note": "Looked."}, "decision", "Choose one"),
        ({"decision": "perhaps", "note": "Looked."}, "decision", "perhaps is no decision"),
        ({"decision": "close", "note": " "}, "note", "Write a note"),
        ({"decision": "close", "note": "x" * 2001}, "note", "2000"),
    ],
)
def test_half_a_decision_is_none_and_what_was_typed_stays(
    browser: Browser, job: Job, fields: dict[str, str], field: str, said: str
) -> None:
    run = make.run(job, State.REVIEW)
    page = browser.send(f"/runs/{run.id}/decide/", {"token": "1", **fields})
    assert page.status == 422
    assert said in page.error(field)
    if field == "note":
        assert "checked" in page.all("input", name="decision", value="close")[0].attrs
    else:
        assert page.value("note") == "Looked."
    run.refresh_from_db()
    assert run.state == "REVIEW"


def test_who_decides_second_is_told_who_was_first(browser: Browser, team: Team, job: Job) -> None:
    run = make.run(job, State.REVIEW)
    deciding.decide(run.id, "close", token=1, note="Mine.", by=make.operator(team, "colleague"))
    page = browser.post(f"/runs/{run.id}/decide/", decision="happened", note="Looked.", token=1)
    assert page.url == f"/runs/{run.id}/"
    assert "colleague decided" in page.words
    assert "Yours was not recorded" in page.words
    run.refresh_from_db()
    assert run.state == "CLOSED"


def test_a_decision_on_an_attempt_that_is_over_is_refused(browser: Browser, job: Job) -> None:
    run = make.run(job, State.REVIEW, attempt=2)
    browser.post(f"/runs/{run.id}/decide/", decision="happened", note="Looked.", token=1)
    run.refresh_from_db()
    assert run.state == "REVIEW"


# ── dead letters, cancel ─────────────────────────────────────────────────────────────────


@pytest.fixture
def dead(team: Team) -> Run:
    return make.run(make.job(team, name="safe"), State.DEAD, reason="It said no, five times.")


def test_a_dead_letter_is_replayed_with_its_key(browser: Browser, dead: Run) -> None:
    assert "It said no, five times." in browser.get("/dead-letters/").words
    page = browser.post(f"/runs/{dead.id}/replay/", token=dead.attempt, note="")
    assert "same key" in page.words
    key = dead.key
    dead.refresh_from_db()
    assert (dead.state, dead.failures, dead.key) == ("CLAIMED", 0, key)


def test_a_dead_letter_is_discarded_with_a_note(browser: Browser, dead: Run) -> None:
    page = browser.post(f"/runs/{dead.id}/discard/", token=dead.attempt, note="")
    assert page.status == 422
    assert "Write a note" in page.error("note")
    browser.post(f"/runs/{dead.id}/discard/", token=dead.attempt, note="Not needed.")
    dead.refresh_from_db()
    assert dead.state == "CLOSED"


@pytest.mark.parametrize("state", [State.WAITING, State.CLAIMED, State.ENQUEUED, State.RETRYING])
def test_what_has_not_started_is_cancelled(browser: Browser, job: Job, state: State) -> None:
    run = make.run(job, state)
    assert browser.get(f"/runs/{run.id}/").all("form", action=f"/runs/{run.id}/cancel/")
    assert "It will not start" in browser.post(f"/runs/{run.id}/cancel/").words
    run.refresh_from_db()
    assert run.state == "CANCELLED"


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("action", ["replay", "discard", "cancel", "decide"])
def test_an_action_that_the_state_does_not_know_changes_nothing_and_breaks_nothing(
    browser: Browser, team: Team, job: Job, state: State, action: str
) -> None:
    run = make.run(job if state is not State.DEAD else make.job(team, name="safe"), state)
    allowed = {
        State.DEAD: {"replay", "discard"},
        State.REVIEW: {"decide"},
        State.WAITING: {"cancel"},
        State.CLAIMED: {"cancel"},
        State.ENQUEUED: {"cancel"},
        State.RETRYING: {"cancel"},
        State.RUNNING: {"cancel"},
    }
    page = browser.get(f"/runs/{run.id}/")
    if action in allowed.get(state, ()):
        return
    assert not page.all("form", action=f"/runs/{run.id}/{action}/")
    fields = {"decision": "close", "note": "n", "token": str(run.attempt)}
    answer = browser.send(f"/runs/{run.id}/{action}/", fields)
    assert f"The run is {state}" in answer.words
    run.refresh_from_db()
    assert run.state == state
    assert not Decision.objects.exists()
