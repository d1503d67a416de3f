"""Intervals, instants, several schedules, long windows, the calendar's ends."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.schedules import schedules
from jobs.schedules.schedules import At, Cron, Every, Schedule
from tests.jobs.moments import MANY, NEW_YORK, NOW, TICK, WIDTH, at, texts

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
