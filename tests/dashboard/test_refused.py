"""What of a page's address was not understood is said, with the page without it."""

from __future__ import annotations

import pytest

from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.calendars.editing import Editor
from jobs.models import Job, Team, User
from runs.states import State
from tests import make
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team, operator: User) -> Job:
    content = calendar_content.read({"weekdays": ["mon"]})
    calendar_editing.create("bank", content, by=Editor(operator, frozenset({team.id})))
    return make.job(team, name="settle")


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/jobs/", "state=nonsense", "nonsense is not one of active"),
        ("/jobs/", "team=elsewhere", "elsewhere is none of your teams: payments."),
        ("/jobs/", "cursor=x", "its beginning is shown"),
        ("/jobs/", "sort=size", "size is not one of name, -name"),
        ("/jobs/", "stat=paused", "This page does not know it. It knows q, team, state"),
        ("/runs/", "state=dead", "dead is not one of in_flight"),
        ("/runs/", "job=1", "This is not an id."),
        ("/runs/", "cursor=x", "its beginning is shown"),
        ("/runs/", "since=soon", "'soon' is not an instant."),
        ("/audit/", "verb=job.eaten", "job.eaten is not one of"),
        ("/audit/", "cursor=x", "its beginning is shown"),
        ("/review/", "kind=refused", "It knows class, team, claimed, overdue."),
        ("/review/", "class=nonsense", "nonsense is not one of"),
        ("/review/", "claimed=nobodys", "nobodys is not one of"),
        ("/review/", "overdue=yesterday", "yesterday is not one of true, false."),
        ("/dead-letters/", "after=made-up", "its beginning is shown"),
        ("/audit/firings/", "before=x", "so the newest are shown."),
        ("/calendars/bank/", "year=19", "Give a year from 1970 to 2199;"),
        ("/dead-letters/", "team=elsewhere", "elsewhere is none of your teams."),
        ("/upcoming/", "tab=year", "Choose from list, week, off."),
        ("/upcoming/", "team=elsewhere", "elsewhere is none of your teams."),
        ("/upcoming/", "from=soon", "'soon' is not an instant"),
        ("/", "window=1y", "Choose from 1h, 24h, 7d; 24h is shown."),
    ],
)
def test_what_was_not_understood_is_said_and_taken_back(
    browser: Browser, job: Job, path: str, query: str, said: str
) -> None:
    make.run(job, State.SUCCEEDED)
    name, _, value = query.partition("=")
    page = browser.get(f"{path}?{query}")
    assert page.status == 200
    tells(page, name, value, said)


def tells(page: Page, name: str, value: str, said: str) -> None:
    """The page says so of this parameter alone, and leads to itself without it."""
    (banner,) = page.all("div", class_="errors banner")
    words = " ".join(banner.text.split())
    assert f"{name} “{value}” was not understood." in words
    assert said in words
    links = [a for a in page.all("a") if a.text == "Leave it out"]
    assert f"{name}=" not in links[0].attrs["href"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("tab=history", "Choose from activity, schedule, settings, versions, audit, notes;"),
        ("tab=schedule&month=2026-13", "Give a month as 2026-11; the one of today is shown."),
        ("mnth=2026-11", "This page does not know it. It knows tab, month."),
    ],
)
def test_the_page_of_a_job_says_it_too(browser: Browser, job: Job, query: str, said: str) -> None:
    page = browser.get(f"/jobs/{job.id}/?{query}")
    name, _, value = query.rpartition("&")[2].partition("=")
    tells(page, name, value, said)
    assert page.all("a", aria_current="page")
    for query in ("", "?tab=activity", "?tab=schedule&month=2024-02"):
        assert not browser.get(f"/jobs/{job.id}/{query}").all("div", class_="errors banner")


def test_the_pages_of_dead_letters_say_it_of_their_place(browser: Browser, job: Job) -> None:
    group, replay = make.dead(job).error_group, make.replay(job)
    for path in (f"/dead-letters/{group}/", f"/replays/{replay.id}/"):
        tells(browser.get(f"{path}?after=made-up"), "after", "made-up", "its beginning is shown.")
        tells(browser.get(f"{path}?before=1"), "before", "1", "It knows after.")
        assert not browser.get(path).all("div", class_="errors banner")


def test_an_address_that_names_the_filter_of_review_as_before_leads_on(browser: Browser) -> None:
    former = "/review/?review_class=missed&whose=nobody&overdue=yes"
    page = browser.get(former)
    assert page.url == "/review/?overdue=true&class=missed&claimed=nobody"
    assert not page.all("div", class_="errors banner")


@pytest.mark.parametrize(
    "path",
    [
        *("/jobs/", "/runs/", "/audit/", "/review/", "/dead-letters/", "/upcoming/", "/"),
        *("/jobs/?team=payments&sort=-name", "/runs/?team=payments&state=DEAD,REVIEW"),
        *("/audit/?team=payments", "/dead-letters/?team=payments", "/review/?claimed=mine"),
        *("/review/?class=missed,refused&overdue=false", "/calendars/bank/?year=2030"),
        *("/audit/firings/", "/audit/firings/?before=7", "/calendars/bank/"),
        *("/upcoming/?team=payments&tab=week", "/?window=7d"),
    ],
)
def test_what_was_understood_is_passed_over_in_silence(
    browser: Browser, job: Job, path: str
) -> None:
    assert not browser.get(path).all("div", class_="errors banner")


def test_a_list_by_a_filter_that_is_none_is_no_empty_list(browser: Browser, job: Job) -> None:
    for path in ("/jobs/?state=x", "/runs/?state=x", "/audit/?verb=x", "/dead-letters/?team=x"):
        assert "Nothing is listed: the filter was not understood." in browser.get(path).words, path


def test_names_and_values_are_shown_as_text(browser: Browser, job: Job) -> None:
    page = browser.get("/jobs/?%3Cb%3E=%3Cscript%3E%00")
    assert "<b> “<script>\ufffd” was not understood." in page.words
