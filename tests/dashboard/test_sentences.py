"""What people read: runs by their moment, linked; instants on the reader's clock; long reasons
folded; messages that lead to what was done."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.conf import settings

from jobs import clock
from jobs.models import Job, Preference, Team, User
from runs.dashboard import sentences
from runs.dashboard.sentences import Named
from runs.models import Run
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db

ID = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001"
AT = "2026-11-29T18:00:00Z"
THEN = datetime(2026, 11, 29, 18, tzinfo=UTC)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", overlap="queue")


@pytest.fixture
def in_berlin(operator: User) -> Browser:
    Preference.objects.create(user=operator, timezone="Europe/Berlin")
    return Browser(operator)


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        (
            f"Waits for run {ID} of {AT} to end.",
            ["Waits for ", Named(f"run {ID} of {AT}", UUID(ID), at=THEN), " to end."],
        ),
        (
            f"Waits until run {ID} by hand is decided.",
            ["Waits until ", Named(f"run {ID} by hand", UUID(ID), by_hand=True), " is decided."],
        ),
        (f"It has a run: {ID}.", ["It has ", Named(f"a run: {ID}", UUID(ID)), "."]),
        (f"The moment {AT} was missed.", ["The moment ", Named(AT, at=THEN), " was missed."]),
        (f"The key {ID}:{AT} is taken.", [f"The key {ID}:{AT} is taken."]),
        (f"GET /day/{AT}/ failed.", [f"GET /day/{AT}/ failed."]),
        ("Not before 2026-99-29T18:00:00Z.", ["Not before 2026-99-29T18:00:00Z."]),
        ("", []),
    ],
)
def test_a_sentence_tells_its_runs_and_instants(sentence: str, found: list[str | Named]) -> None:
    assert list(sentences.parts(sentence)) == found


def test_a_page_links_the_run_that_is_waited_for_by_its_moment(
    in_berlin: Browser, api: Api, job: Job
) -> None:
    active = make.run(job, State.RUNNING)
    reason = f"Waits for run {active.id} of 2026-11-29T18:00:00.123456Z to end."
    waiting = make.run(job, State.WAITING, reason=reason, blocked_by=active.id)
    for path in (f"/jobs/{job.id}/", f"/runs/{waiting.id}/", "/runs/?state=WAITING"):
        page = in_berlin.get(path)
        assert "Waits for the run of Sun 29 Nov 2026 19:00:00 Berlin to end." in page.words, path
        assert f"run {active.id}" not in page.words
        assert page.all("a", href=f"/runs/{active.id}/")
    assert api.get(f"runs/{waiting.id}/").body["reason"] == reason


def test_what_a_target_said_is_shown_as_text(browser: Browser, job: Job) -> None:
    said = f"<b>run</b> {AT}<script>alert(1)</script>"
    run = make.run(job, State.DEAD, reason=said)
    page = browser.get(f"/runs/{run.id}/")
    assert "<b>run</b> Sun 29 Nov 2026 18:00 UTC<script>alert(1)</script>" in page.words
    assert not page.all("b", text="run")


def test_a_long_reason_is_folded_and_a_short_one_is_not(browser: Browser, job: Job) -> None:
    long = make.run(job, State.DEAD, reason="The target answered: " + "no, " * 100 + "never.")
    page = browser.get(f"/runs/{long.id}/")
    assert page.all("details", class_="folded")
    assert "never." in page.words
    short = make.run(job, State.DEAD, reason="The target answered 503.")
    assert not browser.get(f"/runs/{short.id}/").all("details", class_="folded")


def test_a_sentence_that_is_not_cut_is_told_to_its_end(browser: Browser, job: Job) -> None:
    run = make.run(job, State.DEAD, reason=f"{AT} {AT} {AT} and so on.")
    told = "Sun 29 Nov 2026 18:00 UTC"
    assert f"{told} {told} {told} and so on." in browser.get(f"/runs/{run.id}/").words


def test_a_runbook_shows_what_stands_in_backticks_as_code(browser: Browser, team: Team) -> None:
    job = make.job(team, runbook="Look for `acted` in <b>`the ledger`</b>, or ` alone.")
    for path in (f"/jobs/{job.id}/?tab=notes", f"/runs/{make.run(job, State.DEAD).id}/"):
        page = browser.get(path)
        assert "Look for acted in <b>the ledger</b>, or ` alone." in page.words
        assert "<code>acted</code>" in page.html


def test_a_schedule_for_once_is_told_on_the_readers_clock(in_berlin: Browser, team: Team) -> None:
    year = clock.now().year + 1
    job = make.job(team, name="once", schedule={"at": f"{year}-12-01T10:00:00Z"})
    for path in ("/jobs/", f"/jobs/{job.id}/"):
        assert f"1 Dec {year} 11:00 Berlin" in in_berlin.get(path).words, path


def test_messages_lead_to_the_run(browser: Browser, job: Job) -> None:
    page = browser.post(f"/jobs/{job.id}/run-now/", moment="now")
    run = Run.objects.get()
    (message,) = page.all("p", class_="message success")
    assert message.text == "A run of settle is on its way. settle, by hand"
    assert page.all("a", href=f"/runs/{run.id}/")


def test_the_queue_links_what_was_decided(browser: Browser, team: Team) -> None:
    job = make.job(team, name="settle", idempotent=False)
    run = make.run(job, State.REVIEW, due_at=THEN)
    fields = {"decision": "close", "note": "Done by hand.", "token": "1", "from": "review"}
    page = browser.send(f"/runs/{run.id}/decide/", fields)
    assert page.url == "/review/"
    assert "recorded with your name. Closed: settle, due Sun 29 Nov 2026 18:00 UTC" in page.words
    assert page.all("a", href=f"/runs/{run.id}/")


def test_what_is_passed_on_is_not_called_decided(browser: Browser, team: Team) -> None:
    run = make.run(make.job(team, name="settle", idempotent=False), State.REVIEW, due_at=THEN)
    fields = {"decision": "escalate", "note": "Not mine.", "token": "1", "from": "review"}
    page = browser.send(f"/runs/{run.id}/decide/", fields)
    assert page.url == f"/review/{run.id}/"
    assert "Passed on, and recorded with your name. Still in review: settle, due" in page.words
    assert "Decided, and" not in page.words


def test_how_soon_a_moment_is_stands_beside_it_only_where_scripts_say_it() -> None:
    """Without them an instant is told in full, so that it would be told twice."""
    twice = re.compile(
        r"{% (?:moment|by_time) (?P<at>[\w.]+)[^%]*%}(?P<between>.{0,80}?){{ (?P=at)\|ago }}"
    )
    found = {
        (template.name, pair["at"]): "beside" in pair["between"]
        for template in (settings.BASE_DIR / "templates").rglob("*.html")
        for pair in twice.finditer(template.read_text())
    }
    assert len(found) > 5
    assert [where for where, is_beside in found.items() if not is_beside] == []


def test_a_decision_says_whether_anybody_is_told(browser: Browser, team: Team) -> None:
    job = make.job(team, name="settle", idempotent=False)
    run = make.run(job, State.REVIEW)
    make.channel(team, "dead")
    page = browser.get(f"/review/{run.id}/")
    assert "Nobody is told: no channel of the team hears of it." in page.words
    assert page.all("a", href="/channels/")
    make.channel(team, "escalated", name="on call")
    assert "those who hear of the team’s trouble are told" in browser.get(page.url).words


@pytest.mark.parametrize("query", ["since=1h", "since=24h&until=2h", "since=2026-11-29T18:00:00Z"])
def test_the_audit_takes_ages_as_the_lists_do(api: Api, query: str) -> None:
    found = api.get(f"audit/?{query}")
    assert found.status == 200 or "31 days" in str(found.body)


@pytest.mark.parametrize("query", ["since=soon", "until=soon", "since="])
def test_the_audit_names_a_wrong_instant_once(api: Api, query: str) -> None:
    answer = api.get(f"audit/?{query}")
    name = query.partition("=")[0]
    assert (answer.status, answer.fields) == (400, [name])
    assert not answer.body["errors"][0]["message"].startswith(f"{name}:")


def test_the_overview_says_since_when_the_oldest_dead_letter_rests(api: Api, job: Job) -> None:
    make.run(job, State.DEAD, died_at=THEN)
    make.run(job, State.DEAD)
    assert api.get("overview/").body["dead_letters"]["oldest_at"] == AT


def test_a_wrong_expression_and_a_wrong_zone_are_told_at_once(team: Team) -> None:
    api = Api.of(team, make.editor(team))
    wrong = {"cron": "61 * * * *", "timezone": "Europe/Berlinn", "dst": "never"}
    answer = api.post("jobs/", make.shape(schedule=wrong))
    named = ["schedule.cron", "schedule.timezone", "schedule.dst"]
    assert (answer.status, answer.fields) == (400, named)


def test_browsers_find_the_icon_where_no_page_of_ours_names_it(browser: Browser) -> None:
    answer = browser.client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/static/icon.svg")


def test_the_admin_names_the_icon() -> None:
    staff = Browser(make.person("staff", is_staff=True))
    assert staff.get("/admin/").all("link", rel="icon")
