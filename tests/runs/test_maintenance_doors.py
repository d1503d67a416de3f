"""The doors of maintenance windows: pages and API plan, show, change and cancel alike."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from jobs import clock, holds, maintenance
from jobs.models import Due, Job, MaintenanceWindow, Preference, Team, User
from jobs.schedules.instants import canonical_instant, parse_instant
from jobs.templatetags.holds import notices
from tests import make
from tests.api import Api
from tests.pages import Browser

BERLIN = ZoneInfo("Europe/Berlin")
pytestmark = pytest.mark.django_db


def ahead(days: float) -> datetime:
    """A full minute to come."""
    return clock.now().replace(second=0, microsecond=0) + timedelta(days=days)


def each_minute(team: Team, name: str = "settle") -> Job:
    return make.job(team, name=name, schedule={"cron": "* * * * *", "timezone": "UTC"})


def staff() -> User:
    return make.person("staff", is_staff=True)


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_a_window_from_its_plan_to_its_hold(api: Api, team: Team) -> None:
    times = {"from": canonical_instant(ahead(1)), "until": canonical_instant(ahead(1.25))}
    made = api.post("holds/", {"reason": "The ledger moves.", **times})
    assert made.status == 201
    assert (made.body["state"], made.body["team"], made.body["by"]) == (
        *("planned", "payments", "operator"),
    )
    where = f"holds/windows/{made.body['id']}/"
    assert made.headers["Location"].endswith(where)
    assert api.get("holds/?state=on").body["results"] == []
    assert [one["id"] for one in api.get("holds/?state=planned").body["results"]] == [
        made.body["id"]
    ]
    changed = api.call("PATCH", where, {"reason": "It moves later."})
    assert changed.body == {**made.body, "reason": "It moves later."}
    MaintenanceWindow.objects.update(begins_at=clock.now())
    maintenance.begin_due()
    (hold,) = api.get("holds/?state=on").body["results"]
    found = api.get(where).body
    assert (found["state"], found["hold"], hold["until"]) == ("began", hold["id"], times["until"])
    assert api.get("holds/?state=planned").body["results"] == []
    for method, body in (("PATCH", {"reason": "Later."}), ("DELETE", None)):
        late = api.call(method, where, body)
        assert (late.status, "has begun" in late.body["detail"]) == (409, True)


def test_a_window_is_cancelled_and_stays_on_record(api: Api, team: Team) -> None:
    window = make.window(team)
    where = f"holds/windows/{window.id}/"
    assert api.call("DELETE", where).status == 204
    found = api.get(where).body
    assert (found["state"], found["cancelled_by"]) == ("cancelled", "operator")
    again = api.call("DELETE", where)
    assert (again.status, "cancelled by operator" in again.body["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"from": "2020-01-01T00:00:00Z"}, "from"),
        ({"from": "9999-12-31T23:59:59Z"}, "from"),
        ({"from": "tomorrow"}, "from"),
        ({"from": 7}, "from"),
        ({"until": None}, "until"),
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "9999-12-31T23:59:59Z"}, "until"),
        ({"reason": ""}, "reason"),
        ({"to": "2030-01-01T00:00:00Z"}, "to"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"from": None, "dry_run": True}, "dry_run"),
    ],
)
def test_what_is_wrong_is_named(api: Api, change: dict[str, Any], field: str) -> None:
    times = {"from": canonical_instant(ahead(1)), "until": canonical_instant(ahead(1.25))}
    answer = api.post("holds/", {"reason": "A move.", **times, **change})
    assert (answer.status, answer.fields) == (400, [field])
    assert not MaintenanceWindow.objects.exists()


def test_a_dry_run_says_what_would_wait_and_plans_nothing(api: Api, team: Team) -> None:
    each_minute(team)
    each_minute(make.team("elsewhere"))
    make.job(team, name="yearly")
    begins = ahead(1)
    times = {
        "from": canonical_instant(begins),
        "until": canonical_instant(begins + timedelta(minutes=30)),
    }
    answer = api.post("holds/", {"reason": "A move.", "dry_run": True, **times})
    assert answer.status == 200
    assert answer.body == {
        "moments": 30,
        "jobs": 1,
        "counted_until": times["until"],
        "complete": True,
    }
    assert not MaintenanceWindow.objects.exists()


def test_more_than_a_week_is_counted_for_a_week(api: Api, team: Team) -> None:
    make.job(team, schedule={"every": 86_400, "anchor": "2026-01-01T00:00:00Z"})
    begins = ahead(1)
    times = {
        "from": canonical_instant(begins),
        "until": canonical_instant(begins + timedelta(days=20)),
    }
    found = api.post("holds/", {"reason": "A move.", "dry_run": True, **times}).body
    assert (found["moments"], found["complete"]) == (7, False)


def test_the_windows_of_others_are_not_there_and_the_installations_are_the_staffs(
    api: Api, team: Team
) -> None:
    theirs, whole = make.window(make.team("elsewhere")), make.window(None, begins=120, ends=180)
    listed = api.get("holds/?state=planned").body["results"]
    assert [(one["id"], one["team"]) for one in listed] == [(str(whole.id), None)]
    for method in ("GET", "PATCH", "DELETE"):
        body = {"reason": "Mine."} if method == "PATCH" else None
        assert api.call(method, f"holds/windows/{theirs.id}/", body).status == 404
    assert api.call("DELETE", f"holds/windows/{whole.id}/").status == 403
    user = make.operator(make.team("platform"), "staff")
    user.is_staff = True
    user.save()
    of_staff = Api.of(make.team("platform"), user)
    assert of_staff.call("DELETE", f"holds/windows/{whole.id}/").status == 204


# ── the pages ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def browser(operator: User) -> Browser:
    Preference.objects.create(user=operator, timezone="Europe/Berlin")
    return Browser(operator)


def test_a_person_plans_on_their_own_clock_changes_and_cancels(
    browser: Browser, team: Team, operator: User
) -> None:
    day = ahead(3).astimezone(BERLIN).date()
    fields = {"scope": "payments", "reason": "The ledger moves."}
    page = browser.send(
        "/holds/windows/new/", {**fields, "from": f"{day} 02:00", "until": f"{day}T04:30"}
    )
    assert "Maintenance of team payments is planned." in page.words
    window = MaintenanceWindow.objects.get()
    assert (window.by, page.url) == (operator, f"/holds/windows/{window.id}/")
    local = [at.astimezone(BERLIN) for at in (window.begins_at, window.ends_at)]
    assert [f"{at:%Y-%m-%d %H:%M}" for at in local] == [f"{day} 02:00", f"{day} 04:30"]
    assert (page.value("from"), page.value("until")) == (f"{day} 02:00", f"{day} 04:30")
    assert "The ledger moves." in browser.get("/holds/").words
    changed = {**fields, "from": f"{day} 02:00", "until": "1h", "scope": "*"}
    page = browser.send(page.url, changed)
    window.refresh_from_db()
    assert (window.ends_at - window.begins_at, window.team) == (timedelta(hours=1), team)
    page = browser.post(f"{page.url}cancel/")
    assert "is cancelled. Nothing waits." in page.words
    assert "by operator" in page.words
    page = browser.post(f"{page.url}cancel/")
    assert "cancelled by operator. Nothing was changed." in page.words
    page = browser.send(page.url, changed)
    assert "cancelled by operator. Nothing was changed." in page.words


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"from": ""}, "from", "When does it begin?"),
        ({"from": "soon"}, "from", "is not an instant"),
        ({"from": "2020-01-01"}, "from", "not in the future"),
        ({"from": "9999-12-31 23:59"}, "from", "more than a year ahead"),
        ({"until": ""}, "until", "When does it end?"),
        ({"until": "2020-01-01 00:00"}, "until", "not after the beginning"),
        ({"until": "99d"}, "until", "more than 31 days"),
        ({"until": "0m"}, "until", "not after the beginning"),
        ({"reason": ""}, "reason", "needs a reason"),
        ({"scope": "elsewhere"}, "scope", "nothing that you may hold"),
        ({"scope": "*"}, "scope", "nothing that you may hold"),
    ],
)
def test_the_form_says_what_is_wrong(
    browser: Browser, change: dict[str, str], field: str, said: str
) -> None:
    fields = {"scope": "payments", "reason": "A move.", "from": "2h", "until": "1h", **change}
    page = browser.send("/holds/windows/new/", fields)
    assert page.status == 422
    assert said in page.error(field)
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize("typed", ["9999-12-31T23:59:59Z", "0001-01-01 00:00", "99999999999d"])
def test_no_time_that_can_be_typed_is_an_error_of_ours(browser: Browser, typed: str) -> None:
    for times in ({"from": typed, "until": "1h"}, {"from": "1h", "until": typed}):
        page = browser.send("/holds/windows/new/", {"scope": "payments", "reason": "x", **times})
        assert page.status == 422
        query = "&".join(f"{name}={value}" for name, value in times.items())
        assert browser.get(f"/holds/windows/preview/?scope=payments&{query}").status == 200


def test_what_falls_into_it_is_told_while_it_is_typed_and_without_a_script(
    browser: Browser, team: Team
) -> None:
    each_minute(team)
    said = "60 moments of 1 job fall into it"
    query = "scope=payments&from=2h&until=1h"
    assert said in browser.get(f"/holds/windows/preview/?{query}").words
    page = browser.send(
        "/holds/windows/new/", {"scope": "payments", "from": "2h", "until": "1h", "look": "1"}
    )
    assert (page.status, said in page.words) == (200, True)
    assert not MaintenanceWindow.objects.exists()
    window = make.window(team, begins=120, ends=180)
    assert said in browser.get(f"/holds/windows/{window.id}/").words
    assert said.removesuffix(" fall into it") in browser.get("/upcoming/?tab=off").words


def test_the_time_that_a_clock_shows_twice_is_told_apart(browser: Browser, team: Team) -> None:
    window = make.window(team)
    twice = parse_instant("2027-10-31T00:30:00Z", "from")
    MaintenanceWindow.objects.update(begins_at=twice, ends_at=twice + timedelta(hours=1))
    page = browser.get(f"/holds/windows/{window.id}/")
    assert page.value("from") == "2027-10-31T00:30:00Z"
    assert page.value("until") == "2027-10-31T01:30:00Z"


def test_every_page_says_that_maintenance_is_near(team: Team, operator: User) -> None:
    outsider = Browser(make.outsider())
    window = make.window(team, begins=30, ends=90)
    make.window(team, begins=600, ends=700)
    browser = Browser(operator)
    for path in ("/jobs/", "/runs/", "/holds/"):
        page = browser.get(path)
        assert page.html.count("Maintenance of team Payments") == 1, path
        assert page.all("a", href=f"/holds/windows/{window.id}/")
        assert "Maintenance of" not in outsider.get(path).words
    make.window(None, begins=40, ends=50)
    assert "Maintenance of the whole installation" in outsider.get("/jobs/").words
    maintenance.cancel(window.id, by=operator)
    assert "Maintenance of team" not in browser.get("/jobs/").words


def test_the_top_of_a_page_asks_one_question(
    team: Team, operator: User, django_assert_num_queries: Callable[..., Any]
) -> None:
    holds.begin(team, "An incident.", by=None)
    holds.begin(None, "All.", by=None)
    near, nearer = make.window(team, begins=30), make.window(None, begins=20, ends=30)
    with django_assert_num_queries(1):
        found = notices(operator.id)
    assert [one.on for one in found] == [True, True, False, False]
    assert [one.reason for one in found[:2]] == ["All.", "An incident."]
    assert [one.id for one in found[2:]] == [nearer.id, near.id]
    assert [one.team for one in found] == [None, "Payments", None, "Payments"]


def test_a_moment_to_come_says_for_what_it_waits(team: Team, operator: User) -> None:
    job, other = each_minute(team), each_minute(make.team("elsewhere"), "theirs")
    window = make.window(team, begins=0.5, ends=60)
    browser = Browser(operator)
    for path in ("/upcoming/", f"/jobs/{job.id}/?tab=schedule"):
        page = browser.get(path)
        assert "waits: maintenance until" in page.words, path
        assert page.all("a", href=f"/holds/windows/{window.id}/")
    outsider = Browser(make.outsider())
    for path in ("/upcoming/", f"/jobs/{other.id}/?tab=schedule"):
        assert "waits: maintenance" not in outsider.get(path).words, path


def test_a_job_under_maintenance_says_why_it_has_not_run(team: Team, operator: User) -> None:
    job = make.job(team)
    window = make.window(team, begins=-1, ends=60)
    maintenance.begin_due()
    window.refresh_from_db()
    browser = Browser(operator)
    said = "waits for the planned maintenance of team payments: The ledger moves."
    assert said in browser.get(f"/jobs/{job.id}/").words
    page = browser.get(f"/holds/{window.hold_id}/")
    assert page.all("a", href=f"/holds/windows/{window.id}/")
    assert "On: it is a hold." in browser.get(f"/holds/windows/{window.id}/").words


def test_the_audit_leads_to_the_window(team: Team, operator: User) -> None:
    window = make.window(team, by=operator)
    page = Browser(operator).get("/audit/")
    assert "planned maintenance of team payments" in page.words
    assert page.all("a", href=f"/holds/windows/{window.id}/")


def test_a_reason_with_markup_is_text_everywhere(team: Team, operator: User) -> None:
    window = make.window(team, begins=30)
    MaintenanceWindow.objects.update(reason="<script>alert(1)</script>")
    client = Client()
    client.force_login(operator)
    for path in ("/holds/", f"/holds/windows/{window.id}/", "/upcoming/?tab=off", "/jobs/"):
        page = client.get(path).content.decode()
        assert "&lt;script&gt;alert(1)" in page, path
        assert "<script>alert(1)" not in page, path


def test_jobs_without_a_moment_to_come_are_not_counted(team: Team, operator: User) -> None:
    job = each_minute(team)
    Due.objects.filter(job=job).delete()
    query = "scope=payments&from=2h&until=1h"
    words = Browser(operator).get(f"/holds/windows/preview/?{query}").words
    assert "No moment falls into it." in words
