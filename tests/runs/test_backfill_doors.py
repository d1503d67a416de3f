"""The API and the pages of backfills: what they take, say and refuse."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.backfills import backfill
from runs.models import Backfill, Run
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.runs.histories import MINUTE, fired, minutely, noon, skipped

pytestmark = pytest.mark.django_db


@pytest.fixture
def at() -> datetime:
    return noon()


@pytest.fixture
def job(team: Team) -> Job:
    return minutely(name="settle")


def body(at: datetime, minutes: int = 9, **more: Any) -> dict[str, Any]:
    last = at + minutes * MINUTE
    return {"from": canonical_instant(at), "to": canonical_instant(last), **more}


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_tells_and_does_nothing(api: Api, job: Job, at: datetime) -> None:
    fired(job, at)
    answer = api.post(f"jobs/{job.id}/backfill/", body(at, dry_run=True))
    assert answer.status == 200
    assert answer.body == {
        "moments": 10,
        "first": canonical_instant(at),
        "last": canonical_instant(at + 9 * MINUTE),
        "existing": 1,
        "to_run": 9,
    }
    assert not Backfill.objects.exists()


def test_a_backfill_is_begun_shown_listed_and_stopped(api: Api, job: Job, at: datetime) -> None:
    answer = api.post(f"jobs/{job.id}/backfill/", body(at, max_active=2, reverse=True))
    assert answer.status == 201
    shown = answer.body
    assert answer.headers["Location"].endswith(f"/api/v1/backfills/{shown['id']}/")
    assert (shown["state"], shown["moments"], shown["by"]) == ("open", 10, "operator")
    assert (shown["reverse"], shown["max_active"], shown["runs"]) == (True, 2, {})
    assert (shown["from"], shown["to"]) == (body(at)["from"], body(at)["to"])
    backfill.advance_all()
    seen = api.get(f"backfills/{shown['id']}/").body
    assert (seen["made"], seen["runs"]) == (2, {"CLAIMED": 2})
    assert api.get(f"jobs/{job.id}/backfill/").body["results"] == [seen]
    runs = api.get(f"runs/?backfill={shown['id']}").body["results"]
    assert [run["due_at"] for run in runs] == [canonical_instant(at + n * MINUTE) for n in (8, 9)]
    assert {(run["origin"], run["backfill"]) for run in runs} == {("backfill", shown["id"])}
    stopped = api.post(f"backfills/{shown['id']}/stop/").body
    assert (stopped["state"], stopped["runs"]) == ("stopped", {"SKIPPED": 2})
    assert stopped["reason"] == "Stopped by operator." and stopped["finished_at"]
    assert api.post(f"backfills/{shown['id']}/stop/").body == stopped


def test_a_second_one_is_409_and_names_the_first(api: Api, job: Job, at: datetime) -> None:
    first = api.post(f"jobs/{job.id}/backfill/", body(at)).headers["Location"]
    answer = api.post(f"jobs/{job.id}/backfill/", body(at))
    assert (answer.status, answer.body["backfill"]) == (409, first)
    assert api.post(f"jobs/{job.id}/backfill/", body(at, dry_run=True)).status == 200


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"from": None}, "from"),
        ({"to": None}, "to"),
        ({"to": ""}, "to"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-11-29T18:00:00"}, "from"),
        ({"from": 5}, "from"),
        ({"from": "0001-01-01T00:00:00Z"}, "from"),
        ({"to": "9999-12-31T23:59:59.999999Z"}, "to"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"reverse": 1}, "reverse"),
        ({"max_active": 0}, "max_active"),
        ({"max_active": 101}, "max_active"),
        ({"max_active": True}, "max_active"),
        ({"max_active": 1.5}, "max_active"),
        ({"until": "2026-11-29T18:00:00Z"}, "until"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(
    api: Api, job: Job, at: datetime, wrong: dict[str, Any], field: str
) -> None:
    for dry_run in (True, False):
        answer = api.post(f"jobs/{job.id}/backfill/", {**body(at, dry_run=dry_run), **wrong})
        assert answer.status == 400
        assert field in answer.fields
    assert not Backfill.objects.exists()


def test_a_million_moments_are_refused_with_their_number(api: Api, team: Team) -> None:
    job = make.job(team, schedule={"every": 1, "anchor": "2020-01-01T00:00:00Z"})
    day = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-12T23:59:59Z"}
    answer = api.post(f"jobs/{job.id}/backfill/", day)
    assert answer.status == 400
    said = [error["message"] for error in answer.body["errors"] if error["field"] == "to"]
    assert said == ["makes a range of 1,036,800 moments."]


def test_another_teams_backfill_is_not_there(api: Api, at: datetime) -> None:
    other = make.backfill(make.job(make.team("elsewhere")))
    assert api.get(f"backfills/{other.id}/").status == 404
    assert api.post(f"backfills/{other.id}/stop/").status == 404
    assert api.get(f"runs/?backfill={other.id}").body["results"] == []


# ── the pages ────────────────────────────────────────────────────────────────────────────


def typed(at: datetime, minutes: int = 9, **more: str) -> dict[str, str]:
    """The form's fields, on the clock of UTC."""
    last = at + minutes * MINUTE
    return {"since": f"{at:%Y-%m-%d %H:%M}", "until": f"{last:%Y-%m-%dT%H:%M}", **more}


def test_from_the_job_by_way_of_the_preview_to_the_progress(
    browser: Browser, job: Job, at: datetime
) -> None:
    has = fired(job, at)
    assert browser.get(f"/jobs/{job.id}/").all("a", href=f"/jobs/{job.id}/backfill/")
    blank = browser.get(f"/jobs/{job.id}/backfill/")
    assert blank.status == 200 and not blank.all("div", class_="errors")[0].text
    fields = typed(at, 19, max_active="3", reverse="on")
    page = browser.get(f"/jobs/{job.id}/backfill/?" + _query(fields))
    assert "20 moments, 1 of them with a run already: 19 would be run" in page.words
    assert "… 10 more …" in page.words
    assert page.all("a", href=f"/runs/{has.id}/")
    (begin,) = page.all("button", class_="button primary")
    assert "Begin: run 19 moments" in begin.text
    hidden = {
        one.attrs["name"]: one.attrs.get("value", "") for one in page.all("input", type="hidden")
    }
    page = browser.send(f"/jobs/{job.id}/backfill/", {**hidden})
    of = Backfill.objects.get()
    assert page.url == f"/backfills/{of.id}/"
    assert (of.max_active, of.reverse, of.since, of.moments) == (3, True, at, 20)
    assert "It has made no run yet" in page.words


def test_the_progress_and_the_run_say_what_it_is(browser: Browser, job: Job, at: datetime) -> None:
    of = make.backfill(job, since=at, until=at, cursor=at - MINUTE)
    backfill.advance_all()
    run = Run.objects.get(backfill=of)
    page = browser.get(f"/backfills/{of.id}/")
    assert page.all("tr", id=f"run-{run.id}")
    assert page.all("div", hx_get=f"/backfills/{of.id}/progress/")
    assert browser.get(f"/backfills/{of.id}/progress/").all("tr", id=f"run-{run.id}")
    shown = browser.get(f"/runs/{run.id}/")
    assert shown.all("a", href=f"/backfills/{of.id}/")
    assert "Written down by a backfill" in shown.words
    listed = browser.get(f"/runs/?backfill={of.id}")
    assert listed.all("tr", id=f"run-{run.id}") and "backfill" in listed.words
    assert f"/backfills/{of.id}/" in browser.get(f"/jobs/{job.id}/backfill/").html


def test_it_is_stopped_on_its_page(browser: Browser, job: Job, at: datetime) -> None:
    of = make.backfill(job, since=at, until=at, cursor=at - MINUTE)
    assert browser.get(f"/backfills/{of.id}/").all("form", action=f"/backfills/{of.id}/stop/")
    page = browser.post(f"/backfills/{of.id}/stop/")
    assert "Stopped by operator." in page.words
    assert not page.all("form", action=f"/backfills/{of.id}/stop/")
    assert not page.all("div", hx_get=f"/backfills/{of.id}/progress/"), "nothing changes any more"
    assert "was stopped already" in browser.post(f"/backfills/{of.id}/stop/").words


def test_a_second_one_leads_to_the_first(browser: Browser, job: Job, at: datetime) -> None:
    of = make.backfill(job)
    page = browser.get(f"/jobs/{job.id}/backfill/?" + _query(typed(at, max_active="1")))
    assert "is not over" in page.words and "Begin: run" not in page.words
    page = browser.send(f"/jobs/{job.id}/backfill/", typed(at, max_active="1"))
    assert page.url == f"/backfills/{of.id}/" and "Nothing was begun" in page.words


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"since": ""}, "since", "Write a day"),
        ({"since": "soon"}, "since", "'soon'"),
        ({"until": "2026-02-30"}, "until", "calendar"),
        ({"until": "2999-01-01"}, "until", "yet to come"),
        ({"since": "1999-01-01", "until": "2001-01-01"}, "since", "first version"),
        ({"until": "1999-01-01"}, "until", "before"),
        ({"max_active": "0"}, "max_active", "from 1 to 100"),
        ({"max_active": "many"}, "max_active", "whole number"),
        ({"max_active": ""}, "max_active", "whole number"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    browser: Browser, job: Job, at: datetime, fields: dict[str, str], field: str, said: str
) -> None:
    wanted = {**typed(at, max_active="1"), **fields}
    page = browser.get(f"/jobs/{job.id}/backfill/?" + _query(wanted))
    assert page.status == 200 and said in page.error(field)
    page = browser.send(f"/jobs/{job.id}/backfill/", wanted)
    assert page.status == 422 and said in page.error(field)
    assert page.value(field) == wanted[field]
    assert not Backfill.objects.exists()


def test_the_form_reads_the_clock_of_the_job(browser: Browser, at: datetime) -> None:
    job = minutely(schedule={"cron": "* * * * *", "timezone": "Asia/Kolkata"})
    shown = f"{at.astimezone(ZoneInfo('Asia/Kolkata')):%Y-%m-%d %H:%M}"
    assert "Asia/Kolkata" in browser.get(f"/jobs/{job.id}/backfill/").words
    fields = {"since": shown, "until": shown, "max_active": "1"}
    browser.send(f"/jobs/{job.id}/backfill/", fields)
    of = Backfill.objects.get()
    assert (of.since, of.until, of.moments) == (at, at, 1)


def test_run_now_leads_on_to_a_range(browser: Browser, job: Job, at: datetime) -> None:
    skipped(job, at)
    page = browser.get(f"/jobs/{job.id}/run-now/")
    assert page.all("a", href=f"/jobs/{job.id}/backfill/")


def test_a_job_that_is_not_safe_to_repeat_is_said_to_be(browser: Browser, at: datetime) -> None:
    job = minutely(idempotent=False)
    assert "not safe to repeat" in browser.get(f"/jobs/{job.id}/backfill/").words


def _query(fields: dict[str, str]) -> str:
    return "&".join(f"{name}={value.replace(' ', '+')}" for name, value in fields.items())
