"""Schedules as JSON and in words."""

from __future__ import annotations

import json
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.schedules import schedules
from jobs.schedules.schedules import At, Cron, Every, Schedule, ScheduleError
from tests.jobs.moments import MANY, NEW_YORK, NOW, PLACES, WIDTH, a_change, at

# --- as JSON --------------------------------------------------------------------------------


def test_what_is_dumped_loads_again() -> None:
    data = schedules.dump(MANY)
    assert schedules.load(json.loads(json.dumps(data))) == MANY


def test_every_counts_from_now_where_it_names_no_anchor() -> None:
    now = NOW.replace(second=7, microsecond=5)
    assert schedules.parse({"every": 60}, now=now) == (Every(60, now.replace(microsecond=0)),)


def test_load_takes_what_has_passed() -> None:
    past = [{"at": "2001-01-01T00:00:00Z"}]
    assert schedules.next_moment(schedules.load(past), NOW) is None
    with pytest.raises(ScheduleError, match="never fires"):
        schedules.parse(past, now=NOW)


def test_what_never_fires_again_is_told_by_the_second_and_what_never_does_without_a_time() -> None:
    now = NOW.replace(microsecond=123456)
    with pytest.raises(ScheduleError, match=r"never fires after [0-9T:-]{19}Z\. Choose a later"):
        schedules.parse({"at": "2001-01-01T00:00:00Z"}, now=now)
    with pytest.raises(ScheduleError, match=r"never fires\. Choose a day that its month has"):
        schedules.parse({"cron": "0 0 30 2 *"}, now=now)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "schedule"),
        ("0 0 * * *", "schedule"),
        (True, "schedule"),
        ([], "schedule"),
        ([{"every": 60}] * 21, "schedule"),
        ({}, "schedule"),
        ([[{"every": 60}]], "schedule[0]"),
        ({"cron": "0 0 * * *", "every": 60}, "schedule"),
        ({"cron": "0 0 * * *", "zone": "UTC"}, "schedule.zone"),
        ({"every": 60, "timezone": "UTC"}, "schedule.timezone"),
        ({"cron": 5}, "schedule.cron"),
        ({"cron": None}, "schedule.cron"),
        ({"cron": "0 0 * * *", "timezone": None}, "schedule.timezone"),
        ({"cron": "0 0 * * *", "timezone": "Mars/Base"}, "schedule.timezone"),
        ({"cron": "0 0 * * *", "dst": "twice"}, "schedule.dst"),
        ({"cron": "0 0 * * *", "dst": []}, "schedule.dst"),
        ({"cron": "30 2 * 3 0#2", "timezone": NEW_YORK, "dst": "wall"}, "schedule.cron"),
        ({"every": 0}, "schedule.every"),
        ({"every": -1}, "schedule.every"),
        ({"every": True}, "schedule.every"),
        ({"every": 1.5}, "schedule.every"),
        ({"every": float("nan")}, "schedule.every"),
        ({"every": "60"}, "schedule.every"),
        ({"every": 10**400}, "schedule.every"),
        ({"every": 60, "anchor": "soon"}, "schedule.anchor"),
        ({"every": 60, "anchor": "2026-01-01T00:00:00"}, "schedule.anchor"),
        ([{"every": 60}, {"at": "2026-13-01T00:00:00Z"}], "schedule[1].at"),
        ({"at": "2026-01-01"}, "schedule.at"),
        ({"at": "2026-02-01T24:00:00Z"}, "schedule.at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "schedule.at"),
        ({"at": "9999-12-31T23:59:59-14:00"}, "schedule.at"),
        ({"at": "2026-02-01T00:00:00+99:00"}, "schedule.at"),
        ({"at": "2026-02-01T00:00:00+16:00"}, "schedule.at"),
        ({"at": "2026-02-01T00:00:00+01:60"}, "schedule.at"),
        ({"at": "2026-02-01T23:59:60Z"}, "schedule.at"),
        ({"at": "2026-02-01T00:00:00Z\x00"}, "schedule.at"),
        ({"at": 1_800_000_000}, "schedule.at"),
        ({"at": "2026-01-15T10:07:00Z"}, "schedule.at"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_is_refused_by_field(data: object, field: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        schedules.parse(data, now=NOW)
    assert refused.value.field == field
    assert refused.value.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(["cron", "timezone", "dst", "every", "anchor", "at", "\x00"])


@settings(deadline=None, derandomize=True, max_examples=60 * WIDTH)
@given(data=JSON | st.dictionaries(KEYS, JSON) | st.lists(st.dictionaries(KEYS, JSON)))
def test_any_json_is_read_or_refused(data: object) -> None:
    try:
        found = schedules.parse(data, now=NOW)
    except ScheduleError as error:
        assert error.field.startswith("schedule")
        assert str(error).isprintable()
    else:
        assert schedules.load(schedules.dump(found)) == found


# --- in words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "after", "shown"),
    [
        (
            Cron("30 2 * * *", "Europe/Berlin"),
            "2026-03-28T12:00:00Z",
            "2026-03-29T03:00:00+02:00 02:30 does not exist on 29 March 2026; runs at 03:00",
        ),
        (
            Cron("0,30 2 * * *", "Europe/Berlin"),
            "2026-03-28T12:00:00Z",
            "2026-03-29T03:00:00+02:00 02:00 and 1 more do not exist on 29 March 2026; "
            "runs at 03:00",
        ),
        (
            Cron("30 2 * * *", "Europe/Berlin", "wall"),
            "2026-03-28T12:00:00Z",
            "2026-03-30T02:30:00+02:00 02:30 does not exist on 29 March 2026; nothing runs instead",
        ),
        (
            Cron("30 1 * * *", NEW_YORK),
            "2026-11-01T00:00:00Z",
            "2026-11-01T01:30:00-04:00 01:30 comes twice on 1 November 2026; "
            "runs the first time only",
        ),
        (
            Cron("30 1 * * *", NEW_YORK, "wall"),
            "2026-11-01T05:30:00Z",
            "2026-11-01T01:30:00-05:00 01:30 comes twice on 1 November 2026; "
            "runs both times, this is the second",
        ),
        (
            Cron("30 * * * *", NEW_YORK),
            "2026-11-01T05:00:00Z",
            "2026-11-01T01:30:00-04:00 01:30 comes twice on 1 November 2026; "
            "runs both times, this is the first",
        ),
        (
            Cron("0 10 * * *", "Pacific/Apia"),
            "2011-12-29T20:00:00Z",
            "2011-12-31T00:00:00+14:00 10:00 does not exist on 30 December 2011; "
            "runs at 00:00 on 31 December 2011",
        ),
        (Cron("30 2 * * *", "Europe/Berlin"), "2026-05-01T12:00:00Z", "2026-05-02T02:30:00+02:00"),
        (Every(60, NOW), "2026-03-08T07:00:10Z", "2026-03-08T07:01:00+00:00"),
        (At(at("2026-11-01T05:30:00Z")), "2026-01-01T00:00:00Z", "2026-11-01T05:30:00+00:00"),
    ],
    ids=repr,
)
def test_the_preview_says_what_a_change_of_the_clock_does(
    schedule: Schedule, after: str, shown: str
) -> None:
    [each] = schedules.preview((schedule,), at(after), 1)
    assert f"{each.local} {each.note}".strip() == shown
    assert each.moment == schedules.next_moment((schedule,), at(after))


@pytest.mark.parametrize("zone", PLACES)
def test_a_note_stands_only_near_a_change(zone: str) -> None:
    dice = Random(zone)
    change = a_change(dice, zone)
    schedule = (Cron("30 0-3 * * *", zone),)
    for each in schedules.preview(schedule, change - timedelta(days=4), 32):
        assert not each.note or abs(each.moment - change) < timedelta(hours=27)
