"""A moment is picked from a calendar, or typed, and each says the other."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests import make
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_what_is_picked_is_written_and_previewed(visit: Visit) -> None:
    """On the browser's clock with its offset; a backfill's range on the clock of the job."""
    team = make.team()
    page = visit(make.editor(team))
    page.goto("/jobs/new/")
    page.get_by_label("Once").check()
    typed = page.get_by_label("At", exact=True)
    picked = page.locator(".if-at").get_by_label("Pick it, Asia/Tokyo")
    picked.fill("2099-12-24T18:30")
    expect(typed).to_have_value("2099-12-24T18:30:00+09:00")
    expect(page.locator("#preview tbody")).to_contain_text("24 Dec 2099 09:30")
    typed.fill("2099-12-24T18:00:00Z")
    expect(picked).to_have_value("2099-12-25T03:00")
    typed.fill("2h")
    expect(picked).to_have_value("")

    job = make.job(team, schedule={"cron": "0 3 * * *", "timezone": "America/New_York"})
    page.goto(f"/jobs/{job.id}/backfill/")
    page.get_by_label("Pick it, America/New_York").first.fill("2026-11-29T18:00")
    expect(page.get_by_label("From", exact=True)).to_have_value("2026-11-29 18:00")
