"""What pages and answers say of moments to come: on three clocks, beside other jobs, and before
a change is made."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from jobs import clock, editing
from jobs.models import Due, Job, JobVersion, Team, User
from jobs.schedules import schedules
from jobs.schedules.schedules import canonical_instant
from tests import make
from tests.api import Api
from tests.pages import Browser, Page, typed

pytestmark = pytest.mark.django_db

NEW_YORK = "/jobs/preview/?schedule_kind=cron&cron=0+18+*+1+*&timezone=America/New_York"
NOON = {"cron": "0 12 * * *", "timezone": "UTC"}


@pytest.fixture
def browser(editor: User) -> Browser:
    return Browser(editor)


def columns(page: Page) -> list[str]:
    return [" ".join(head.text.split()) for head in page.all("th")]


def part(page: Page, target: str) -> str:
    """What a fragment puts into another place of the page."""
    (found,) = page.all("hx-partial", hx_target=target)
    return " ".join(found.text.split())


# ── three clocks ─────────────────────────────────────────────────────────────────────────


def test_moments_stand_on_the_jobs_clock_the_readers_and_in_utc(browser: Browser) -> None:
    browser.client.cookies["browser_zone"] = "Asia/Tokyo"
    page = browser.get(NEW_YORK)
    assert columns(page) == ["America/New_York", "Tokyo, yours", "UTC"]
    cells = [" ".join(cell.text.split()) for cell in page.all("td")][:3]
    assert cells[0].endswith(" 18:00 UTC-05:00")
    assert cells[1].endswith(" 08:00 UTC+09:00")
    assert cells[2].endswith(" 23:00")


@pytest.mark.parametrize(
    ("zone", "query", "shown"),
    [
        ("UTC", NEW_YORK, ["America/New_York", "UTC"]),
        ("America/New_York", NEW_YORK, ["America/New_York, yours", "UTC"]),
        ("UTC", NEW_YORK.replace("America/New_York", "UTC"), ["UTC"]),
        ("Asia/Tokyo", "/jobs/preview/?schedule_kind=every&every=5", ["UTC", "Tokyo, yours"]),
        ("Mars/Base", NEW_YORK, ["America/New_York", "UTC"]),
        ("../../etc/passwd", NEW_YORK, ["America/New_York", "UTC"]),
    ],
)
def test_no_clock_is_shown_twice_and_a_zone_that_is_none_is_utc(
    browser: Browser, zone: str, query: str, shown: list[str]
) -> None:
    browser.client.cookies["browser_zone"] = zone
    assert columns(browser.get(query)) == shown


def test_a_reader_chooses_a_zone_which_goes_before_the_browsers(browser: Browser) -> None:
    browser.client.cookies["browser_zone"] = "Asia/Tokyo"
    page = browser.post(
        "/settings/", theme="system", density="normal", timezone="Europe/Paris", next="/runs/"
    )
    assert page.url == "/runs/"
    assert "Saved. Times are shown in Europe/Paris." in page.words
    assert "Paris, yours" in columns(browser.get(NEW_YORK))
    browser.post("/settings/", theme="system", density="normal", timezone="", next="/runs/")
    assert "Tokyo, yours" in columns(browser.get(NEW_YORK))


def test_a_zone_that_is_none_is_refused_and_no_stranger_is_returned_to(browser: Browser) -> None:
    page = browser.post(
        "/settings/", theme="system", density="normal", timezone="europe/paris", next="/runs/"
    )
    assert page.status == 422
    assert "Write Europe/Paris." in page.error("timezone")
    page = browser.post(
        "/settings/", theme="system", density="normal", timezone="UTC", next="https://evil.example/"
    )
    assert page.url == "/"


# ── other jobs in the minute ─────────────────────────────────────────────────────────────


def test_other_jobs_in_the_minute_are_counted_and_not_named(
    browser: Browser, team: Team, editor: User
) -> None:
    job = make.job(team, name="mine", schedule=NOON)
    make.job(make.team("elsewhere"), name="secret project", schedule=NOON)
    page = browser.get(f"/jobs/{job.id}/?tab=schedule")
    assert "at least 1 other job in this minute" in page.words
    assert "Another minute, or a spread of the start" in page.words
    assert "secret project" not in page.words
    typing = browser.get("/jobs/preview/?schedule_kind=cron&cron=0+12+*+*+*&timezone=UTC")
    assert "at least 2 other jobs in this minute" in typing.words
    results = Api.of(team, editor).get(f"jobs/{job.id}/due/").body["results"]
    assert [moment["others"] for moment in results] == [1] + [0] * 9


def test_the_api_says_the_schedule_in_words_and_what_is_odd_about_it(
    team: Team, editor: User
) -> None:
    job = make.job(team, schedule={"cron": "0 0 29 2 *", "timezone": "UTC"})
    body = Api.of(team, editor).get(f"jobs/{job.id}/due/?count=2").body
    assert body["words"] == "On the 29th of the month in February at 00:00"
    assert body["remarks"] == [
        "The 29th of February comes in leap years only. The last day of a month is L."
    ]


# ── before an edit ───────────────────────────────────────────────────────────────────────


def edit_preview(browser: Browser, job: Job, cron: str) -> str:
    query = f"schedule_kind=cron&cron={cron.replace(' ', '+')}&timezone=UTC"
    return part(browser.get(f"/jobs/preview/?job={job.id}&{query}"), "#impact")


def test_an_edit_shows_which_moments_it_moves(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    opened = browser.get(f"/jobs/{job.id}/edit/").words
    assert "Its moments It is due at the same moments as before." in opened
    said = edit_preview(browser, job, "0 12,18 * * *")
    assert said.startswith("Newly due")
    assert "18:00 UTC" in said
    assert "No longer due" not in said
    assert edit_preview(browser, job, "0 6 * * *").startswith("No longer due")
    assert "not in order yet" in edit_preview(browser, job, "0 66 * * *")


def test_an_edit_that_thins_a_job_out_says_when_it_is_due_next(
    browser: Browser, team: Team
) -> None:
    job = make.job(team, schedule={"cron": "* * * * *", "timezone": "UTC"})
    far = clock.now() + timedelta(days=15)
    said = edit_preview(browser, job, f"0 0 {far.day} {far.month} *")
    assert "never due again" not in said, "its next moments only lie beyond those compared"
    assert re.search(rf"Next due\s*{far:%a} {far.day} {far:%b} {far.year} 00:00 UTC", said)


def test_without_javascript_the_preview_button_shows_it_too(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    page = browser.send(f"/jobs/{job.id}/edit/", typed(cron="0 6 * * *", preview="1"))
    assert "No longer due" in page.words
    assert "Newly due" in page.words


def test_an_edit_says_what_it_leaves_to_the_version_before_it(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=2))
    assert "has come already: it goes by the version before" in edit_preview(
        browser, job, "0 6 * * *"
    )
    editing.pause(job.id, editing.Pause("a move"), by=None)
    said = edit_preview(browser, job, "0 6 * * *")
    assert "The job is paused and stays so" in said


def test_what_a_job_is_like_is_not_shown_to_strangers(team: Team) -> None:
    job = make.job(team, schedule=NOON)
    query = f"/jobs/preview/?job={job.id}&schedule_kind=cron&cron=@daily"
    assert Browser(make.outsider()).get(query).status == 404
    assert Browser(make.viewer(team)).get(query).status == 403
    assert Browser(make.viewer(team, "other")).get(f"/jobs/{job.id}/pause/preview/").status == 403
    assert Browser(make.editor(team)).get("/jobs/preview/?job=x&schedule_kind=cron").status == 404


# ── before a pause, a resume, a delete ───────────────────────────────────────────────────


def test_a_pause_with_an_end_counts_what_lies_under_it(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    first = schedules.next_moment(schedules.load(job.schedule), clock.now())
    assert first is not None
    until = canonical_instant(first + timedelta(days=2, hours=6))
    page = browser.get(f"/jobs/{job.id}/pause/preview/?until={until}")
    assert "3 moments lie under this pause until" in page.words
    assert "They do not fire and are not made up afterwards. Due again" in page.words
    until = canonical_instant(first - timedelta(minutes=1))
    words = browser.get(f"/jobs/{job.id}/pause/preview/?until={until}").words
    assert "No moment lies under this pause" in words
    wrong = browser.get(f"/jobs/{job.id}/pause/preview/?until=tomorrow")
    assert "not an instant" in part(wrong, "#id_until_error")
    assert "The next that would not fire" in wrong.words


def test_without_javascript_a_button_tells_what_is_left_out(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule={"cron": "0 0 1 1 *", "timezone": "UTC"})
    until = canonical_instant(clock.now() + timedelta(days=366))
    page = browser.post(f"/jobs/{job.id}/pause/", until=until, preview="1")
    assert page.status == 200
    assert "1 moment lies under this pause until" in page.words
    assert page.error("reason") == "", "a look is no attempt to pause"
    assert page.value("until") == until
    job.refresh_from_db()
    assert not job.paused


def test_a_moment_that_has_come_is_said_to_fire_all_the_same(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=2))
    assert "the pause does not take it back" in browser.get(f"/jobs/{job.id}/").words
    words = browser.get(f"/jobs/{job.id}/delete/").words
    assert "its run is written, and cancelled at its start" in words
    assert "It would have been due next" in words


def test_a_resume_says_how_much_fell_under_the_pause(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule=NOON)
    now = clock.now()
    editing.pause(job.id, editing.Pause("a move", now + timedelta(days=2)), by=None)
    fresh = browser.get(f"/jobs/{job.id}/").words
    assert "Under it lie 2 moments, from" in fresh
    assert "No moment has fallen under the pause yet." in fresh
    # An edit under the pause is a version of its own, and no new beginning of the pause.
    definition = make.definition(schedule={"cron": "0 0,12 * * *"}, paused=True)
    editing.edit(job.id, definition, by=None)
    for number, days in ((2, 4), (3, 2)):
        began = now - timedelta(days=days)
        JobVersion.objects.filter(job=job, number=number).update(began_at=began)
    words = browser.get(f"/jobs/{job.id}/").words
    assert "6 moments have fallen under the pause, the last at" in words
    assert "Nothing of the past fires." in words
