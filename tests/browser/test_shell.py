"""The frame of every page: keys, theme, and that no page breaks the policy or its width."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from jobs import holds
from jobs.models import Job, Preference, User
from runs.states import State
from tests import make
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCREENS = Path(__file__).resolve().parents[2] / ".screens"  # for people to look at
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 21, 27)"}
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"


@pytest.fixture
def job(transactional_db: None) -> Job:
    return make.job(make.team(), name="settle")


@pytest.fixture
def operator(job: Job) -> User:
    return make.operator(job.team)


def test_the_keys_lead_through_the_pages(visit: Visit, job: Job, operator: User) -> None:
    first, second = (make.run(job, State.DEAD) for _ in range(2))
    page = visit(operator)
    page.goto(f"/dead-letters/{first.error_group}/")
    for key, run in (("j", first), ("j", second), ("j", second), ("k", first)):
        page.keyboard.press(key)
        expect(page.locator(f"#run-{run.id} a.name")).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator(f"#run-{first.id} input")).to_be_checked()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{first.id}/")
    for key, place in (("v", "review"), ("d", "dead-letters"), ("j", "jobs"), ("r", "runs")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"**/{place}/")
    page.keyboard.press("/")
    expect(page.get_by_label("Search jobs")).to_be_focused()
    page.keyboard.type("gj?x")
    expect(page.get_by_label("Search jobs")).to_have_value("gj?x")


def test_the_keys_can_be_switched_off(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto("/settings/?next=/review/")
    page.get_by_label("Shortcuts of a single key").uncheck()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/review/")
    page.keyboard.press("/")
    page.keyboard.press("?")
    expect(page.get_by_label("Search jobs")).not_to_be_focused()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("link", name="Keys and help").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_theme_is_the_devices_until_a_reader_chooses(
    visit: Visit, job: Job, operator: User
) -> None:
    for theme in ("light", "dark"):
        page = visit(operator, theme=theme)
        page.goto("/review/")
        assert page.evaluate(BACKGROUND) == GROUND[theme]
    Preference.objects.create(user=operator, theme="light", density="compact")
    page.goto("/review/")
    assert page.evaluate(BACKGROUND) == GROUND["light"], "before any script of ours"


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_every_page_keeps_to_the_policy_and_to_its_width(
    visit: Visit, job: Job, width: int, theme: str
) -> None:
    dead, waits = make.dead(job), make.run(job, State.REVIEW)
    holds.begin(make.team(), "A move.", by=None)
    page = visit(make.admin(job.team), width, theme)
    for path in (
        *("/", "/jobs/", "/runs/", "/review/", "/dead-letters/", "/calendars/", "/holds/"),
        *("/audit/", "/channels/", "/more/", "/settings/", "/upcoming/", f"/jobs/{job.id}/"),
        *(f"/runs/{dead.id}/", f"/review/{waits.id}/", f"/dead-letters/{dead.error_group}/"),
    ):
        page.goto(path)
        expect(page.locator("h1")).to_have_count(1)
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 0, path
        name = path.strip("/").replace("/", "-")[:20] or "home"
        page.screenshot(path=SCREENS / f"{theme}-{width}" / f"{name}.png", full_page=True)
