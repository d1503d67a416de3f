"""Pages that stay up to date, and disturb nobody who is at work in them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Request, expect

from jobs.models import Job, User
from runs.models import Run
from runs.states import State
from tests import make
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Who comes back to a page is shown at once what has changed.
RETURN = "document.dispatchEvent(new Event('visibilitychange'))"
LOOKS = [pytest.param(1280, "light", id="desk-light"), pytest.param(390, "dark", id="phone-dark")]


@pytest.fixture
def job(transactional_db: None) -> Job:
    return make.job(make.team(), name="settle")


@pytest.fixture
def operator(job: Job) -> User:
    return make.operator(job.team)


def polled(page: Page) -> int:
    """The status of a poll of the page's region."""
    with page.expect_response(lambda answer: "/live/" in answer.url) as found:
        page.evaluate(RETURN)
    return found.value.status


def in_review(job: Job, count: int) -> list[Run]:
    return [make.run(job, State.REVIEW) for _ in range(count)]


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_what_changes_comes_in_and_what_does_not_costs_nothing(
    visit: Visit, job: Job, operator: User, width: int, theme: str
) -> None:
    (first,) = in_review(job, 1)
    page = visit(operator, width, theme)
    page.goto("/review/")
    assert polled(page) == 304
    expect(page.locator("#live-said")).to_contain_text("updated")
    (second,) = in_review(job, 1)
    assert polled(page) == 200
    expect(page.locator(f"#run-{second.id}")).to_have_count(0)
    assert polled(page) == 304
    page.get_by_role("link", name="1 new to decide").click()
    expect(page.locator(f"#run-{second.id}")).to_be_visible()
    expect(page.locator(f"#run-{first.id}")).to_be_visible()
    relative = page.locator(f"#run-{second.id} time[data-relative]").first
    expect(relative).to_contain_text("ago")
    assert (relative.get_attribute("title") or "").endswith("UTC")
    before = relative.inner_text()
    expect(relative).not_to_have_text(before)


def test_focus_scroll_filter_and_what_is_open_survive(
    visit: Visit, job: Job, operator: User
) -> None:
    runs = in_review(job, 40)
    page = visit(operator)
    page.goto("/review/?class=unknown")
    link = page.locator(f"#run-{runs[30].id} a.name")
    link.focus()
    top = page.evaluate("window.scrollY")
    assert top > 0
    new, missed = make.run(job, State.REVIEW), make.run(job, State.REVIEW, review_class="missed")
    Run.objects.filter(id=runs[0].id).update(reason="It says something else.")
    assert polled(page) == 200
    expect(page.get_by_role("link", name="1 new to decide")).to_be_visible()
    expect(page.get_by_text("It says something else.")).to_be_visible()
    for come in (new, missed):
        expect(page.locator(f"#run-{come.id}")).to_have_count(0)
    expect(link).to_be_focused()
    assert page.evaluate("window.scrollY") == top
    assert page.url.endswith("/review/?class=unknown")


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_nothing_moves_while_a_row_is_ticked(
    visit: Visit, job: Job, operator: User, width: int, theme: str
) -> None:
    run = make.dead(job)
    page = visit(operator, width, theme)
    page.goto(f"/dead-letters/{run.error_group}/")
    tick = page.locator(f"#run-{run.id} input")
    # Ticked while the answer to a poll is on its way, and while there is something new.
    second = make.run(job, State.DEAD)
    with page.expect_response(lambda answer: "/live/" in answer.url) as found:
        page.evaluate(f"{RETURN}; document.querySelector('[name=run]').click()")
    assert found.value.status == 200
    expect(page.locator("#live-said")).to_have_text("paused – 1 row selected")
    page.evaluate(RETURN)
    expect(tick).to_be_checked()
    expect(page.locator(f"#run-{second.id}")).to_have_count(0)
    tick.uncheck()
    assert polled(page) == 200, "what was not shown counts as not seen"
    expect(page.locator(f"#run-{second.id}")).to_have_count(1)


def test_a_reader_pauses_it_and_goes_on(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto("/review/")
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/static/" not in request.url:
            asked.append(request.url)

    page.on("request", note)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#live-said")).to_have_text("paused – you paused it")
    (run,) = in_review(job, 1)
    page.evaluate(RETURN)
    expect(page.locator("#live-said")).to_have_text("paused – you paused it")
    assert asked == []
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(f"#run-{run.id}")).to_be_visible()


def test_an_open_dialog_holds_the_page(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto("/review/")
    page.get_by_role("link", name="Keys and help").click()
    expect(page.locator("#live-said")).to_have_text("paused – a dialog is open")
    page.keyboard.press("Escape")
    expect(page.locator("#live-said")).to_contain_text("updated")


def test_a_server_that_is_away_is_told_and_nothing_is_emptied(
    visit: Visit, job: Job, operator: User
) -> None:
    (run,) = in_review(job, 1)
    page = visit(operator, may_report=("ERR_INTERNET_DISCONNECTED", "htmx:error"))
    page.goto("/review/")
    page.context.set_offline(True)
    page.evaluate(RETURN)
    expect(page.locator("#live-said")).to_contain_text("not updated since")
    expect(page.locator(f"#run-{run.id}")).to_be_visible()
    expect(page.locator("#alerts p")).to_have_count(0)
    page.context.set_offline(False)
    assert polled(page) == 304
    expect(page.locator("#live-said")).to_contain_text("updated")
    expect(page.locator("#live-said")).not_to_contain_text("not")


def test_a_session_that_ends_leads_to_sign_in(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto("/review/?claimed=nobody")
    Session.objects.all().delete()
    page.evaluate(RETURN)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.url.endswith("/sign-in/?next=%2Freview%2F%3Fclaimed%3Dnobody")
    expect(page.locator("table")).to_have_count(0)


def test_back_shows_the_list_which_goes_on(visit: Visit, job: Job, operator: User) -> None:
    (run,) = in_review(job, 1)
    page = visit(operator)
    page.goto("/review/?claimed=nobody")
    page.locator(f"#run-{run.id} a.name").click()
    expect(page.get_by_role("heading", name="A person must decide")).to_be_visible()
    page.go_back()
    page.wait_for_url("**/review/?claimed=nobody")
    expect(page.locator(f"#run-{run.id}")).to_be_visible()
    assert polled(page) in (200, 304)


def test_what_went_wrong_is_said_once_with_its_number(
    visit: Visit, job: Job, operator: User
) -> None:
    page = visit(make.editor(job.team), may_report=("status of 500",))
    page.goto("/jobs/new/")
    page.route(
        "**/jobs/preview/**",
        lambda route: route.fulfill(
            status=500, headers={"X-Request-ID": "0af7651916cd43dd"}, body="<h1>no page</h1>"
        ),
        times=1,  # the form asks again at each change, and would say it again
    )
    page.get_by_label("Expression", exact=True).fill("0 18 * * *")
    alert = page.get_by_role("alert").filter(has_text="0af7651916cd43dd")
    expect(alert).to_contain_text("the server answered 500")
    expect(page.get_by_text("no page")).to_have_count(0)
    alert.get_by_role("button", name="Close").click()
    expect(alert).to_have_count(0)


def test_title_and_icon_tell_of_a_run_in_review(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto("/holds/")
    expect(page).to_have_title("Holds · Onebeat")
    in_review(job, 2)
    page.evaluate(RETURN)
    expect(page).to_have_title("(2) Holds · Onebeat")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile("icon-review"))
    expect(page.locator("#count-review")).to_contain_text("2")


def test_the_runs_of_a_job_come_in_on_its_page(visit: Visit, job: Job, operator: User) -> None:
    page = visit(operator)
    page.goto(f"/jobs/{job.id}/")
    expect(page.locator("#runs")).to_contain_text("It has not run yet.")
    run = make.run(job, State.RUNNING)
    page.evaluate(RETURN)
    expect(page.locator(f"#runs #run-{run.id}")).to_contain_text("Running")
    expect(page.locator("#live-said")).to_contain_text("updated")


def test_new_runs_wait_behind_a_chip(visit: Visit, job: Job, operator: User) -> None:
    first = make.run(job, State.RUNNING)
    page = visit(operator)
    page.goto("/runs/?state=RUNNING")
    new = make.run(job, State.RUNNING)
    assert polled(page) == 200
    chip = page.get_by_role("link", name="1 new run")
    expect(chip).to_be_visible()
    expect(page.locator(f"#run-{new.id}")).to_have_count(0)
    expect(page.locator(f"#run-{first.id}")).to_be_visible()
    chip.click()
    expect(page.locator(f"#run-{new.id}")).to_be_visible()
    assert page.url.endswith("/runs/?state=RUNNING")


def test_who_polls_too_often_reads_since_when_nothing_is_new(
    visit: Visit, job: Job, operator: User, settings: Any
) -> None:
    in_review(job, 1)
    page = visit(operator, may_report=("429",))
    page.goto("/review/")
    settings.POLLS = 0
    assert polled(page) == 429
    expect(page.locator("#live-said")).to_contain_text("not updated since")
    expect(page.locator("#review-rows tbody tr")).to_have_count(1)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    page.evaluate(RETURN)  # nothing asks before the time that the server has said
    settings.POLLS = 600
    assert not [request for request in asked if "/review/live/" in request.url]
