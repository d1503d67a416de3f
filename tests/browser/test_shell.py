"""The frame of every page: its keys and its theme."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from jobs.models import Job, Preference, User
from runs.states import State
from tests import make
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

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


@pytest.mark.parametrize("script", [True, False])
def test_filters_are_folded_where_there_is_no_room(
    visit: Visit, job: Job, operator: User, script: bool
) -> None:
    page = visit(operator, script=script)
    page.goto("/jobs/")
    state, folded = page.get_by_label("State"), page.locator(".fold > summary")
    expect(state).to_be_visible()
    expect(folded).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(state).to_be_hidden()
    folded.click()
    state.select_option("paused")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(folded).to_have_text("Filters (1)")
    expect(state).to_be_hidden()


def test_a_job_on_a_phone_is_a_few_lines_and_a_menu(visit: Visit, job: Job, operator: User) -> None:
    hourly = make.job(job.team, name="rotate", schedule={"cron": "0 * * * *", "timezone": "UTC"})
    make.run(hourly, State.SUCCEEDED)
    page = visit(operator)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/jobs/")
    row = page.locator(f"#job-{hourly.id}").bounding_box()
    assert row
    assert row["height"] < 170, "name and state, schedule, last runs, what is next"
    page.get_by_role("button", name="What to do with rotate").click()
    page.get_by_role("link", name="Pause…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Pause 1 job")
