"""When a job is due: reported cases, the changes of the clock, and a search by enumeration.

ONEBEAT_TEST_WIDTH (a whole number, 1 unless set) multiplies how many random cases are tried.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import schedules, zones
from jobs.schedule_values import Dst
from jobs.schedules import At, Cron, Every, Schedule, ScheduleError
from tests.jobs import enumeration, expressions

WIDTH = int(os.environ.get("ONEBEAT_TEST_WIDTH", "1"))
NOW = datetime(2026, 1, 15, 10, 7, tzinfo=UTC)
TICK = timedelta.resolution
NEW_YORK = "America/New_York"
CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("schedule_cases.jsonl").read_text().splitlines()
]
DSTS: tuple[Dst, ...] = ("once", "wall")
PLACES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/Istanbul",
    "Europe/Moscow",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Asia/Amman",
    "Asia/Pyongyang",
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "America/Asuncion",
    "America/Sao_Paulo",
    "America/Caracas",
    "America/St_Johns",
    "America/Vancouver",
    "America/Nuuk",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Pacific/Norfolk",
    "Antarctica/Troll",
    "Atlantic/Azores",
)


def at(text: str) -> datetime:
    return schedules.parse_instant(text, "text")


def texts(moments: list[datetime]) -> list[str]:
    return [schedules.canonical_instant(moment) for moment in moments]


@pytest.mark.parametrize("dst", DSTS)
@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']}-{case['cron']}" for case in CASES])
def test_reported_case(case: dict[str, Any], dst: str) -> None:
    after = at(case["after"])
    given = {"cron": case["cron"], "timezone": case["zone"], "dst": dst}
    found = schedules.parse(given, now=after)
    if "hours" in case:
        until = after + timedelta(hours=case["hours"])
        due = schedules.moments_between(found, after, until, 1000)
        assert schedules.count_between(found, after, until) == len(due)
    else:
        due = schedules.moments(found, after, case["count"])
    assert texts(due) == case[dst]


# --- against a minute-by-minute enumeration -------------------------------------------------


def a_change(dice: Random, zone: str) -> datetime:
    """A change of the clock in `zone` between 2007 and 2037, or any instant if it has none."""
    years = dice.sample(range(2007, 2038), 31)
    some = (change.at for year in years for change in zones.changes(zone, year))
    return next(some, datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=dice.randint(0, 4000)))


def a_window(dice: Random, zone: str) -> tuple[datetime, datetime]:
    middle = a_change(dice, zone)
    after = middle - timedelta(seconds=dice.randint(60, 30 * 3600))
    return after, middle + timedelta(hours=dice.randint(1, 30))


@pytest.mark.parametrize("zone", PLACES)
def test_agrees_with_enumeration_around_changes_of_the_clock(zone: str) -> None:
    dice = Random(zone)
    for _ in range(9 * WIDTH):
        expression, dst = expressions.some(dice), dice.choice(DSTS)
        after, until = a_window(dice, zone)
        expected = enumeration.moments(expression, zone, dst, after, until)
        schedule = (Cron(expression, zone, dst),)
        found = schedules.moments_between(schedule, after, until, 10_000)
        told = f"{expression} {zone} {dst} {after} {until}"
        assert texts(found) == texts(expected), told
        assert schedules.count_between(schedule, after, until) == len(expected), told
        newest = schedules.newest_between(schedule, after, until)
        assert newest == (expected[-1] if expected else None), told


def test_every_change_of_the_clock_around_fixed_and_starred_jobs() -> None:
    """Half-hourly and quarter-hourly looks at every hour near a change, in every place."""
    dice = Random(3)
    for zone in PLACES:
        for expression in ("0 0 * * *", "30 1,2 * * *", "15,45 0-3 * * *", "*/15 */2 * * *"):
            for dst in DSTS:
                after, until = a_window(dice, zone)
                expected = enumeration.moments(expression, zone, dst, after, until)
                schedule = (Cron(expression, zone, dst),)
                found = schedules.moments_between(schedule, after, until, 10_000)
                assert found == expected, (expression, zone, dst, after, until)


def test_agrees_with_enumeration_on_rare_days() -> None:
    dice = Random(11)
    for _ in range(40 * WIDTH):
        day = f"{dice.randint(28, 31)}"
        date = dice.choice((day, f"{day}W", "L", "LW", "*/2", f"L-{dice.randint(27, 30)}", "*"))
        weekday = dice.choice(("*", "*/7", "1", f"{dice.randint(0, 6)}#5", "5L", "*/3"))
        expression = f"0 0 {date} {dice.choice(('2', '2', '4,6', '*'))} {weekday}"
        expected = enumeration.days(expression, NOW, 41)
        assert schedules.next_moment((Cron(expression),), NOW) == expected, expression


@pytest.mark.parametrize("zone", [NEW_YORK, "Australia/Lord_Howe", "Antarctica/Troll"])
@pytest.mark.parametrize("expression", ["* * * * *", "30 1 * * *", "*/7 * * * *", "0 0-3 * * *"])
def test_next_is_after_its_reference_at_every_minute_of_an_overlap(
    zone: str, expression: str
) -> None:
    change = max(zones.changes(zone, 2026), key=lambda change: change.before - change.after)
    schedule = (Cron(expression, zone),)
    begin = change.at - timedelta(hours=3)
    for second in range(0, 6 * 3600, 45):
        reference = begin + timedelta(seconds=second, microseconds=second % 7)
        moment = schedules.next_moment(schedule, reference)
        assert moment is not None and moment > reference


@pytest.mark.parametrize(
    ("zone", "after", "once", "wall"),
    [
        ("Pacific/Apia", "2011-12-29T20:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T20:00:00Z"),
        (
            "Pacific/Kwajalein",
            "1993-08-20T22:00:00Z",
            "1993-08-21T12:00:00Z",
            "1993-08-21T22:00:00Z",
        ),
    ],
)
def test_a_day_that_a_zone_leaves_out(zone: str, after: str, once: str, wall: str) -> None:
    """10:00 on the day that was not: under `once` it fires as the next day begins."""
    for dst, expected in zip(DSTS, (once, wall), strict=True):
        moment = schedules.next_moment((Cron("0 10 * * *", zone, dst),), at(after))
        assert moment == at(expected), dst


def test_a_zone_with_seconds_in_its_offset() -> None:
    """Monrovia was 0:44:30 behind until 7 January 1972."""
    schedule = (Cron("* * * * *", "Africa/Monrovia"),)
    reference = at("1971-06-01T00:00:31Z")
    assert texts(schedules.moments(schedule, reference, 2)) == [
        "1971-06-01T00:01:30Z",
        "1971-06-01T00:02:30Z",
    ]


# --- every and at ---------------------------------------------------------------------------


def test_every_measures_elapsed_time() -> None:  # K076
    two_hours = (Every(7200, at("2026-03-08T01:00:00-05:00")),)
    assert texts(schedules.moments(two_hours, at("2026-03-08T06:00:00Z"), 2)) == [
        "2026-03-08T08:00:00Z",
        "2026-03-08T10:00:00Z",
    ]
    day = (Every(86_400, at("2026-03-07T12:00:00-05:00")),)
    assert schedules.next_moment(day, at("2026-03-07T17:00:00Z")) == at("2026-03-08T17:00:00Z")
    noon = (Cron("0 12 * * *", NEW_YORK),)
    assert schedules.next_moment(noon, at("2026-03-07T17:00:00Z")) == at("2026-03-08T16:00:00Z")


def test_the_anchor_is_the_first_moment() -> None:
    schedule = (Every(60, at("2030-01-01T00:00:30Z")),)
    assert schedules.next_moment(schedule, NOW) == at("2030-01-01T00:00:30Z")
    assert schedules.count_between(schedule, NOW, at("2030-01-01T00:01:30Z")) == 2


@settings(deadline=None, derandomize=True, max_examples=100 * WIDTH)
@given(
    seconds=st.integers(1, 10**6),
    anchor=st.integers(-(10**6), 10**6),
    after=st.integers(-(10**7), 10**7),
    length=st.integers(0, 10**7),
)
def test_every_is_arithmetic(seconds: int, anchor: int, after: int, length: int) -> None:
    schedule = (Every(seconds, NOW + timedelta(seconds=anchor)),)
    begin, end = NOW + timedelta(microseconds=after), NOW + timedelta(seconds=after + length)
    moment = schedules.next_moment(schedule, begin)
    assert moment is not None and moment > begin
    offset = moment - schedule[0].anchor
    assert offset >= timedelta(0) and not offset % timedelta(seconds=seconds)
    earlier = moment - timedelta(seconds=seconds)
    assert earlier <= begin or moment == schedule[0].anchor
    count = schedules.count_between(schedule, begin, end)
    first = moments_if_few(schedule, begin, end)
    assert first is None or count == len(first)
    newest = schedules.newest_between(schedule, begin, end)
    assert (newest is None) == (count == 0)
    assert first is None or newest == (first[-1] if first else None)


def moments_if_few(
    schedule: tuple[Schedule, ...], begin: datetime, end: datetime
) -> list[datetime] | None:
    found = schedules.moments_between(schedule, begin, end, 200)
    return found if len(found) < 200 else None


def test_at_fires_once_and_keeps_its_microseconds() -> None:
    schedule = schedules.parse({"at": "2026-02-01T12:00:00.000123+01:00"}, now=NOW)
    moment = at("2026-02-01T11:00:00.000123Z")
    assert schedule == (At(moment),)
    assert schedules.next_moment(schedule, moment - TICK) == moment
    assert schedules.next_moment(schedule, moment) is None
    assert schedules.dump(schedule) == [{"at": "2026-02-01T11:00:00.000123Z"}]


# --- several schedules ----------------------------------------------------------------------

MANY: tuple[Schedule, ...] = (
    Cron("0 * * * *", "Europe/Berlin"),
    Cron("*/30 9-17 * * 1-5", NEW_YORK),
    Every(5400, at("2026-01-01T00:00:00Z")),
    Every(1000, at("2026-01-01T00:00:01Z")),
    At(at("2026-03-08T07:00:00Z")),
    At(at("2026-03-08T07:00:00.5Z")),
)


def test_several_schedules_are_their_union() -> None:
    after, until = at("2026-03-07T00:00:00Z"), at("2026-03-10T00:00:00Z")
    each = [schedules.moments_between((one,), after, until, 10_000) for one in MANY]
    union = sorted({moment for found in each for moment in found})
    assert schedules.moments_between(MANY, after, until, 10_000) == union
    assert schedules.count_between(MANY, after, until) == len(union) < sum(map(len, each))
    assert schedules.newest_between(MANY, after, until) == union[-1]
    assert schedules.moments_between(MANY, after, until, 7) == union[:7]


# --- speed ----------------------------------------------------------------------------------


def seconds_of(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@pytest.mark.parametrize(
    ("schedule", "days", "count"),
    [
        (Every(1, NOW), 365, 31_536_000),
        (Cron("* * * * *", NEW_YORK), 31, 44_640),
        (Cron("* * * * *", NEW_YORK), 365, 525_600),
    ],
)
def test_a_long_window_is_counted_without_going_through_it(
    schedule: Schedule, days: int, count: int
) -> None:
    until = NOW + timedelta(days=days)

    def work() -> None:
        assert schedules.count_between((schedule,), NOW, until) == count
        assert schedules.newest_between((schedule,), NOW, until) == until

    assert min(seconds_of(work) for _ in range(3)) < 0.1


def test_jobs_that_share_a_schedule_share_the_work() -> None:
    schedules._remembered.cache_clear()
    for second in range(1000):
        late = NOW + timedelta(seconds=second % 60)
        schedules.next_moment((Cron("0 0 * * *", NEW_YORK),), late)
    assert schedules._remembered.cache_info().misses == 1


# --- the calendar's end ---------------------------------------------------------------------

ALWAYS: list[Schedule] = [
    Cron("* * * * *"),
    Cron("0 0 * * *", "Pacific/Kiritimati"),
    Cron("0 0 29 2 */7", NEW_YORK, "wall"),
    Every(316_224_000, NOW),
    At(NOW),
]


@pytest.mark.parametrize("schedule", ALWAYS, ids=repr)
@pytest.mark.parametrize(
    "after", ["9998-12-31T23:59:59Z", "9999-12-30T23:00:00Z", "9999-12-31T23:59:59.999999Z"]
)
def test_after_9999_there_is_no_next_moment(schedule: Schedule, after: str) -> None:
    moment = schedules.next_moment((schedule,), at(after))
    assert moment is None or at(after) < moment


def test_the_calendar_ends() -> None:
    for schedule in ALWAYS:
        assert schedules.next_moment((schedule,), at("9999-12-31T23:59:00Z")) is None


@pytest.mark.parametrize("schedule", ALWAYS[:3], ids=repr)
def test_the_calendar_begins(schedule: Schedule) -> None:
    moment = schedules.next_moment((schedule,), datetime(1, 1, 1, tzinfo=UTC))
    assert moment is not None and moment.year >= 1970


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
