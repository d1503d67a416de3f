"""What of a page's address was not understood is said, with the page without it."""

from __future__ import annotations

import pytest

from jobs.models import Job, Team
from runs.states import State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
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
        ("/review/", "class=refused", "It knows review_class, whose, overdue."),
        ("/review/", "review_class=nonsense", "nonsense is not one of"),
        ("/review/", "whose=nobodys", "nobodys is not one of"),
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
    (banner,) = page.all("div", class_="errors banner")
    words = " ".join(banner.text.split())
    assert page.status == 200
    assert f"{name} “{value}” was not understood." in words
    assert said in words
    links = [a for a in page.all("a") if a.text == "Leave it out"]
    assert f"{name}=" not in links[0].attrs["href"]


@pytest.mark.parametrize(
    "path",
    [
        *("/jobs/", "/runs/", "/audit/", "/review/", "/dead-letters/", "/upcoming/", "/"),
        *("/jobs/?team=payments&sort=-name", "/runs/?team=payments&state=DEAD,REVIEW"),
        *("/audit/?team=payments", "/dead-letters/?team=payments", "/review/?whose=mine"),
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
