"""Who is in several teams chooses which one to look at; the rail keeps to it."""

from __future__ import annotations

import pytest

from jobs import holds
from jobs.models import Membership, Team, User
from jobs.roles import Role
from runs.states import State
from tests import make
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db

RAIL = ("/", "/jobs/", "/runs/", "/review/", "/dead-letters/", "/upcoming/", "/audit/")
SWITCH = "/teams/switch/"


@pytest.fixture
def other(operator: User) -> Team:
    team = make.team("ledger")
    Membership.objects.create(team=team, user=operator, role=Role.OPERATOR)
    return team


def rail(page: Page) -> list[str]:
    links = page.all("a", class_="item") + page.all("a", class_="item only-wide")
    return [link.attrs["href"] for link in links]


def choice(page: Page) -> list[str]:
    return [
        button.text for button in page.all("button", name="team") if "aria-current" in button.attrs
    ]


def test_a_team_that_is_chosen_stays_chosen_until_another_is(
    browser: Browser, team: Team, other: Team
) -> None:
    job = make.job(other, name="of-ledger")
    make.job(team, name="of-payments")
    page = browser.get("/jobs/")
    assert choice(page) == ["All teams"] and set(RAIL) <= set(rail(page))
    page = browser.post(SWITCH, team="ledger", next="/jobs/")
    assert "of-ledger" in page.words and "of-payments" not in page.words
    for path in ("/jobs/?team=ledger", f"/jobs/{job.id}/", "/calendars/"):
        page = browser.get(path)
        assert choice(page) == ["Ledger"], path
        assert {f"{one}?team=ledger" for one in RAIL} <= set(rail(page)), path
    page = browser.post(SWITCH, team="", next="/review/")
    assert choice(page) == ["All teams"] and set(RAIL) <= set(rail(page))
    assert set(RAIL) <= set(rail(browser.get(f"/jobs/{job.id}/")))


def test_a_list_whose_address_names_no_team_shows_all_of_them(
    browser: Browser, team: Team, other: Team
) -> None:
    make.job(team, name="of-payments")
    browser.post(SWITCH, team="ledger", next="/")
    page = browser.get("/jobs/")
    assert "of-payments" in page.words and choice(page) == ["All teams"]
    page = browser.get("/jobs/?team=payments")
    assert choice(page) == ["Payments"] and "/review/?team=payments" in rail(page)


@pytest.mark.parametrize("path", RAIL)
def test_each_page_of_the_rail_takes_a_team(browser: Browser, other: Team, path: str) -> None:
    page = browser.get(f"{path}?team=ledger")
    assert page.status == 200 and not page.all("div", class_="errors banner")
    wrong = browser.get(f"{path}?team=nobody")
    assert wrong.all("div", class_="errors banner", role="alert"), "it is said, and nothing breaks"


def test_the_overview_is_about_the_team_alone(browser: Browser, team: Team, other: Team) -> None:
    make.run(make.job(team, name="of-payments"), State.DEAD)
    make.run(make.job(other, name="of-ledger", idempotent=False), State.REVIEW)
    holds.begin(team, "A move.", by=None)
    page = browser.get("/?team=ledger")
    assert "1 run waits" in page.all("h1")[0].text and "of 1 jobs" not in page.words
    attention = browser.get("/overview/attention/?team=ledger").words
    assert "of-ledger" in attention and "of-payments" not in attention
    tiles = [one.attrs["href"] for one in page.all("a") if "tile" in one.attrs.get("class", "")]
    assert len(tiles) == 6 and all("team=ledger" in href for href in tiles)
    assert "a hold is on" not in page.words
    live = [one.attrs["hx-get"] for one in page.elements if "data-live" in one.attrs]
    regions = [url for url in live if url.startswith("/overview/")]
    assert regions and all("team=ledger" in url for url in regions), "its polls keep to it"
    assert "1 dead letter" in browser.get("/").all("h1")[0].text


def test_the_queue_of_review_is_narrowed_and_so_is_what_is_decided_together(
    browser: Browser, team: Team, other: Team
) -> None:
    for of in (team, other):
        job = make.job(of, name=f"of-{of.slug}", idempotent=False)
        for _ in range(2):
            make.run(job, State.REVIEW, review_class="not sent")
    page = browser.get("/review/?team=ledger")
    assert "of-ledger" in page.words and "of-payments" not in page.words
    (many,) = [link for link in page.all("a") if "/review/many/" in link.attrs["href"]]
    assert "Decide 2 of which nothing was sent" in many.text
    ids = [box.attrs["value"] for box in browser.get(many.attrs["href"]).all("input", name="runs")]
    assert len(ids) == 2


def test_nobody_chooses_a_team_that_is_not_theirs(browser: Browser, other: Team) -> None:
    make.team("elsewhere")
    assert browser.post(SWITCH, team="elsewhere", next="/jobs/").status == 404
    assert choice(browser.get("/calendars/")) == ["All teams"]


def test_who_leaves_a_team_looks_at_all_of_the_others(
    browser: Browser, operator: User, other: Team
) -> None:
    third = make.team("third")
    Membership.objects.create(team=third, user=operator, role=Role.VIEWER)
    browser.post(SWITCH, team="ledger", next="/")
    Membership.objects.filter(team=other).delete()
    assert choice(browser.get("/calendars/")) == ["All teams"]


@pytest.mark.parametrize("path", ["https://evil.example/", "//evil.example/", "/nowhere/", "jobs"])
def test_it_leads_to_no_place_that_is_not_a_list(browser: Browser, other: Team, path: str) -> None:
    page = browser.post(SWITCH, team="ledger", next=path)
    assert (page.status, page.url) == (200, "/?team=ledger")


def test_with_one_team_there_is_nothing_to_choose(browser: Browser, team: Team) -> None:
    assert not browser.get("/jobs/").all("button", name="team")


def test_a_phone_chooses_under_more(browser: Browser, other: Team) -> None:
    page = browser.get("/more/")
    assert "You look at: All teams" in page.words
    assert len(page.all("form", action=SWITCH)) == 2
