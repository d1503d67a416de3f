"""The page of a job: its tabs, and its month."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.db import connection

from jobs import editing
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Job, Team
from runs.dashboard.job import month
from runs.dashboard.job.month import Day
from runs.states import Origin, State
from tests import make
from tests.dashboard import history
from tests.pages import Browser

pytestmark = pytest.mark.django_db

NOW = datetime(2030, 3, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(
        team,
        name="settle",
        schedule={"cron": "0 */6 * * *", "timezone": "Europe/Berlin"},
        runbook="Ask the ledger.",
    )


def days(job: Job, zone: str = "UTC", asked: str = "2030-03") -> dict[int, Day]:
    return {day.day.day: day for day in month.of_job(job, NOW, zone, asked).days}


def test_each_tab_is_a_plain_link(browser: Browser, job: Job) -> None:
    page = browser.get(f"/jobs/{job.id}/")
    hrefs = {link.attrs["href"] for link in page.all("a")}
    for tab, words in (
        ("schedule", "Next ten moments"),
        ("settings", "What it does"),
        ("versions", "Version 1"),
        ("notes", "Ask the ledger."),
    ):
        address = f"/jobs/{job.id}/?tab={tab}"
        assert address in hrefs
        shown = browser.get(address)
        assert words in shown.words
        assert words not in page.words
        (here,) = [one for one in shown.all("a") if one.attrs.get("aria-current") == "page"]
        assert here.text == tab.title()
    assert browser.get(f"/jobs/{job.id}/?tab=nonsense").status == 200


def test_what_waits_for_a_person_stands_first(browser: Browser, job: Job) -> None:
    assert "for a decision" not in browser.get(f"/jobs/{job.id}/").words
    first = make.run(job, State.REVIEW)
    page = browser.get(f"/jobs/{job.id}/?tab=notes")
    assert "1 run waits for a decision; it came" in page.words
    assert f"/review/{first.id}/" in {link.attrs["href"] for link in page.all("a")}
    make.run(job, State.REVIEW)
    make.run(job, State.DEAD)
    page = browser.get(f"/jobs/{job.id}/")
    assert "2 runs wait for a decision; the oldest came" in page.words
    assert f"/review/?job={job.id}" in {link.attrs["href"] for link in page.all("a")}


def test_the_header_names_the_next_moment_on_three_clocks(browser: Browser, job: Job) -> None:
    browser.client.cookies["browser_zone"] = "Asia/Tokyo"
    words = browser.get(f"/jobs/{job.id}/").words
    said = words[words.index("Next: ") :]
    assert re.match(r"Next: \w+ \d.* \d\d:\d\d Berlin .*\d\d:\d\d Tokyo .*\d\d:\d\d UTC ", said)


def test_a_month_shows_what_was_and_what_is_to_come(job: Job) -> None:
    for hour, state in ((0, State.SUCCEEDED), (6, State.DEAD), (12, State.SUCCEEDED)):
        due = datetime(2030, 3, 5, hour, tzinfo=UTC)
        make.run(job, state, origin=Origin.SCHEDULE, due_at=due, created_at=due)
    found = days(job)
    assert found[5].outcomes == {State.SUCCEEDED: 2, State.DEAD: 1}
    assert (found[5].trouble, found[5].to_come) == (1, 0)
    assert found[5].words == "1 dead, 2 succeeded"
    assert (found[20].is_today, found[20].to_come) == (True, 3), "of 11, 17 and 23 o'clock"
    assert found[21].to_come == 4
    assert found[19].words == "nothing"


def test_a_day_is_the_readers_day(job: Job) -> None:
    due = datetime(2030, 3, 5, 20, tzinfo=UTC)
    make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=due, created_at=due)
    assert days(job, "Asia/Tokyo")[6].outcomes == {State.SUCCEEDED: 1}
    assert days(job, "Asia/Tokyo")[5].outcomes == {}


def test_a_record_of_several_moments_counts_each(browser: Browser, job: Job) -> None:
    now = datetime.now(UTC)
    make.run(
        job,
        State.SKIPPED,
        origin=Origin.SCHEDULE,
        due_at=now,
        skipped_until=now,
        skipped_count=24,
        reason="Missed.",
    )
    by_hand = make.run(job, State.SUCCEEDED)
    page = browser.get(f"/jobs/{job.id}/?tab=schedule&month={by_hand.created_at:%Y-%m}")
    assert "24 skipped, 1 succeeded" in page.words


def test_changes_of_the_clock_are_marked(job: Job) -> None:
    """Berlin's goes forward on the last Sunday of March, New York's on the second."""
    found = days(job, "America/New_York")
    assert found[31].clocks == [] and found[30].clocks == [
        "the clock of Europe/Berlin goes forward"
    ]
    assert found[10].clocks == ["the clock of America/New_York goes forward"]


def test_days_off_are_marked_with_their_names(team: Team) -> None:
    author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    given = {"days_off": [{"date": "2030-03-25", "label": "Founders’ day"}]}
    calendar_editing.create("bank", calendar_content.read(given), by=author)
    job = make.job(
        team,
        schedule={"cron": "0 9 * * *"},
        calendar={"name": "bank", "rule": "skip"},
    )
    found = days(job)
    assert (found[25].off, found[25].to_come) == (["day off: Founders’ day"], 0)
    assert found[23].off == ["no working day"]
    assert (found[26].off, found[26].to_come) == ([], 1)


def test_nothing_is_to_come_under_a_pause(job: Job) -> None:
    until = datetime(2030, 3, 22, 12, tzinfo=UTC)
    editing.pause(job.id, editing.Pause("A move.", until=until), by=None)
    found = days(Job.objects.get(id=job.id))
    assert [found[day].to_come for day in (21, 22, 23)] == [0, 2, 4]
    editing.pause(job.id, editing.Pause("For good."), by=None)
    assert days(Job.objects.get(id=job.id))[23].to_come == 0


@pytest.mark.parametrize("asked", ["", "2030-13", "x", "0001-01", "9999-12"])
def test_a_month_that_is_none_is_this_one(job: Job, asked: str) -> None:
    found = month.of_job(job, NOW, "UTC", asked)
    assert (found.first.year, found.first.month) == (2030, 3)
    assert (found.before, found.after) == ("2030-02", "2030-04")


def test_the_month_is_read_by_indexes(team: Team) -> None:
    """Neither branch goes through history: by the constraint on moments, and by birth."""
    job = history.jobs(team, 10)
    history.runs(team, 600, until=NOW)
    history.analyzed()
    whole = month.of_job(job, NOW, "UTC", "2030-03")
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        cursor.execute(f"explain {month.OUTCOMES}", month.given(job, whole.first, "UTC"))
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "one_run_per_due_moment" in plan
    assert "runs_of_a_job" in plan
    assert "Seq Scan" not in plan
