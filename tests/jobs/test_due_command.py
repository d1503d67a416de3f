"""`manage.py due`: the same moments as everywhere, and the same refusals."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from unittest import mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.calendars.editing import Editor
from jobs.schedules import schedules
from tests import make


@pytest.fixture(autouse=True)
def no_database(request: pytest.FixtureRequest) -> object:
    """Fails the test that opens a connection, unless it is about calendars."""
    if request.node.get_closest_marker("django_db"):
        yield None
        return
    refusal = AssertionError("a connection was opened")
    with mock.patch.object(BaseDatabaseWrapper, "ensure_connection", side_effect=refusal) as patch:
        yield patch


def due(*words: str) -> str:
    out = io.StringIO()
    call_command("due", *words, stdout=out)
    return out.getvalue()


def test_prints_json_of_utc_instants() -> None:
    words = "30 2 * * *", "--zone", "America/New_York", "--after", "2026-03-08T00:00:00Z"
    assert json.loads(due(*words, "--count", "2", "--json")) == [
        "2026-03-08T07:00:00Z",
        "2026-03-09T06:30:00Z",
    ]
    assert json.loads(due(*words, "--count", "1", "--json", "--dst", "wall")) == [
        "2026-03-09T06:30:00Z"
    ]


def test_prints_lines_with_local_time_and_notes() -> None:
    words = "30 2 * * *", "--zone", "America/New_York", "--after", "2026-03-08T00:00:00Z"
    assert due(*words, "--count", "2").splitlines() == [
        "2026-03-08T07:00:00Z  2026-03-08T03:00:00-04:00  "
        "02:30 does not exist on 8 March 2026; runs at 03:00",
        "2026-03-09T06:30:00Z  2026-03-09T02:30:00-04:00",
    ]


def test_a_zone_that_misleads_is_remarked_on() -> None:
    assert "Etc/GMT+3 is UTC-3" in due("0 0 * * *", "--zone", "Etc/GMT+3")


def test_what_an_expression_may_not_say_is_remarked_on() -> None:
    *moments, remark = due("* 2 * * *", "--count", "3").splitlines()
    assert len(moments) == 3
    assert remark.startswith("(The minute is *, so the job is due 60 times an hour")


def test_shows_the_readers_clock_too_but_not_in_json() -> None:
    words = "0 18 * * *", "--zone", "America/New_York", "--after", "2026-01-01T00:00:00Z"
    reader = *words, "--count", "1", "--reader-zone", "Asia/Tokyo"
    assert due(*reader).splitlines() == [
        "2026-01-01T23:00:00Z  2026-01-01T18:00:00-05:00  2026-01-02T08:00:00+09:00"
    ]
    assert json.loads(due(*reader, "--json")) == ["2026-01-01T23:00:00Z"]


def test_counts_five_from_now_in_utc_unless_told_otherwise() -> None:
    before = datetime.now(UTC)
    found = [schedules.parse_instant(text, "text") for text in json.loads(due("@hourly", "--json"))]
    assert len(found) == 5
    assert before < found[0]
    assert found == schedules.moments(schedules.parse({"cron": "@hourly"}, now=before), before, 5)


def test_an_instant_without_an_offset_is_utc() -> None:
    found = due("* * * * *", "--after", "2026-01-15T10:07", "--count", "1", "--json")
    assert json.loads(found) == ["2026-01-15T10:08:00Z"]


@pytest.mark.django_db
def test_a_calendar_skips_and_rolls() -> None:
    days = [{"date": "2026-12-25", "label": "Christmas Day"}]
    by = Editor(make.person("author", is_staff=True), frozenset())
    calendar_editing.create("bank", calendar_content.read({"days_off": days}), by=by)
    words = "0 9 25 12 *", "--after", "2026-01-01T00:00:00Z", "--count", "1"
    assert json.loads(due(*words, "--calendar", "bank", "--json")) == ["2028-12-25T09:00:00Z"]
    rolled = due(*words, "--calendar", "bank", "--rule", "next").splitlines()
    assert rolled == [
        "2026-12-28T09:00:00Z  2026-12-28T09:00:00+00:00  "
        "rolled from Friday 25 December 2026 (Christmas Day)",
        "(Days off are known until 25 December 2026; after that only weekdays count.)",
    ]
    for name, expression, said in (
        ("nowhere", "0 9 * * *", "'nowhere' is no calendar here. Known: bank."),
        ("bank", "0 9 * * 6", "'bank' leaves this schedule no moment"),
    ):
        with pytest.raises(CommandError, match=said) as refused:
            due(expression, "--calendar", name)
        assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["0 0 30 2 *"], "cron"),
        (["61 * * * *"], "cron"),
        ([""], "cron"),
        (["0 0 * * *", "--zone", "Mars/Base"], "timezone"),
        (["0 0 * * *", "--dst", "twice"], "dst"),
        (["0 0 * * *", "--after", "soon"], "after"),
        (["0 0 * * *", "--after", "2026-02-30T00:00"], "after"),
        (["0 0 * * *", "--after", "9999-12-31T23:59:59Z"], "calendar ends with the year 9999"),
        (["0 0 * * *", "--count", "0"], "count"),
        (["0 0 * * *", "--count", "many"], "count"),
        (["0 0 * * *", "--reader-zone", "Mars/Base"], "reader-zone"),
    ],
)
def test_what_saving_refuses_exits_2_and_names_the_field(words: list[str], field: str) -> None:
    with pytest.raises(CommandError) as refused:
        due(*words)
    assert field in str(refused.value)
    assert refused.value.returncode in (1, 2)  # 1 is argparse's, which exits 2 outside of tests
