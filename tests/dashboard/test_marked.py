"""Markers where they are shown: over pictures, between runs, beside what failed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import clock
from jobs.models import Job, Team, User
from runs.dashboard import bars, marked, windows
from runs.dashboard.job import activity
from runs.dashboard.windows import LENGTHS
from runs.markers import kept, placing
from runs.markers.placing import Flag, Row
from runs.models import Attempt, Run
from runs.states import State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db
NOON = datetime(2030, 3, 20, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", tags=["billing"])


def ran(job: Job, at: datetime, state: State = State.SUCCEEDED, **columns: Any) -> Run:
    """A run that was born then."""
    return make.run(job, state, created_at=at, **columns)


def attempt(
    run: Run, began: datetime, ended: datetime | None, outcome: str, number: int = 1
) -> Any:
    return Attempt.objects.create(
        run=run, number=number, lease_id=uuid4(), worker="w",
        started_at=began, ended_at=ended, outcome=outcome,
    )  # fmt: skip


# ── geometry ─────────────────────────────────────────────────────────────────────────────


def test_flags_that_would_cover_each_other_are_one() -> None:
    assert placing.flags([0.0, 10.0, 500.0], 1_000.0) == [Flag(0.0, 1, 2), Flag(50.0, 3, 3)]
    assert [flag.label for flag in placing.flags([0.0, 10.0, 500.0], 1_000.0)] == ["1–2", "3"]
    assert placing.flags([], 1_000.0) == []


@pytest.mark.parametrize("width", [0.0, 5.0, 36.0, 300.0, 1_000.0])
def test_no_flag_leaves_its_picture_or_covers_another(width: float) -> None:
    found = placing.flags([width * share / 20 for share in range(21)], width)
    places = [flag.x * width / 100 for flag in found]
    room = max(placing.ROOM, width * placing.SHARE)
    assert all(0 <= place <= max(0.0, width - room) + 0.1 for place in places)
    assert all(b - a >= room - 0.1 for a, b in pairwise(places))
    numbers = [n for flag in found for n in range(flag.first, flag.last + 1)]
    assert numbers == list(range(1, 22))


def test_an_instant_stands_on_its_line_and_never_beside_it() -> None:
    assert [placing.along(at, 10, 20, 100) for at in (5, 10, 15, 20, 25)] == [0, 0, 50, 100, 100]
    assert placing.along(5, 10, 10, 100) == 0


def test_a_marker_stands_before_the_first_thing_that_began_after_it() -> None:
    starts = [1.0, 2.0, 2.0, 4.0]
    assert [placing.among(starts, at) for at in (0.5, 1.0, 2.0, 3.0, 9.0)] == [0, 1, 3, 3, 4]
    assert placing.between([0, 1, 4], 7) == [0.5, 6, 27]
    rows = placing.mixed(["a", "b"], ["x", "y", "z"], [0, 1, 2])
    assert [row.thing or row.mark for row in rows] == ["x", "a", "y", "b", "z"]
    assert [row.number for row in rows if row.mark] == [1, 2, 3]
    assert placing.mixed([], ["x"], [0]) == [Row(mark="x", number=1)]


# ── the Overview ─────────────────────────────────────────────────────────────────────────


def test_a_window_shows_the_last_of_its_teams_in_their_order(team: Team) -> None:
    window = windows.ending(LENGTHS["24h"], NOON)
    steps = bars.steps(window.starts, [{} for _ in window.starts])
    make.marker(team, "too early", at=window.since - MINUTE)
    make.marker(team, "too late", at=window.until)
    make.marker(make.team("elsewhere"), "theirs", at=NOON)
    for hours in range(kept.MOST + 1):
        make.marker(team, f"{hours}", at=window.since + hours * HOUR)
    found = marked.in_window([team.id], window, steps)
    assert [one.text for one in found.markers] == [f"{n}" for n in range(1, kept.MOST + 1)]
    assert found.more
    assert found.lines[0] == bars.WIDTH
    shown = [row for row in found.rows if row.mark]
    assert [row.number for row in shown] == list(range(1, kept.MOST + 1))
    before = found.rows[found.rows.index(shown[0]) - 1].thing
    assert before is not None
    assert before.at == window.starts[1]


def test_the_overview_tells_what_changed_in_picture_list_and_table(
    team: Team, browser: Browser, job: Job
) -> None:
    now = clock.now()
    make.run(job, State.SUCCEEDED)
    bare = browser.get("/overview/numbers/")
    assert "glyph-marker" not in bare.html.partition('id="overview-numbers"')[2]
    make.marker(team, HOSTILE, at=now, url="https://ci.example/7", tag="billing")
    page = browser.get("/overview/numbers/")
    assert page.html.count('class="marker"') == 1
    assert page.words.count("Marker 1,") == 2  # below the picture, and in the table
    assert HOSTILE in page.words
    assert HOSTILE not in page.html
    assert page.all("a", href="https://ci.example/7")[0].attrs["rel"].startswith("noopener")
    assert "alert(1)" in browser.get("/").words
    assert "alert(1)" not in Browser(make.outsider()).get("/").words


def test_a_window_in_which_nothing_was_due_tells_it_too(team: Team, browser: Browser) -> None:
    make.marker(team, "migration of the ledger")
    page = browser.get("/overview/numbers/").words
    assert "Nothing was due" in page
    assert "migration of the ledger" in page


def test_the_tag_of_the_region_is_of_its_markers_too(team: Team, operator: User) -> None:
    client = Client()
    client.force_login(operator)
    tag = client.get("/overview/numbers/", headers={"HX-PTag": "of before"}).headers["HX-PTag"]
    again = client.get("/overview/numbers/", headers={"HX-PTag": tag})
    make.marker(team)
    after = client.get("/overview/numbers/", headers={"HX-PTag": tag})
    assert after.status_code == 200
    assert again.headers["HX-PTag"] != after.headers["HX-PTag"]


# ── a job ────────────────────────────────────────────────────────────────────────────────


def test_markers_stand_among_the_runs_of_a_job(team: Team, job: Job, browser: Browser) -> None:
    now = clock.now()
    for minutes in (40, 30, 20):
        ran(job, now - minutes * MINUTE)
    make.marker(team, "before all", at=now - 50 * MINUTE)
    make.marker(team, "of others", at=now - 25 * MINUTE, tag="ledger")
    make.marker(team, "in between", at=now - 25 * MINUTE, tag="billing")
    make.marker(team, "since then", at=now - 10 * MINUTE)
    found = marked.over(job, activity.of_job(job))
    assert [one.text for one in found.markers] == ["in between", "since then"]
    assert found.on_strip == [13, 20]
    assert [bool(row.mark) for row in found.strip_rows] == [False, False, True, False, True]
    page = browser.get(f"/jobs/{job.id}/")
    assert page.words.count("in between") == 2  # below the strip, and in its table
    assert "of others" not in page.words
    assert "before all" not in page.words


def test_the_newest_runs_are_listed_with_what_lies_between(
    team: Team, job: Job, browser: Browser
) -> None:
    now = clock.now()
    runs = [ran(job, now - minutes * MINUTE) for minutes in (30, 20)]
    make.marker(team, "in between", at=now - 23 * MINUTE)
    make.marker(team, "since then", at=now - 5 * MINUTE)
    lines = marked.lines(job, runs[::-1])
    told = [line.run or (line.marker and line.marker.text, line.gap) for line in lines]
    assert told == [("since then", None), runs[1], ("in between", 3 * MINUTE), runs[0]]
    page = browser.get(f"/jobs/{job.id}/runs/").words
    assert "since then, no run has begun since" in page
    assert "in between, 3 m before the run above" in page


def test_a_job_without_runs_asks_for_no_marker(team: Team, job: Job) -> None:
    make.marker(team)
    shown = activity.of_job(job)
    with CaptureQueriesContext(connection) as queries:
        assert marked.lines(job, []) == []
        assert marked.over(job, shown).markers == []
    assert not queries.captured_queries


@pytest.mark.parametrize("count", [0, 1, 25])
def test_however_many_there_are_one_look_finds_them(
    team: Team, job: Job, browser: Browser, count: int
) -> None:
    ran(job, clock.now() - HOUR)
    for _ in range(count):
        make.marker(team)
    for page in (f"/jobs/{job.id}/", f"/jobs/{job.id}/runs/", "/overview/numbers/"):
        browser.get(page)
        with CaptureQueriesContext(connection) as queries:
            browser.get(page)
        asked = [one for one in queries.captured_queries if "runs_marker" in one["sql"]]
        assert len(asked) == 1, page


# ── what failed ──────────────────────────────────────────────────────────────────────────


def test_a_failed_run_says_what_changed_within_the_hour_before(team: Team, job: Job) -> None:
    run = make.run(job, State.RETRYING, send_at=clock.now(), failures=1, attempt=2)
    attempts = [
        attempt(run, NOON - HOUR, NOON - HOUR, "later"),
        attempt(run, NOON, NOON + 5 * MINUTE, "failed", 2),
        attempt(run, NOON + HOUR, NOON + HOUR, "failed", 3),
    ]
    for text, at in (
        ("an hour and more", NOON - HOUR - MINUTE),
        ("two minutes", NOON - 2 * MINUTE),
        ("meanwhile", NOON + 3 * MINUTE),
        ("afterwards", NOON + 6 * MINUTE),
    ):
        make.marker(team, text, at=at)
    make.marker(team, "of others", at=NOON, tag="ledger")
    found = [(one.marker.text, one.gap, one.within) for one in kept.before_failure(job, attempts)]
    assert found == [("meanwhile", 3 * MINUTE, True), ("two minutes", 2 * MINUTE, False)]
    assert kept.before_failure(job, attempts[:1]) == []


def test_its_page_says_so(team: Team, job: Job, browser: Browser) -> None:
    now = clock.now()
    run = make.run(job, State.DEAD)
    attempt(run, now, now, "failed")
    make.marker(team, HOSTILE, at=now - 2 * MINUTE)
    make.marker(make.team("elsewhere"), "theirs", at=now)
    page = browser.get(f"/runs/{run.id}/")
    assert "2 m before its first failed attempt began: Marker" in page.words
    assert HOSTILE in page.words
    assert HOSTILE not in page.html
    assert "theirs" not in page.words


def test_a_group_of_dead_letters_says_what_its_first_followed(
    team: Team, job: Job, browser: Browser
) -> None:
    first = clock.now() - HOUR
    run = make.run(job, State.DEAD, died_at=first)
    make.run(job, State.DEAD)
    make.marker(team, "deploy", at=first - 4 * MINUTE)
    make.marker(team, "afterwards", at=first + MINUTE)
    page = browser.get(f"/dead-letters/{run.error_group}/").words
    assert "4 m before the first of these died: Marker" in page
    assert "afterwards" not in page
