"""The API's doors to calendars, and to jobs that go by them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock
from jobs.models import CalendarVersion, Due, Job, User
from tests import make
from tests.api import PROBLEM, Api

pytestmark = pytest.mark.django_db

EVERY_DAY = {"cron": "0 9 * * *", "timezone": "UTC"}
ALL = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ICAL = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
UID:1
DTSTART;VALUE=DATE:20200704
RRULE:{rule}
SUMMARY:Independence Day
END:VEVENT
END:VCALENDAR
"""


@pytest.fixture
def editor() -> User:
    return make.editor(make.team())


@pytest.fixture
def api(editor: User) -> Api:
    return Api.of(make.team(), editor)


def tomorrow(days: int = 1) -> str:
    return str((clock.now() + timedelta(days=days)).date())


def test_a_calendar_is_created_read_changed_and_deleted(api: Api) -> None:
    new = {
        "name": "us-bank",
        "description": "Of the bank",
        "holidays": {"country": "US", "subdivision": "NY"},
        "days_off": [{"date": "2030-12-24", "label": "Christmas Eve"}],
    }
    made = api.post("calendars/", new)
    assert (made.status, made.body["version"]) == (201, 1)
    found = api.get(made.headers["Location"]).body
    assert found == made.body
    assert found["weekdays"] == ALL[:5]
    assert {"date": "2030-12-24", "label": "Christmas Eve"} in found["all_days_off"]
    assert {"date": "2030-07-04", "label": "Independence Day"} in found["all_days_off"]
    assert found["known_until"] == f"{clock.now().year + 10}-12-31"
    again = api.put("calendars/us-bank/", found)
    assert (again.status, again.body) == (200, found), "read and given back, it is the same"
    changed = api.put("calendars/us-bank/", {**found, "holidays": None})
    assert (changed.body["version"], changed.body["known_until"]) == (2, "2030-12-24")
    late = api.put("calendars/us-bank/", found)
    assert (late.status, late.headers["Content-Type"]) == (409, PROBLEM)
    versions = api.get("calendars/us-bank/versions/").body["results"]
    assert [version["number"] for version in versions] == [2, 1]
    listed = api.get("calendars/").body["results"]
    assert listed == [{"name": "us-bank", "description": "Of the bank", "version": 2, "jobs": 0}]
    assert api.delete("calendars/us-bank/").status == 204
    assert api.get("calendars/us-bank/").status == 404
    assert api.get("calendars/").body["results"] == []


def test_a_preview_says_what_would_move_and_saves_nothing(api: Api) -> None:
    api.post("calendars/", {"name": "bank", "weekdays": ALL})
    job = api.post(
        "jobs/", make.shape(schedule=EVERY_DAY, calendar={"name": "bank", "rule": "skip"})
    )
    assert job.body["calendar"] == {"name": "bank", "rule": "skip", "version": 1}
    day = tomorrow()
    content = {"weekdays": ALL, "days_off": [{"date": day, "label": "Closed"}]}
    found = api.post("calendars/bank/preview/", content).body
    assert found["added"] == [{"date": day, "label": "Closed"}]
    [team] = found["teams"]
    assert (team["team"], team["jobs"], team["changed"]) == ("payments", 1, 1)
    assert team["listed"][0]["changes"] == [{"from": f"{day}T09:00:00Z", "to": None}]
    assert CalendarVersion.objects.count() == 1
    assert api.put("calendars/bank/", content).body["jobs"] == 1
    due = api.get(f"jobs/{job.body['id']}/due/?count=3").body["results"]
    assert f"{day}T09:00:00Z" not in [moment["due_at"] for moment in due]
    assert any("(Closed)" in moment["note"] for moment in due)
    assert api.get(f"jobs/{job.body['id']}/").body["calendar"]["version"] == 2
    refused = api.delete("calendars/bank/")
    assert (refused.status, "1 job goes by this calendar" in refused.body["detail"]) == (409, True)


def test_a_job_that_was_read_can_be_given_back_and_loses_its_calendar(api: Api) -> None:
    api.post("calendars/", {"name": "bank", "weekdays": ALL})
    shape = make.shape(schedule=EVERY_DAY, calendar={"name": "bank", "rule": "next"})
    job = api.post("jobs/", shape).body
    again = api.put(f"jobs/{job['id']}/", {k: v for k, v in job.items() if k != "signing_secret"})
    assert (again.status, Job.objects.get().version) == (200, 1)
    ruled = api.patch(f"jobs/{job['id']}/", {"calendar": {"name": "bank", "rule": "previous"}})
    assert ruled.body["calendar"]["rule"] == "previous"
    free = api.patch(f"jobs/{job['id']}/", {"calendar": None})
    assert (free.body["calendar"], Job.objects.get().calendar_id) == (None, None)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"name": "Bad Name"}, "name", "is no name"),
        ({"name": "new"}, "name", "is no name"),
        ({}, "name", "is required"),
        ({"name": "b", "extra": 1}, "extra", "unknown"),
        ({"name": "b", "weekdays": []}, "weekdays", "no working weekday"),
        ({"name": "b", "weekdays": ["monday"]}, "weekdays", "is no weekday"),
        ({"name": "b", "weekdays": [["mon"]]}, "weekdays", "is no weekday"),
        ({"name": "b", "days_off": [{"date": "2026-02-30"}]}, "days_off[0].date", "is no date"),
        ({"name": "b", "days_off": [{"date": "0001-01-01"}]}, "days_off[0].date", "far away"),
        ({"name": "b", "days_off": "x"}, "days_off", "must be a list"),
        ({"name": "b", "days_off": [{"day": 1}]}, "days_off[0]", "must be an object"),
        ({"name": "b", "holidays": {"country": "XX"}}, "holidays.country", "no country"),
        ({"name": "b", "holidays": {"country": ["US"]}}, "holidays.country", "no country"),
        (
            {"name": "b", "holidays": {"country": "US", "subdivision": "BY"}},
            "holidays.subdivision",
            "no part of US",
        ),
        ({"name": "b", "holidays": "US"}, "holidays", "must be an object"),
        ({"name": "b", "description": 7}, "description", "must be text"),
        ({"name": "b", "ical": 7}, "ical", "must be text"),
        ({"name": "b", "ical": ICAL.format(rule="FREQ=DAILY")}, "ical", "Line 6"),
        ({"name": "b", "ical": ICAL.replace("0704", "1399")}, "ical", "Line 5"),
        ({"name": "b", "ical": "x" * (1024 * 1024 + 1)}, "ical", "at most 1,048,576"),
        (
            {
                "name": "b",
                "weekdays": ["mon"],
                "days_off": [
                    {"date": f"2030-0{month}-{day:02}"}
                    for month in (1, 2, 3)
                    for day in range(1, 29)
                ],
            },
            "days_off",
            "days in a row are off",
        ),
    ],
)
def test_bad_input_is_refused_at_its_field(
    api: Api, given: dict[str, Any], field: str, said: str
) -> None:
    refused = api.post("calendars/", given)
    assert (refused.status, refused.headers["Content-Type"]) == (400, PROBLEM)
    [problem] = [error for error in refused.body["errors"] if error["field"] == field]
    assert said in problem["message"]
    assert problem["hint"]
    assert CalendarVersion.objects.count() == 0


def test_ten_megabytes_are_refused_before_they_are_read(api: Api) -> None:
    refused = api.call("POST", "calendars/", b'{"name": "b", "ical": "' + b"x" * 10**7 + b'"}')
    assert (refused.status, "too many" in str(refused.body)) == (400, True)


def test_an_ical_calendar_moves_a_job(api: Api) -> None:
    made = api.post("calendars/", {"name": "us", "ical": ICAL.format(rule="FREQ=YEARLY")})
    assert made.body["known_until"] == f"{clock.now().year + 10}-12-31"
    job = api.post(
        "jobs/",
        make.shape(
            schedule={"cron": "0 9 4 7 *", "timezone": "UTC"},
            calendar={"name": "us", "rule": "previous"},
        ),
    )
    at = Due.objects.get(job=job.body["id"]).at
    assert (at.month, at.day < 4) == (7, True)


def test_another_teams_jobs_are_only_counted(api: Api) -> None:
    api.post("calendars/", {"name": "bank", "weekdays": ALL})
    make.job(make.team("ledger"), schedule=EVERY_DAY, calendar={"name": "bank"})
    content = {"weekdays": ALL, "days_off": [{"date": tomorrow()}]}
    found = api.post("calendars/bank/preview/", content).body
    assert found["teams"] == [{"team": None, "jobs": 1, "changed": 1, "listed": []}]
    refused = api.put("calendars/bank/", content)
    assert (refused.status, "staff" in refused.body["detail"]) == (403, True)
