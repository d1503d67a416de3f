"""The values of a moment in a target: where they may stand, and what is put there."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import moment_values
from jobs.calendars import days as calendars
from jobs.moment_values import Values
from jobs.schedules import local_times, schedules
from jobs.targets import shapes as targets
from jobs.targets.shapes import TargetError

MOMENT = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)  # a Sunday; Monday in Tokyo
VALUES = Values(
    due="2026-11-29T23:30:00Z",
    due_local="2026-11-30T08:30:00+09:00",
    date="2026-11-30",
    business_date="2026-11-30",
    key="j:2026-11-29T23:30:00Z",
)
URL = "https://ledger.example/close"


def http(**changes: object) -> dict[str, Any]:
    shape: dict[str, object] = {"type": "http", "method": "POST", "url": URL}
    return {**shape, "headers": {}, "body": None, **changes}


def read(**changes: object) -> dict[str, object]:
    return targets.dump(targets.parse(http(**changes), known_tasks=()))


def refused(**changes: object) -> TargetError:
    with pytest.raises(TargetError) as wrong:
        read(**changes)
    return wrong.value


def filled(**changes: object) -> dict[str, Any]:
    return moment_values.fill(read(**changes), VALUES)


def at(schedule: object, moment: datetime = MOMENT) -> Values:
    return local_times.values(schedules.load(schedule), moment, "k")


def test_a_url_gets_its_values_percent_encoded() -> None:
    url = filled(url=f"{URL}/{{{{date}}}}?at={{{{ due_local }}}}&key={{{{key}}}}")["url"]
    wanted = "2026-11-30?at=2026-11-30T08%3A30%3A00%2B09%3A00&key=j%3A2026-11-29T23%3A30%3A00Z"
    assert url == f"{URL}/{wanted}"


def test_a_header_and_the_text_of_a_body_get_them_as_they_are() -> None:
    found = filled(
        headers={"X-Day": "day {{date}}"},
        body={"day": "{{business_date}}", "list": ["{{due}}", 7, None, {"in": "a{{key}}z"}]},
    )
    assert found["headers"] == {"X-Day": "day 2026-11-30"}
    assert found["body"] == {
        "day": "2026-11-30",
        "list": ["2026-11-29T23:30:00Z", 7, None, {"in": "aj:2026-11-29T23:30:00Zz"}],
    }


def test_a_form_gets_them_percent_encoded_and_other_text_does_not() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert filled(headers=form, body="at={{due_local}}")["body"] == (
        "at=2026-11-30T08%3A30%3A00%2B09%3A00"
    )
    plain = {"content-type": "text/plain"}
    assert filled(headers=plain, body="at {{due}}")["body"] == "at 2026-11-29T23:30:00Z"


def test_braces_that_are_meant_as_they_are() -> None:
    assert filled(body="{{{{name}} of {{date}} }} {")["body"] == "{{name}} of 2026-11-30 }} {"


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"url": f"{URL}/{{{{day}}}}"}, "target.url", "{{due}}, {{due_local}}, {{date}}"),
        ({"url": f"{URL}/{{{{due"}, "target.url", "nothing closes"),
        ({"url": "https://{{date}}.example/"}, "target.url", "in its scheme, host or port"),
        ({"url": "https://a.example:{{ date }}/"}, "target.url", "in its scheme, host or port"),
        ({"url": "{{key}}://a.example/"}, "target.url", "in its scheme, host or port"),
        ({"headers": {"X": "{{}}"}}, "target.headers.X", "is no value of a moment"),
        ({"headers": {"X": "{{{due}}}"}}, "target.headers.X", "nothing closes"),
        ({"headers": {"X-{{key}}": "x"}}, "target.headers", "not a header name"),
        ({"headers": {"X-Token": "{{key}}"}}, "target.headers.X-Token", "is sealed"),
        ({"body": {"a": [{"b": "{{Due}}"}]}}, "target.body.a[0].b", "is no value"),
        ({"body": {"{{date}}": 1}}, "target.body", "is a name"),
        ({"body": "{{due}"}, "target.body", "nothing closes"),
        ({"url": f"{URL}?{'{{due}}' * 200}"}, "target.url", "once its moment is filled in"),
        ({"headers": {"X": "{{due}}" * 1000}}, "target.headers.X", "once its moment"),
        ({"body": "{{due}}" * 30_000}, "target.body", "too large"),
    ],
)
def test_what_is_refused_and_how(changes: dict[str, object], field: str, said: str) -> None:
    error = refused(**changes)
    assert error.field == field
    assert said in f"{error.message} {error.hint}"
    assert error.hint.endswith(".")


def test_a_secret_is_sent_as_it_is_and_never_shown() -> None:
    assert filled(headers={"X-Token": "pa{{ss{{{{"})["headers"] == {"X-Token": "pa{{ss{{{{"}
    assert "key" not in str(refused(headers={"X-Token": "{{key}}"}))


def test_a_url_is_kept_without_the_blanks_that_it_could_not_be_sent_with() -> None:
    assert read(url=f"{URL}/{{{{ date }}}}")["url"] == f"{URL}/{{{{date}}}}"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (http(), False),
        (http(body={"a": ["{", "}}", {}]}, headers={"X": "1"}), False),
        (http(headers={"Authorization": "sealed:1:{{key}}"}), False),
        (http(url=f"{URL}/{{{{key}}}}"), True),
        (http(body=[{"a": "{{due}}"}]), True),
        (http(body="{{{{"), True),
        ({"type": "task", "name": "a", "args": ["{{due}}"], "kwargs": {}}, False),
    ],
)
def test_only_a_target_with_something_to_fill_in_counts(
    target: dict[str, Any], expected: bool
) -> None:
    assert moment_values.used(target) is expected


@given(st.recursive(st.text("{} due") | st.none(), lambda inner: st.lists(inner)))
def test_filling_in_never_fails_and_what_is_accepted_is_filled(body: object) -> None:
    found = moment_values.fill(http(body=body), VALUES)
    try:
        read(body=body)
    except TargetError:
        return
    assert "{{due}}" not in str(found["body"]) or "{{{{due" in str(body)


TOKYO: dict[str, object] = {"cron": "30 8 * * *", "timezone": "Asia/Tokyo"}
SEVERAL: list[dict[str, object]] = [{"every": 1800, "anchor": "2026-11-29T00:00:00Z"}, TOKYO]


@pytest.mark.parametrize(
    ("schedule", "local", "day"),
    [
        ([TOKYO], "2026-11-30T08:30:00+09:00", "2026-11-30"),
        (SEVERAL, "2026-11-30T08:30:00+09:00", "2026-11-30"),
        ([SEVERAL[0]], "2026-11-29T23:30:00+00:00", "2026-11-29"),
        ([{"at": "2026-11-29T23:30:00Z"}], "2026-11-29T23:30:00+00:00", "2026-11-29"),
        (
            [{"cron": "0 1 * * *", "timezone": "Europe/Berlin"}, TOKYO],
            "2026-11-30T08:30:00+09:00",
            "2026-11-30",
        ),
    ],
)  # fmt: skip
def test_the_local_time_is_that_of_the_schedule_that_has_the_moment(
    schedule: object, local: str, day: str
) -> None:
    found = at(schedule)
    assert (found.due, found.due_local, found.date) == ("2026-11-29T23:30:00Z", local, day)


def test_between_moments_the_first_zone_counts() -> None:
    assert at(SEVERAL, datetime(2026, 11, 29, 23, 31, tzinfo=UTC)).date == "2026-11-30"


def test_both_copies_of_a_repeated_hour_are_told_apart() -> None:
    schedule = [{"cron": "*/30 * * * *", "timezone": "Europe/Berlin"}]
    first, second = (
        at(schedule, datetime(2026, 10, 25, hour, 30, tzinfo=UTC)).due_local for hour in (0, 1)
    )
    assert (first, second) == ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")


@pytest.mark.parametrize(
    ("day", "expected"),
    [("2026-11-27", "2026-11-27"), ("2026-11-28", "2026-11-27"), ("2026-11-29", "2026-11-27"),
     ("2026-11-30", "2026-11-30")],
)  # fmt: skip
def test_the_business_date_is_the_day_or_the_working_day_before(day: str, expected: str) -> None:
    assert str(calendars.business_date(date.fromisoformat(day))) == expected
