"""What is due in the time to come: the list, the map and the days off, on page and API."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing, holds, stored
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Due, Job, Team, User
from jobs.schedules.instants import canonical_instant
from runs.dashboard.upcoming import upcoming
from runs.dashboard.upcoming.upcoming import Place
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
LAST = UUID(int=2**128 - 1)


@pytest.fixture
def viewer(team: Team) -> User:
    return make.viewer(team)


@pytest.fixture
def browser(viewer: User) -> Browser:
    return Browser(viewer)


@pytest.fixture
def api(team: Team, viewer: User) -> Api:
    return Api.of(team, viewer)


def crowd(team: Team) -> list[Job]:
    """Jobs of every kind, some of which share their moments."""
    now = clock.now()
    kinds: list[dict[str, Any]] = [
        {"schedule": {"cron": "0 * * * *"}},
        {"schedule": {"cron": "0 * * * *"}},
        {"schedule": {"cron": "*/20 * * * *", "timezone": "Asia/Kolkata"}},
        {"schedule": {"every": 5400, "anchor": "2026-01-01T00:00:07Z"}},
        {"schedule": [{"cron": "15 */2 * * *"}, {"cron": "45 */3 * * *"}]},
        {"schedule": {"cron": "5 * * * *"}, "max_runs": 3},
        {"schedule": {"cron": "25 * * * *"}, "skip_next": 2, "skip_reason": "Stocktaking."},
        {"schedule": {"cron": "35 * * * *"}, "ends_at": canonical_instant(now + DAY / 4)},
    ]
    jobs = [make.job(team, name=f"job {place}", **kind) for place, kind in enumerate(kinds)]
    paused = make.job(team, name="until noon", schedule={"cron": "50 * * * *"})
    editing.pause(paused.id, editing.Pause("A move.", until=now + DAY / 2), by=None)
    off = make.job(team, name="off", schedule={"cron": "10 * * * *"})
    editing.pause(off.id, editing.Pause("For good."), by=None)
    return [*jobs, Job.objects.get(id=paused.id)]


def expected(jobs: list[Job], now: datetime, until: datetime) -> list[tuple[datetime, UUID]]:
    """By walking through each job by itself."""
    found = []
    for job in jobs:
        after = max(now, job.paused_until or now)
        shown = stored.next_moments(job, after, 200)
        found += [(one.moment, job.id) for one in shown if one.moment <= until]
    return sorted(found)


def test_the_list_is_what_each_job_says_page_by_page(team: Team, viewer: User) -> None:
    jobs, now = crowd(team), clock.now()
    until, behind, rows = now + DAY, Place(now, LAST), []
    for _ in range(200):
        page = upcoming.page(Job.objects.where(viewer.id), now, until, behind, 7)
        rows += [(row.at, row.job.id) for row in page.rows]
        if page.following is None:
            break
        behind = page.following
    assert rows == expected(jobs, now, until)
    assert len(rows) > 150


def test_what_will_be_skipped_says_so(team: Team, viewer: User) -> None:
    crowd(team)
    now = clock.now()
    page = upcoming.page(Job.objects.where(viewer.id), now, now + DAY, Place(now, LAST), 500)
    skipped = [row.job.name for row in page.rows if row.skipped]
    assert skipped == ["job 6", "job 6"]


def test_a_moment_that_nobody_has_claimed_yet_is_not_to_come(team: Team, viewer: User) -> None:
    """The list goes on behind it by the plan, though `Due` stands still."""
    job, now = make.job(team, schedule={"cron": "0 * * * *"}), clock.now()
    Due.objects.filter(job=job).update(at=now - timedelta(hours=3))
    page = upcoming.page(Job.objects.where(viewer.id), now, now + DAY, Place(now, LAST), 5)
    assert [(row.at, row.job.id) for row in page.rows] == expected([job], now, now + DAY)[:5]


def test_the_map_counts_what_the_list_shows(team: Team, viewer: User) -> None:
    jobs, now = crowd(team), clock.now()
    week = upcoming.week(Job.objects.where(viewer.id), now, now + DAY)
    to_skip = next(job for job in jobs if job.skip_next)
    left_out = [(one.moment, to_skip.id) for one in stored.next_moments(to_skip, now, 2)]
    fire = [pair for pair in expected(jobs, now, now + DAY) if pair not in left_out]
    moments = [at for at, _ in fire if week.minutes.start <= at < week.minutes.end]
    assert week.within(now, now + DAY) == len(moments)
    assert week.jobs == len(jobs)
    assert not week.cut
    assert week.hottest is not None
    at, most = week.hottest
    minutes = [moment.replace(second=0) for moment in moments]
    assert most == minutes.count(at) == max(map(minutes.count, minutes))


def test_a_reader_sees_the_moments_of_their_teams_alone(browser: Browser, team: Team) -> None:
    make.job(team, name="ours", schedule={"cron": "0 * * * *"})
    make.job(make.team("others"), name="theirs", schedule={"cron": "0 * * * *"})
    page = browser.get("/upcoming/")
    assert "ours" in page.words
    assert "theirs" not in page.html
    week = browser.get("/upcoming/?tab=week")
    assert "1 job, hours" in week.words
    assert browser.get("/upcoming/?tab=week&team=others").status == 200
    assert "others is none of your teams" in browser.get("/upcoming/?team=others").words


def test_a_cell_leads_to_its_list(browser: Browser, team: Team) -> None:
    make.job(team, schedule={"cron": "*/10 * * * *"})
    page = browser.get("/upcoming/?tab=week")
    cells = [link for link in page.all("a") if "from=" in link.attrs["href"]]
    assert len(cells) > 6 * 24 - 2
    assert cells[-1].text == "6"
    shown = browser.get(cells[-1].attrs["href"])
    assert shown.words.count("rotate-certificates") == 6
    assert "hottest minute is" in page.words


def test_an_address_that_says_nonsense_is_told_its_field(browser: Browser, team: Team) -> None:
    for query, said in (
        ("from=tomorrow", "'tomorrow' is not an instant"),
        ("until=2999-01-01T00:00:00Z", "looks further ahead than a week"),
        ("behind=x", "no place of the list"),
        ("behind=2026-01-01T00:00:00Z_x", "no place of the list"),
    ):
        assert said in browser.get(f"/upcoming/?{query}").words, query


def test_nothing_yet_is_told_from_nothing_in_this_time(browser: Browser, team: Team) -> None:
    assert "Nothing is due in the next 24 hours." in browser.get("/upcoming/").words
    assert "Nothing is due in the next seven days." in browser.get("/upcoming/?tab=week").words
    soon = canonical_instant(clock.now() + timedelta(minutes=1))
    assert "Nothing is due in this time." in browser.get(f"/upcoming/?until={soon}").words


def test_the_next_page_begins_where_this_one_ends(browser: Browser, team: Team) -> None:
    make.job(team, schedule={"cron": "*/10 * * * *"})
    first = browser.get("/upcoming/")
    (more,) = first.all("a", rel="next")
    second = browser.get("/upcoming/" + more.attrs["href"])
    assert first.words.count("rotate-certificates") == 50

    def times(page: object) -> list[str]:
        return [one.attrs["datetime"] for one in page.all("time")][2:]  # type: ignore[attr-defined]

    assert times(second)[0] > times(first)[-1]


def test_days_off_say_what_they_do(browser: Browser, team: Team) -> None:
    day = (clock.now() + timedelta(days=8)).date()
    day += timedelta(days=(7 - day.weekday()) % 7)  # a Monday
    author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    given = {"days_off": [{"date": day.isoformat(), "label": "Founders’ day"}]}
    calendar_editing.create("bank", calendar_content.read(given), by=author)
    for name, rule, cron in (
        ("skips", "skip", "0 9 * * *"),
        ("moves", "next", "0 9 * * 1"),
        ("elsewhere", "skip", "0 9 * * 2"),
    ):
        calendar = {"name": "bank", "rule": rule}
        make.job(team, name=name, schedule={"cron": cron}, calendar=calendar)
    words = browser.get("/upcoming/?tab=off").words
    assert "Founders’ day" in words
    assert "1 job skips it; 1 job moves to another working day" in words


def test_holds_and_pauses_that_end_stand_beside_the_days_off(browser: Browser, team: Team) -> None:
    crowd(team)
    words = browser.get("/upcoming/?tab=off").words
    assert "Nothing is on hold." in words
    assert "until noon, until" in words
    holds.begin(team, "The ledger moves.", by=None)
    assert "The ledger moves." in browser.get("/upcoming/?tab=off").words


def test_the_api_lists_the_same(api: Api, team: Team) -> None:
    jobs, now = crowd(team), clock.now()
    rows, address, last = [], "upcoming/?page_size=50", ""
    while address:
        answer = api.get(address)
        assert answer.status == 200, answer.body
        rows += [(row["due_at"], row["job"]) for row in answer.body["results"]]
        address, last = answer.body["next"], address
    assert "cursor=" in last
    assert answer.body["complete"] is True
    wanted = expected(jobs, now, now + DAY - timedelta(minutes=2))
    assert rows[: len(wanted)] == [(canonical_instant(at), str(job_id)) for at, job_id in wanted]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("until=soon", "until"),
        ("until=2020-01-01T00:00:00Z", "until"),
        ("until=2999-01-01T00:00:00Z", "until"),
        ("cursor=made-up", "cursor"),
        ("page_size=0", "page_size"),
        ("team=%20", "team"),
        ("job=x", "job"),
    ],
)
def test_the_api_names_the_field_that_is_wrong(api: Api, query: str, field: str) -> None:
    answer = api.get(f"upcoming/?{query}")
    assert (answer.status, answer.fields) == (400, [field])


def test_the_density_counts_hours_and_names_the_hottest_minute(api: Api, team: Team) -> None:
    for place in range(3):
        make.job(team, name=f"job {place}", schedule={"cron": "30 */2 * * *"})
    body = api.get("upcoming/density/").body
    hours = body["hours"]
    assert 168 <= len(hours) <= 169
    assert sum(hour["count"] for hour in hours) in (3 * 84, 3 * 83)
    assert body["hottest_minute"]["count"] == 3
    assert body["hottest_minute"]["at"].endswith(":30:00Z")
    assert (body["jobs"], body["complete"]) == (3, True)
    assert api.get("upcoming/density/?team=others").body["jobs"] == 0


def test_no_more_statements_for_more_jobs(browser: Browser, team: Team) -> None:
    counts = set()
    for _ in range(2):
        many(team, 20)
        for path in ("/upcoming/", "/upcoming/?tab=week", "/upcoming/?tab=off"):
            with CaptureQueriesContext(
                connection,
            ) as asked:
                browser.get(path)
            counts.add((path, len(asked)))
    assert len(counts) == 3


def many(team: Team, number: int) -> None:
    """So many jobs, each with a schedule that few share: copies of rows that the rule wrote."""
    dice = random.Random(Job.objects.count())
    one = make.job(team, name=f"the model {dice.random()}")
    rows = []
    for place in range(number):
        row = Job.objects.get(id=one.id)
        row.id, row.name = UUID(int=dice.getrandbits(128)), f"{one.name} {place}"
        cron = f"{dice.randrange(60)} {dice.choice(['*', '*/2', dice.randrange(24)])} * * *"
        zone = dice.choice(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
        row.schedule = [{"cron": cron, "timezone": zone, "dst": "once"}]
        rows.append(row)
    Job.objects.bulk_create(rows)
    now = clock.now()
    due = [(row, stored.plan(row).next(now)) for row in rows]
    Due.objects.bulk_create(Due(job=row, shard=0, at=at) for row, at in due if at)


def test_a_thousand_jobs_that_all_differ_are_within_the_budget(team: Team, viewer: User) -> None:
    """What this process itself needs is counted, since the machine of a test run may be busy; that
    no statement is spent on a job is tested above."""
    many(team, 1_000)
    now = clock.now()
    jobs = Job.objects.where(viewer.id)
    late, here = Place(now + 5 * DAY, LAST), Place(now, LAST)
    asked: dict[str, Callable[[], object]] = {
        "the week": lambda: upcoming.week(jobs, now, now + 7 * DAY),
        "a page five days on": lambda: upcoming.page(jobs, now, now + 7 * DAY, late, 50),
        "the first page": lambda: upcoming.page(jobs, now, now + DAY, here, 50),
    }
    taken = {name: min(seconds(what) for _ in range(3)) for name, what in asked.items()}
    print("seconds for 1,000 jobs:", taken)
    assert max(taken.values()) < 0.3


def seconds(what: Callable[[], object]) -> float:
    """That this process works on it."""
    began = time.process_time()
    what()
    return time.process_time() - began
