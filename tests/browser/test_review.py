"""A decision in a real browser: nothing by reflex, and an open page that keeps up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from jobs.models import Team, User
from runs.models import Decision, Run
from tests import make
from tests.browser.conftest import Visit
from tests.runs.reviewing import decide, job_with, waits

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_request_is_shown_and_the_name_typed_before_it_goes_again(
    visit: Visit, operator: User, team: Team, width: int
) -> None:
    run = waits(team, job=job_with(team, decide_by=7200))
    page = visit(operator, width=width, may_report=("status of 422",))
    page.goto("/review/")
    page.get_by_role("link", name=run.job.name, exact=True).click()
    expect(page.get_by_text("decide by").first).to_be_visible()
    assert not page.get_by_role("radio").evaluate_all("all => all.some((one) => one.checked)")
    request = page.locator(".if-again pre")
    expect(request).to_be_hidden()
    page.get_by_label("It did not happen.").check()
    expect(request).to_contain_text(f"Idempotency-Key: {run.key}")
    button = page.get_by_role("button", name=f"Decide and run {run.job.name} again")
    page.get_by_label("Note", exact=True).fill("Not in the ledger.")
    button.click()
    expect(page.locator("#id_job_name_error")).to_contain_text("Nothing was sent.")
    page.get_by_label("type the job’s name").fill(run.job.name)
    button.click()
    expect(page.get_by_text("Decided, and recorded with your name.")).to_be_visible()
    assert Decision.objects.get(run=run).decision == "run_again"


def test_an_open_page_learns_of_others_and_moves_nothing(
    visit: Visit, operator: User, team: Team
) -> None:
    run, other = waits(team, since=timedelta(hours=1)), waits(team)
    page = visit(operator)
    page.goto(f"/review/{run.id}/")
    page.get_by_label("Partly.").check()
    page.get_by_label("Note", exact=True).fill("Half of it")
    places = "all => all.map((one) => one.id)"
    before = page.locator("#review-others li").evaluate_all(places)
    waits(team, job=job_with(team, decide_by=1))
    decide(other, "close", operator)
    colleague = make.operator(team, "colleague")
    decide(run, "happened", colleague)
    poll = "document.querySelectorAll('[data-live]').forEach((it) => htmx.trigger(it, 'poll'))"
    page.evaluate(poll)
    expect(page.get_by_text("colleague was faster: “it happened”")).to_be_visible()
    expect(page.locator("#review-others")).to_contain_text("1 new")
    assert page.locator("#review-others li").evaluate_all(places) == before
    expect(page.get_by_label("Note", exact=True)).to_have_value("Half of it")
    expect(page.get_by_label("Partly.")).to_be_checked()
    page.get_by_role("button", name="Decide and close it").click()
    expect(page.get_by_text("colleague decided “it happened”")).to_be_visible()
    assert Run.objects.get(id=run.id).state == "SUCCEEDED"


def test_the_form_of_a_job_speaks_while_it_is_filled_in(visit: Visit, team: Team) -> None:
    job = make.job(team, name="settle", timeout=300)
    page = visit(make.editor(team))
    page.goto(f"/jobs/{job.id}/edit/")
    page.get_by_label("Attempts at most").fill("3")
    expect(page.locator("#waits")).to_contain_text("between its 3 attempts")
    expect(page.locator("#waits circle")).to_have_count(3)
    expect(page.locator("#changes")).to_contain_text("retries.max_attempts")
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Send a test request…").click()
    expect(opened.value.get_by_role("heading", level=1)).to_have_text("Send a test request")
    expect(opened.value.get_by_text("Onebeat-Test: true").first).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_enabled()
