"""The Overview: what it shows, what it leads to, what it costs."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing, holds
from jobs.models import Due, Job, Team, User
from runs.dashboard.overview import first_steps, numbers
from runs.dashboard.overview.overview import REGIONS
from runs.dashboard.stars import stars
from runs.models import Attempt, Beat, Run
from runs.states import Origin, State
from tests import make
from tests.api import Api
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def tiles(page: Page) -> dict[str, tuple[str, str]]:
    """By its words, the number of each tile and where it leads."""
    labels = page.all("span", class_="tile-label")
    numbers = page.all("span", class_="tile-number")
    leads = [a for a in page.all("a") if a.attrs.get("class", "").startswith("tile")]
    assert len(labels) == len(numbers) == len(leads)
    return {
        label.text.strip(): (number.text, lead.attrs["href"])
        for label, number, lead in zip(labels, numbers, leads, strict=True)
    }


# ── tiles ────────────────────────────────────────────────────────────────────────────────


def test_the_home_page_answers_whether_anything_is_wrong(browser: Browser, team: Team) -> None:
    make.run(make.job(team, name="settle", idempotent=False), State.REVIEW)
    page = browser.get("/")
    (title,) = page.all("h1")
    assert title.text == ("1 run waits for a decision, 1 job is failing; 0 of 1 job are fine.")
    (current,) = page.all("a", aria_current="page")
    assert current.attrs["href"] == "/"


def test_six_tiles_lead_to_their_lists(browser: Browser, team: Team) -> None:
    for state, name in ((State.REVIEW, "a"), (State.DEAD, "b"), (State.RUNNING, "c")):
        make.run(make.job(team, name=name), state)
    late = {"origin": Origin.SCHEDULE, "due_at": clock.now() - MINUTE}
    make.run(make.job(team, name="d"), State.CLAIMED, **late)
    editing.pause(make.job(team, name="e").id, editing.Pause("why"), by=None)
    assert tiles(browser.get("/")) == {
        "Needs review": ("1", "/review/"),
        "Failing jobs": ("2", "/jobs/?state=failing"),
        "Late or missed": ("1", "/jobs/?state=late"),
        "Dead letters": ("1", "/dead-letters/"),
        "In flight": ("2", "/runs/?state=in_flight"),
        "Paused jobs": ("1", "/jobs/?state=paused"),
    }


def test_what_was_missed_alone_leads_to_review(browser: Browser, team: Team) -> None:
    make.run(make.job(team), State.REVIEW, review_class="missed")
    assert tiles(browser.get("/"))["Late or missed"] == ("1", "/review/?class=missed")


# ── what needs attention ─────────────────────────────────────────────────────────────────


def test_the_worst_stands_first_and_each_line_leads_on(browser: Browser, team: Team) -> None:
    paused = make.job(team, name="paused")
    editing.pause(paused.id, editing.Pause("bank holiday"), by=make.editor(team, "colleague"))
    retrying = make.run(make.job(team, name="retrying"), State.RETRYING, failures=2, attempt=2)
    unclaimed = make.job(team, name="unclaimed")
    Due.objects.filter(job=unclaimed).update(at=clock.now() - MINUTE)
    late = {"origin": Origin.SCHEDULE, "due_at": clock.now() - MINUTE}
    unstarted = make.run(make.job(team, name="unstarted"), State.ENQUEUED, **late)
    dead = make.run(make.job(team, name="dead"), State.DEAD)
    review = make.run(make.job(team, name="review", idempotent=False), State.REVIEW)
    page = browser.get("/overview/attention/")
    assert [row.attrs["id"] for row in page.all("tr") if "id" in row.attrs] == [
        f"needs-run-{review.id}",
        f"needs-group-{dead.error_group}",
        f"needs-due-{unclaimed.id}",
        f"needs-run-{unstarted.id}",
        f"needs-run-{retrying.id}",
        f"needs-job-{paused.id}",
    ]
    buttons = [a.attrs["href"] for a in page.all("a", class_="button small")]
    assert buttons == [
        f"/review/{review.id}/",
        f"/dead-letters/{dead.error_group}/",
        f"/jobs/{unclaimed.id}/",
        f"/runs/{unstarted.id}/",
        f"/runs/{retrying.id}/",
        f"/jobs/{paused.id}/",
    ]
    assert "by colleague: bank holiday" in page.words
    assert "2 of 5 attempts failed" in page.words


def test_a_pause_that_nobody_made_gives_its_reason_alone(browser: Browser, team: Team) -> None:
    for reason in ("It fails each time.", ""):
        make.job(team, name=f"off {reason}", paused=True, paused_reason=reason)
    words = browser.get("/overview/attention/").words
    assert "It fails each time." in words
    assert "no reason given" in words
    assert "without a person" not in words


def test_an_overdue_decision_says_so_and_stands_first(browser: Browser, team: Team) -> None:
    make.run(make.job(team, name="old"), State.REVIEW, review_at=clock.now() - 9 * MINUTE)
    pressing = make.job(team, name="pressing", decide_by=60)
    run = make.run(pressing, State.REVIEW, review_at=clock.now() - 2 * MINUTE)
    page = browser.get("/overview/attention/")
    first = next(row for row in page.all("tr") if "id" in row.attrs)
    assert first.attrs["id"] == f"needs-run-{run.id}"
    assert "overdue" in first.text


def test_nothing_needs_attention(browser: Browser, team: Team) -> None:
    make.run(make.job(team), State.SUCCEEDED)
    assert "Nothing needs attention" in browser.get("/overview/attention/").words


# ── numbers ──────────────────────────────────────────────────────────────────────────────


def test_the_numbers_add_up_each_with_its_list(browser: Browser, team: Team) -> None:
    job = make.job(team)
    for state in (State.SUCCEEDED, State.SUCCEEDED, State.SKIPPED, State.RUNNING, State.WAITING):
        make.run(job, state)
    page = browser.get("/overview/numbers/")
    (total,) = page.all("p", class_="sum")
    assert " ".join(total.text.split()) == "5 due = 2 succeeded + 2 in flight + 1 skipped"
    links = [a.attrs["href"] for a in page.all("a") if "since=" in a.attrs["href"]]
    assert [link.partition("since=")[0] for link in links] == [
        *("/runs/?", "/runs/?state=SUCCEEDED&", "/runs/?state=in_flight&"),
        "/runs/?state=SKIPPED&",
    ]
    (picture,) = page.all("svg", role="img")
    assert "2 succeeded, 2 in flight, 1 skipped" in picture.attrs["aria-label"]
    assert "Nothing was due" not in page.words


def test_a_window_may_be_chosen_and_nonsense_is_the_usual_one(browser: Browser, team: Team) -> None:
    old = {"origin": Origin.SCHEDULE, "due_at": clock.now() - timedelta(hours=30)}
    make.run(make.job(team), State.SUCCEEDED, **old)
    assert "Nothing was due" in browser.get("/overview/numbers/").words
    assert "1 due" in browser.get("/overview/numbers/?window=7d").words
    assert "Last 7 days" in browser.get("/?window=7d").words
    assert "Last 24 hours" in browser.get("/?window=%00nonsense").words


def test_too_many_to_tell_apart_says_more_than(
    browser: Browser, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers, "MOST", 1)
    monkeypatch.setattr(numbers.count, "__defaults__", (1,))
    job = make.job(team)
    for _ in range(3):
        make.run(job, State.SUCCEEDED)
    page = browser.get("/overview/numbers/")
    assert "More than 1 runs were due" in page.words
    assert not page.all("svg", role="img")


# ── what is to come, and the machinery ───────────────────────────────────────────────────


def test_the_next_moments_in_their_order(browser: Browser, team: Team) -> None:
    for hours, name in ((3, "third"), (1, "first"), (2, "second")):
        at = clock.now() + timedelta(hours=hours)
        Due.objects.filter(job=make.job(team, name=name)).update(at=at)
    paused = make.job(team, name="paused")
    editing.pause(paused.id, editing.Pause("why", clock.now() + MINUTE), by=None)
    make.job(make.team("elsewhere"), name="theirs")
    names = [a.text for a in browser.get("/overview/next/").all("a", class_="name")]
    assert names == ["first", "second", "third"]


def test_the_next_moments_are_told_on_each_jobs_clock(browser: Browser, team: Team) -> None:
    make.job(team, schedule={"cron": "0 3 * * *", "timezone": "America/New_York"})
    browser.client.cookies["browser_zone"] = "Asia/Tokyo"
    words = browser.get("/overview/next/").words
    assert re.search(r"03:00 New York .*Tokyo .*UTC", words)


def test_what_is_not_known_of_the_machinery_is_said(browser: Browser) -> None:
    words = browser.get("/overview/machinery/").words
    assert "No beat is live" in words
    assert "nothing is known: none has carried out a run within the hour" in words
    assert "Sent, not startednone" in words


def test_the_machinery_by_what_the_database_knows(browser: Browser, team: Team) -> None:
    now = clock.now()
    beat = {"host": "h", "pid": 1, "tzdata": "2026a", "started_at": now}
    Beat.objects.create(name="here", seen_at=now, **beat)
    Beat.objects.create(name="gone", seen_at=now - MINUTE, **beat)
    job = make.job(team)
    for seconds in (1, 3):
        due = now - seconds * MINUTE
        run = make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=due)
        started = {"started_at": due + timedelta(seconds=2), "worker": f"worker {seconds}"}
        ended = {"ended_at": now, "outcome": "succeeded", "lease_id": run.id}
        Attempt.objects.create(run=run, number=1, **started, **ended)
    make.run(job, State.ENQUEUED, sent_at=now - MINUTE)
    Due.objects.filter(job=job).update(at=now - MINUTE)
    words = browser.get("/overview/machinery/").words
    assert "Beats1 live" in words
    assert "2 heard of within the hour" in words
    assert "usually 2 s, one in twenty over 2 s (the last 2 starts)" in words
    assert "Sent, not started1, the oldest" in words
    assert "Due, not claimed1, the oldest" in words


# ── a new team ───────────────────────────────────────────────────────────────────────────


def test_a_new_team_is_shown_its_first_steps(team: Team) -> None:
    browser = Browser(make.editor(team))
    page = browser.get("/")
    assert "Begin here 0 of 5 done" in page.words
    made = browser.post("/overview/demo/", team=team.slug)
    assert "demo-hello is there" in made.words
    again = browser.post("/overview/demo/", team=team.slug)
    assert again.url == made.url
    job = Job.objects.get(name=first_steps.DEMO)
    assert (job.team, job.max_runs, job.idempotent) == (team, 10, True)
    assert Due.objects.filter(job=job).exists()
    assert "1 of 5 done" in browser.get("/").words


def test_only_an_editor_makes_a_demo_job(browser: Browser, team: Team) -> None:
    assert not browser.get("/").all("form", action="/overview/demo/")
    assert browser.post("/overview/demo/", team=team.slug).status == 403
    assert browser.post("/overview/demo/", team="elsewhere").status == 404
    assert not Job.objects.exists()


def test_the_steps_go_once_all_are_done(team: Team) -> None:
    admin = make.admin(team)
    make.run(make.job(team), State.SUCCEEDED)
    make.channel(team, "dead")
    browser = Browser(admin)
    assert "What is left to do 3 of 5 done" in browser.get("/").words
    make.viewer(team)
    page = browser.get("/")
    assert "What is left to do 4 of 5 done" in page.words and page.all(
        "a", href="/settings/members/"
    )
    make.token(team, admin)
    assert "of 5 done" not in browser.get("/").words
    assert "Begin here" not in browser.get("/").words


# ── staff ────────────────────────────────────────────────────────────────────────────────


def test_staff_see_the_load_of_every_team_and_no_name_of_its_jobs(team: Team) -> None:
    quiet = make.team("quiet")
    make.job(quiet, name="of-quiet")
    job = make.job(team, name="of-payments")
    for state in (State.SUCCEEDED, State.RUNNING, State.REVIEW, State.DEAD):
        make.run(job, state)
    holds.begin(quiet, "A move.", by=None)
    staff = make.person("staff", is_staff=True)
    page = Browser(staff).get("/")
    rows = {
        row.attrs["id"]: " ".join(row.text.split()) for row in page.all("tr") if "id" in row.attrs
    }
    assert rows["team-payments"] == "Payments you are no member 14111 –"
    assert rows["team-quiet"] == "Quiet you are no member 10000 on hold"
    assert list(rows).index("team-payments") < list(rows).index("team-quiet")
    assert "of-payments" not in page.html
    assert page.all("a", href="/holds/")


def test_who_is_in_no_team_is_told_so() -> None:
    page = Browser(make.person("new"))
    assert "You are in no team yet" in page.get("/").words


def test_nobody_else_sees_the_load(browser: Browser) -> None:
    assert "Load by team" not in browser.get("/").words


# ── what it costs ────────────────────────────────────────────────────────────────────────


def test_the_page_costs_the_same_however_many_jobs_there_are(browser: Browser, team: Team) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert browser.get("/").status == 200
        return len(asked)

    def more(first: int) -> None:
        for place in range(first, first + 8):
            job = make.job(team, name=f"job {place}", idempotent=place % 2 == 0)
            for state in (State.SUCCEEDED, State.REVIEW, State.RETRYING, State.CLAIMED):
                make.run(job, state)
            late = {"origin": Origin.SCHEDULE, "due_at": clock.now() - place * MINUTE}
            make.run(job, State.ENQUEUED, **late)
            if job.idempotent:
                make.run(job, State.DEAD)
        editing.pause(job.id, editing.Pause("why"), by=None)

    more(0)
    once = statements()
    more(100)
    assert statements() == once
    assert once <= 33


@pytest.mark.parametrize("name", REGIONS)
def test_each_region_is_served_alone(
    browser: Browser, team: Team, operator: User, name: str
) -> None:
    job = make.job(team)
    make.run(job, State.REVIEW)
    stars.put(job, by=operator)  # without any there is no such region
    page = browser.get(f"/overview/{name}/")
    assert page.status == 200
    assert page.html.lstrip().startswith(("<div id", "<section"))
    assert not page.all("nav")
    (whole,) = [
        one
        for one in browser.get("/").all("section") + browser.get("/").all("div")
        if one.attrs.get("id") == f"overview-{name}"
    ]
    assert whole.attrs["hx-get"].partition("?")[0] == f"/overview/{name}/"


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_the_api_tells_the_same_of_the_tokens_team(api: Api, team: Team) -> None:
    job = make.job(team, idempotent=False)
    for state in (State.SUCCEEDED, State.REVIEW, State.RUNNING):
        make.run(job, state)
    make.run(make.job(make.team("elsewhere")), State.REVIEW)
    found = api.get("overview/").body
    assert found["sentence"].startswith("1 run waits for a decision, 1 job is failing")
    assert found["jobs"] == {"total": 1, "fine": 0, "failing": 1, "late": 0, "paused": 0}
    assert (found["review"]["count"], found["review"]["more"]) == (1, False)
    assert found["in_flight"] == {"RUNNING": 1}
    window = found["window"]
    parts = ("succeeded", "in_flight", "skipped", "dead", "in_review", "closed", "cancelled")
    assert [window[part] for part in parts] == [1, 1, 0, 0, 1, 0, 0]
    assert (window["name"], window["due"], window["more"]) == ("24h", 3, False)
    assert api.get("overview/?window=1h").body["window"]["name"] == "1h"


@pytest.mark.parametrize(("query", "field"), [("window=2h", "window"), ("windows=1h", "windows")])
def test_the_api_names_what_it_does_not_know(api: Api, query: str, field: str) -> None:
    answer = api.get(f"overview/?{query}")
    assert (answer.status, answer.fields) == (400, [field])


def test_a_person_of_two_teams_gets_the_tokens_team_alone(team: Team, operator: User) -> None:
    other = make.team("other")
    operator.membership_set.create(team=other, role="viewer")
    make.run(make.job(other), State.REVIEW)
    found: Any = Api.of(team, operator).get("overview/").body
    assert found["review"]["count"] == 0
    assert found["sentence"] == "There are no jobs yet."
    assert Run.objects.count() == 1


# ── polls ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", sorted(REGIONS.keys() - {"next"}))
def test_a_poll_that_would_change_nothing_is_304(
    browser: Browser, team: Team, operator: User, name: str
) -> None:
    job = make.job(team)
    stars.put(job, by=operator)
    make.run(job, State.SUCCEEDED)
    first = browser.client.get(f"/overview/{name}/", headers={"HX-PTag": "none"})
    tag = {"HX-PTag": first.headers["HX-PTag"]}
    assert browser.client.get(f"/overview/{name}/", headers=tag).status_code == 304
    editing.pause(job.id, editing.Pause("why"), by=None)
    make.run(job, State.REVIEW)
    make.run(job, State.ENQUEUED, sent_at=clock.now())
    after = browser.client.get(f"/overview/{name}/", headers=tag)
    assert (after.status_code, after.headers["HX-PTag"] != tag["HX-PTag"]) == (200, True)


def test_the_tag_of_the_next_moments_is_theirs(browser: Browser, team: Team) -> None:
    job = make.job(team)
    first = browser.client.get("/overview/next/", headers={"HX-PTag": "none"})
    tag = {"HX-PTag": first.headers["HX-PTag"]}
    assert browser.client.get("/overview/next/", headers=tag).status_code == 304
    Due.objects.filter(job=job).update(at=clock.now() + MINUTE)
    assert browser.client.get("/overview/next/", headers=tag).status_code == 200


# ── the lists behind the numbers ─────────────────────────────────────────────────────────


def test_every_number_is_that_of_the_list_behind_it(browser: Browser, team: Team) -> None:
    safe, unsafe = make.job(team, name="safe"), make.job(team, name="unsafe", idempotent=False)
    for state in State:
        make.run(unsafe if state is State.REVIEW else safe, state)
        old = {"origin": Origin.SCHEDULE, "due_at": clock.now() - timedelta(days=9)}
        if state is not State.DEAD:
            make.run(make.job(team, name=f"old {state}"), state, **old)
    late = {"origin": Origin.SCHEDULE, "due_at": clock.now() - MINUTE}
    make.run(make.job(team, name="late"), State.CLAIMED, **late)
    editing.pause(make.job(team, name="paused").id, editing.Pause("why"), by=None)
    page = browser.get("/")
    for number, href in tiles(page).values():
        assert rows(browser.get(href)) == int(number), href
    parts = [a for a in page.all("a") if "since=" in a.attrs["href"]]
    assert len(parts) == 1 + len(numbers.PARTS)
    for part in parts:
        assert rows(browser.get(part.attrs["href"])) == int(part.text.split()[0]), part


def rows(page: Page) -> int:
    """How many rows its list shows."""
    return len([row for row in page.all("tr") if "id" in row.attrs])
