"""A person registers a job, pauses it, resumes it and runs it, in a real browser."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from jobs import clock
from jobs.models import Job
from runs.models import Run
from tests import make
from tests.browser.conftest import Visit, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(params=[1280, 390], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, visit: Visit) -> Page:
    """A page of somebody who has not signed in."""
    # A form that is sent back with its errors is 422, which the browser itself remarks on.
    return visit(None, width=request.param, may_report=("status of 422",))


def begin(page: Page) -> None:
    sign_in(page, "/sign-in/")
    expect(page.get_by_role("heading", level=1, name="There are no jobs yet.")).to_be_visible()


def test_a_job_from_its_first_letter_to_its_first_run(page: Page) -> None:
    begin(page)
    page.get_by_role("link", name="Register a job").click()
    moments = page.locator("#preview tbody tr")
    expect(moments).to_have_count(0)

    # Ten moments appear while the expression is typed, and an error at its field.
    page.get_by_label("Time zone").fill("America/New_York")
    page.get_by_label("Expression", exact=True).press_sequentially("0 18 * * 1-5", delay=20)
    expect(moments).to_have_count(10)
    expect(page.locator("#preview")).to_contain_text("Monday to Friday at 18:00")
    page.get_by_label("Expression", exact=True).fill("0 25 * * *")
    expect(page.locator("#id_cron_error")).to_contain_text("hour")
    page.get_by_label("Expression", exact=True).fill("0 18 * * 1-5")
    expect(page.locator("#id_cron_error")).to_be_hidden()
    expect(moments).to_have_count(10)

    # What is missing is named; what was typed stays.
    page.get_by_label("Name", exact=True).fill("settle")
    page.get_by_label("URL", exact=True).fill("https://ledger.example/settle")
    page.get_by_role("button", name="Register").click()
    expect(page.locator("#id_idempotent_error")).to_contain_text("repeated without harm")
    expect(page.get_by_label("Expression", exact=True)).to_have_value("0 18 * * 1-5")
    page.get_by_label("No, it must never be repeated blindly.").check()
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_text("settle is registered.")).to_be_visible()
    expect(page.locator("#runs")).to_contain_text("It has not run yet.")
    job = Job.objects.get()
    assert (job.name, job.idempotent) == ("settle", False)

    page.get_by_text("Pause…").click()
    page.get_by_label("Reason").fill("The ledger moves.")
    page.get_by_role("button", name="Pause settle").click()
    expect(page.get_by_text("settle is paused.")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("settle is active again.")).to_be_visible()

    page.get_by_role("link", name="Run now…").click()
    expect(page.get_by_text("This job is not safe to repeat.")).to_be_visible()
    page.get_by_role("button", name="Run it now").click()
    expect(page.get_by_text("A run of settle is on its way.")).to_be_visible()
    assert Run.objects.get().job_id == job.id


def test_the_moments_stand_on_the_browsers_clock_too(page: Page) -> None:
    begin(page)
    job = make.job(make.team(), schedule={"cron": "0 3 * * *", "timezone": "America/New_York"})
    page.goto(f"/jobs/{job.id}/edit/")
    expect(page.locator("#preview thead")).to_contain_text("Tokyo, yours")


def test_what_an_edit_moves_and_a_pause_leaves_out_is_shown_while_typing(page: Page) -> None:
    begin(page)
    job = make.job(make.team(), schedule={"cron": "0 3 * * *", "timezone": "UTC"})
    page.goto(f"/jobs/{job.id}/edit/")
    impact = page.locator("#impact")
    expect(impact).to_contain_text("at the same moments as before")
    page.get_by_label("Expression", exact=True).fill("0 3,4 * * *")
    expect(impact).to_contain_text("Newly due")
    expect(impact).not_to_contain_text("No longer due")

    page.goto(f"/jobs/{job.id}/")
    page.get_by_text("Pause…").click()
    until = (clock.now() + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    page.get_by_label("Until").fill(until)
    expect(page.locator("#left-out")).to_contain_text("2 moments lie under this pause")
    page.get_by_label("Until").fill("soon")
    expect(page.locator("#id_until_error")).to_contain_text("not an instant")


def test_only_the_chosen_kind_of_schedule_is_shown(page: Page) -> None:
    begin(page)
    page.goto("/jobs/new/")
    every = page.get_by_label("Every", exact=True)
    expect(every).to_be_hidden()
    page.get_by_label("Every so often").check()
    expect(every).to_be_visible()
    expect(page.get_by_label("Expression", exact=True)).to_be_hidden()
    every.fill("5")
    expect(page.locator("#preview tbody tr")).to_have_count(10)
    expect(page.locator("#preview")).to_contain_text("Every 5 minutes")
