"""A minute of polling while runs come and go: whoever is at work in a page is not disturbed. The
page's clock is the test's, so that its minute is over in seconds; its requests are real."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Page, Response, expect

from jobs import clock
from jobs.models import Job, User
from runs.models import Run
from runs.states import Origin, State
from tests import make
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STEP = 6_100  # ms: an interval of a list, at its longest
STEPS = 12


@pytest.fixture
def job(transactional_db: None) -> Job:
    return make.job(make.team(), name="settle")


@pytest.fixture
def operator(job: Job) -> User:
    return make.operator(job.team)


def at(visit: Visit, operator: User, path: str) -> Page:
    """The page, by a clock that only `a_minute` moves."""
    page = visit(operator)
    page.clock.install()
    page.goto(path)
    return page


def a_minute(page: Page, job: Job) -> Iterator[int]:
    """Its steps: in each, runs are made and change their state, and the page's clock goes on."""
    for number in range(STEPS):
        made = make.run(job, State.RUNNING, origin=Origin.SCHEDULE, due_at=_moment(number))
        make.run(job, State.DEAD, origin=Origin.SCHEDULE, due_at=_moment(number + STEPS))
        ended = {"state": State.SUCCEEDED, "finished_at": clock.now(), "lease_id": None}
        Run.objects.filter(job=job, state=State.RUNNING).exclude(id=made.id).update(
            **ended, lease_until=None
        )
        page.clock.run_for(STEP)
        expect(page.locator(".htmx-request")).to_have_count(0)
        yield number


def _moment(number: int) -> object:
    return clock.now() - timedelta(minutes=number + 1)


def test_what_is_open_the_focus_the_place_and_the_filter_stay(
    visit: Visit, job: Job, operator: User
) -> None:
    page = at(visit, operator, "/?window=7d")
    answers: list[int] = []

    def note(answer: Response) -> None:
        if "/overview/" in answer.url:
            answers.append(answer.status)

    page.on("response", note)
    make.run(job, State.DEAD, origin=Origin.SCHEDULE, due_at=_moment(2 * STEPS))
    page.reload()
    table = page.get_by_role("group").filter(has_text="The same as a table")
    table.get_by_text("The same as a table").click()
    look = page.get_by_role("link", name="Upcoming").last
    look.focus()
    page.evaluate("window.scrollTo({top: 60, behavior: 'instant'})")
    top = page.evaluate("window.scrollY")
    assert top > 0
    for _ in a_minute(page, job):
        expect(page.get_by_role("columnheader", name="Succeeded")).to_be_visible()
        expect(look).to_be_focused()
        assert page.evaluate("window.scrollY") == top
        assert page.url.endswith("/?window=7d")
    assert len(answers) >= STEPS
    assert answers.count(200) >= STEPS / 2, "it was shown what had changed"
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{STEPS + 1} dead letters wait")


def test_what_is_ticked_and_what_is_typed_stay(visit: Visit, job: Job, operator: User) -> None:
    first = make.run(job, State.DEAD)
    page = at(visit, operator, f"/dead-letters/{first.error_group}/")
    page.get_by_role("row").nth(1).get_by_role("checkbox").check()
    for _ in a_minute(page, job):
        expect(page.get_by_role("checkbox")).to_have_count(1)
        expect(page.get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_text("paused – 1 row selected")).to_be_visible()

    waits = make.run(job, State.REVIEW)
    page = at(visit, operator, f"/runs/{waits.id}/")
    note = page.get_by_role("textbox", name="Note")
    note.press_sequentially("It stands in")
    for _ in a_minute(page, job):
        expect(note).to_be_focused()
    note.press_sequentially(" the ledger.")
    expect(note).to_have_value("It stands in the ledger.")


def test_back_leads_to_the_list_as_it_was_filtered(visit: Visit, job: Job, operator: User) -> None:
    make.job(job.team, name="rotate")
    page = visit(operator)
    page.goto("/jobs/")
    page.get_by_label("Search", exact=True).fill("sett")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("link", name="rotate")).to_have_count(0)
    page.get_by_role("link", name="settle", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="settle")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Search", exact=True)).to_have_value("sett")
    expect(page.get_by_role("link", name="settle", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="rotate")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("link", name="rotate")).to_be_visible()


def test_the_main_acts_need_no_script(visit: Visit, job: Job, operator: User) -> None:
    waits = make.run(job, State.REVIEW)
    page = visit(operator, script=False)
    page.goto(f"/jobs/{job.id}/")
    expect(page.locator(".beside")).to_have_count(1)
    expect(page.locator(".beside"), "its next moment is told once").to_be_hidden()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("A run of settle is on its way.")).to_be_visible()
    page.goto(f"/jobs/{job.id}/")
    page.get_by_text("Pause…").click()
    page.get_by_label("Reason").fill("The ledger moves.")
    page.get_by_role("button", name="Pause settle").click()
    expect(page.get_by_text("settle is paused.")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("settle is active again.")).to_be_visible()
    page.goto(f"/review/{waits.id}/")
    page.get_by_role("radio", name="It happened").check()
    page.get_by_role("textbox", name="Note").fill("Seen in the ledger.")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("Decided, and recorded with your name.")).to_be_visible()
    waits.refresh_from_db()
    assert waits.state == State.SUCCEEDED
