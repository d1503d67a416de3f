"""The lists of jobs and runs: one set of filters for page and API, pages that neither lose nor
double a row while rows arrive."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing
from jobs.models import Due, Job, Team, User
from jobs.roles import Role
from runs.dashboard.finding import job_pages
from runs.models import Run
from runs.states import Origin, ReviewClass, State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db


def of_page(browser: Browser, path: str) -> list[str]:
    """The names of the jobs that a page lists, in their order."""
    return [a.text for a in browser.get(path).all("a", class_="name")]


def of_api(api: Api, path: str) -> list[str]:
    return [one["name"] for one in api.get(path).body["results"]]


# ── jobs ─────────────────────────────────────────────────────────────────────────────────


def test_page_and_api_filter_jobs_alike(browser: Browser, api: Api, team: Team) -> None:
    make.job(team, name="fine")
    failing = make.job(team, name="failing")
    make.run(failing, State.SUCCEEDED)
    make.run(failing, State.DEAD)
    mended = make.job(team, name="mended")
    make.run(mended, State.DEAD)
    make.run(mended, State.SUCCEEDED)
    missed = make.job(team, name="missed", idempotent=False)
    make.run(missed, State.REVIEW, review_class=ReviewClass.MISSED)
    editing.pause(make.job(team, name="paused").id, editing.Pause("why"), by=None)
    late = make.job(team, name="late")
    Due.objects.filter(job=late).update(at=clock.now() - timedelta(minutes=1))
    unstarted = make.job(team, name="unstarted")
    make.run(unstarted, due_at=clock.now() - timedelta(minutes=1), origin=Origin.SCHEDULE)
    soon = make.job(team, name="soon", schedule={"every": 60, "anchor": "2026-01-01T00:00:00Z"})
    assert soon.due
    make.job(
        team, name="task", target={"type": "task", "name": "demo.hello", "args": [], "kwargs": {}}
    )
    for query, names in {
        "state=failing": ["failing", "missed"],
        "state=late": ["late", "unstarted"],
        "state=paused&state=failing": ["failing", "missed", "paused"],
        "state=paused,failing": ["failing", "missed", "paused"],
        "idempotent=false": ["missed"],
        "kind=task": ["task"],
        "kind=mirrored": [],
        "due_within=120": ["late", "soon"],
        "q=MEND": ["mended"],
        "q=%25": [],
        "team=payments&state=failing": ["failing", "missed"],
    }.items():
        assert of_page(browser, f"/jobs/?{query}") == names, query
        assert of_api(api, f"jobs/?{query}") == names, query


@pytest.mark.parametrize("looked_through", [3, 2_000])
@pytest.mark.parametrize(
    "sort", ["name", "-name", "next_due", "-next_due", "last_run", "-last_run"]
)
def test_jobs_are_sorted_and_paged_while_they_fire(
    api: Api, team: Team, monkeypatch: pytest.MonkeyPatch, sort: str, looked_through: int
) -> None:
    """K158: each job comes once, though some fire and move in the order between two pages."""
    monkeypatch.setattr(job_pages, "LOOKED_THROUGH", looked_through)
    monkeypatch.setattr(job_pages, "_NEAR", 1)  # a page reaches beyond it
    now = clock.now()
    jobs = [make.job(team, name=f"job {number}") for number in range(9)]
    for place, job in enumerate(jobs):
        Due.objects.filter(job=job).update(at=now + timedelta(minutes=place))
    for job in jobs[2:]:
        make.run(job, State.SUCCEEDED)
    expected = {
        "name": jobs,
        "-name": jobs[::-1],
        "next_due": jobs,
        "-next_due": jobs[::-1],
        "last_run": [*jobs[:1:-1], *sorted(jobs[:2], key=lambda job: job.id)],
        "-last_run": [*sorted(jobs[:2], key=lambda job: job.id), *jobs[2:]],
    }[sort]
    page, seen = api.get(f"jobs/?sort={sort}&page_size=2").body, []
    while True:
        seen += [one["id"] for one in page["results"]]
        for moved in (jobs[0], jobs[8]):  # shown before, and not yet
            _fire(moved)
        if not page["next"]:
            break
        page = api.get(page["next"]).body
    assert sorted(seen) == sorted(str(job.id) for job in jobs)
    if sort != "next_due":  # there the last one has moved, to the end where it stood anyway
        assert seen == [str(job.id) for job in expected]


def test_a_job_without_a_next_moment_stands_last_both_ways(
    browser: Browser, api: Api, team: Team
) -> None:
    for place, name in enumerate(("soon", "later", "never", "never either")):
        job = make.job(team, name=name)
        Due.objects.filter(job=job).update(at=clock.now() + timedelta(hours=place + 1))
    Due.objects.filter(job__name__startswith="never").delete()
    for sort, names in {"next_due": ["soon", "later"], "-next_due": ["later", "soon"]}.items():
        found = of_page(browser, f"/jobs/?sort={sort}")
        assert (found[:2], set(found[2:])) == (names, {"never", "never either"})
        page, paged = api.get(f"jobs/?sort={sort}&page_size=1").body, []
        while page["results"]:
            paged += [one["name"] for one in page["results"]]
            page = api.get(page["next"]).body if page["next"] else {"results": []}
        assert paged == found
    page = browser.get("/jobs/?sort=next_due")
    (head,) = [a for a in page.all("a") if a.text.startswith("Next due")]
    assert head.attrs["href"] == "?sort=-next_due"


def _fire(job: Job) -> None:
    due = Due.objects.get(job=job)
    make.run(job, State.SUCCEEDED, due_at=due.at, origin=Origin.SCHEDULE)
    Due.objects.filter(job=job).update(at=due.at + timedelta(hours=1))


def test_a_paused_job_says_who_paused_it_and_why(
    browser: Browser, team: Team, operator: User
) -> None:
    job = make.job(team)
    editing.pause(job.id, editing.Pause("The ledger moves."), by=operator)
    row = next(one for one in browser.get("/jobs/").all("tr", id=f"job-{job.id}"))
    assert "by operator" in row.text
    assert "The ledger moves." in row.text


def test_a_rows_menu_offers_what_its_reader_may_do(team: Team) -> None:
    """An editor of one team who but looks on in the other, and a job that somebody has paused."""
    ours, theirs = make.job(team), make.job(make.team("cards"))
    editing.pause(ours.id, editing.Pause("The ledger moves."), by=None)
    reader = make.editor(team)
    theirs.team.membership_set.create(user=reader, role=Role.VIEWER)
    page = Browser(reader).get("/jobs/")
    menus = {job: page.all("div", id=f"menu-{job.id}")[0].text for job in (ours, theirs)}
    for act in ("Run now…", "Resume…", "Edit", "Clone…", "Its runs"):
        assert act in menus[ours]
    assert "Pause…" not in menus[ours]
    assert menus[theirs].split("Its runs")[0] == theirs.name


def test_what_narrows_is_shown_and_can_be_taken_away(browser: Browser, team: Team) -> None:
    make.job(team, name="<b>&amp;</b>")
    page = browser.get("/jobs/?q=%3Cb%3E&state=active,paused&sort=last_run")
    chips = {a.text.partition(":")[0]: a.attrs["href"] for a in page.all("a", class_="chip")}
    assert list(chips) == ["Search", "State"]
    assert [a.text for a in page.all("a", class_="name")] == ["<b>&amp;</b>"]
    assert "<b>&amp;" not in page.html
    assert "q=" not in chips["Search"]
    assert "sort=last_run" in chips["Search"]
    assert "state=active" in chips["State"], "the other state stays"


def test_a_list_asks_as_often_for_many_jobs_as_for_few(browser: Browser, team: Team) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            browser.get("/jobs/")
        return len(queries)

    def registered(count: int) -> None:
        for number in range(count):
            job = make.job(team, name=f"{count} {number}")
            make.run(job, State.SUCCEEDED)
            editing.pause(
                make.job(team, name=f"off {count} {number}").id, editing.Pause("w"), by=None
            )

    registered(1)
    few = asked()
    registered(8)
    assert asked() == few


# ── runs ─────────────────────────────────────────────────────────────────────────────────


def test_page_and_api_filter_runs_alike(browser: Browser, api: Api, team: Team) -> None:
    now = clock.now()
    job, other = make.job(team, name="settle"), make.job(team, name="other")
    old = make.run(job, State.SUCCEEDED, due_at=now - timedelta(hours=30), origin=Origin.SCHEDULE)
    hand = make.run(job, State.RUNNING)
    dead = make.run(other, State.DEAD)
    skipped = make.run(other, State.SKIPPED, due_at=now - timedelta(hours=2), origin="schedule")
    instant = quote((now - timedelta(hours=3)).isoformat())
    for query, runs in {
        "": [skipped, dead, hand, old],
        "state=in_flight": [hand],
        "state=finished": [skipped, old],
        "state=finished,DEAD": [skipped, dead, old],
        "origin=hand": [dead, hand],
        "q=SETT": [hand, old],
        "since=24h": [skipped, dead, hand],
        "until=24h": [old],
        f"since={instant}&until=1h": [skipped],
        f"job={other.id}&state=DEAD": [dead],
        f"group={dead.error_group}": [dead],
        "team=payments&state=RUNNING&state=DEAD": [dead, hand],
    }.items():
        rows = browser.get(f"/runs/?{query}").all("tr")
        shown = [row.attrs["id"] for row in rows if "id" in row.attrs]
        assert shown == [f"run-{run.id}" for run in runs], query
        told = api.get(f"runs/?{query}").body["results"]
        assert [one["id"] for one in told] == [str(run.id) for run in runs], query


def test_no_run_is_lost_or_doubled_while_runs_arrive(
    api: Api, browser: Browser, team: Team
) -> None:
    """K158: paged along ids, which new runs never get among old ones."""
    job = make.job(team)
    there = {str(make.run(job, State.SUCCEEDED).id) for _ in range(7)}
    page, seen = api.get("runs/?page_size=3").body, []
    while True:
        seen += [one["id"] for one in page["results"]]
        for _ in range(2):
            make.run(job, State.SUCCEEDED)
        if not page["next"]:
            break
        page = api.get(page["next"]).body
    assert len(seen) == len(set(seen))
    assert set(seen) == there


@pytest.mark.parametrize(
    "query",
    [
        "cursor=%00",
        "cursor=x",
        "page_size=100000",
        "since=yesterday",
        "since=0001-01-01T00:00:00Z",
        "until=9999-12-31T23:59:59Z",
        "since=1h&until=24h",
        "state=dead",
        "state=",
        "origin=cron",
        "q=%00",
        "job=1",
        "team=a%20b",
        "page=-1",
    ],
)
@pytest.mark.parametrize("path", ["jobs/", "runs/"])
def test_a_bad_parameter_names_itself_and_is_never_a_failure(
    api: Api, browser: Browser, team: Team, path: str, query: str
) -> None:
    """K158, and the same at the page, which shows nothing or begins anew."""
    make.run(make.job(team))
    name = query.partition("=")[0]
    answer = api.get(f"{path}?{query}")
    assert answer.status == 400
    assert set(answer.fields) <= {name, "until"}
    assert browser.get(f"/{path}?{query}").status == 200


def test_the_page_of_a_deleted_jobs_runs(browser: Browser, team: Team) -> None:
    job = make.job(team, name="gone")
    run = make.run(job, State.SUCCEEDED)
    editing.delete(job.id, by=None)
    for query in ("", f"?job={job.id}", "?q=gone"):
        assert browser.get(f"/runs/{query}").all("tr", id=f"run-{run.id}")


def test_names_of_every_kind_are_found_and_shown(browser: Browser, team: Team) -> None:
    for name in ("<script>alert(1)</script>", 'it\'s "quoted"', "🎉 fête", "50%_off\\"):
        make.job(team, name=name)
        assert of_page(browser, f"/jobs/?q={quote(name)}") == [name]
        Run.objects.all().delete()
        run = make.run(Job.objects.get(name=name))
        rows = browser.get(f"/runs/?q={quote(name)}").all("tr", id=f"run-{run.id}")
        assert len(rows) == 1


def test_names_stand_in_one_order_whatever_their_capitals(
    browser: Browser, api: Api, team: Team
) -> None:
    for name in ("beta", "Alpha", "Gamma", "alpha 2"):
        make.job(team, name=name)
    names = ["Alpha", "alpha 2", "beta", "Gamma"]
    assert of_page(browser, "/jobs/") == of_api(api, "jobs/") == names
    assert of_page(browser, "/jobs/?sort=-name") == of_api(api, "jobs/?sort=-name") == names[::-1]


def test_a_head_that_is_clicked_again_turns_the_list_around(browser: Browser, team: Team) -> None:
    make.job(team)
    page = browser.get("/jobs/?state=active")
    (name,) = [a for a in page.all("a") if a.text.startswith("Name")]
    assert name.attrs["href"] == "?state=active&sort=-name"
    (name,) = [a for a in browser.get("/jobs/?sort=-name").all("a") if a.text.startswith("Name")]
    assert name.attrs["href"] == "?sort=name"


def test_the_order_of_names_is_read_along_an_index(team: Team) -> None:
    make.job(team)
    rows = job_pages._ordered(Job.objects.filter(deleted_at=None), "name", UUID(int=0))
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        cursor.execute("set local enable_bitmapscan = off")
        cursor.execute("set local enable_sort = off")
        plan = rows.values_list("id")[:51].explain()
    assert "jobs_by_name_in_any_case" in plan


def test_a_parameter_of_any_name_is_told_and_dropped(browser: Browser) -> None:
    """`request` is what the address of a page is made from too."""
    page = browser.get("/jobs/?request=x&state=paused")
    assert "request" in page.words
    assert page.all("a", href="?state=paused")
