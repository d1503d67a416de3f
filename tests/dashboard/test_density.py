"""How many moments fall into each minute: laid over days, and the same as gone through."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from jobs.schedules import schedules
from jobs.schedules.plans import Plan
from runs.dashboard.upcoming import heat, soon
from runs.dashboard.upcoming.density import MOST_WALKED, Minutes, local_days

MINUTE = timedelta(minutes=1)
TICK = timedelta.resolution
WEEK = 7 * 1440
ORDINARY = datetime(2026, 6, 3, 10, 17, tzinfo=UTC)
SPRING = datetime(2026, 3, 26, 22, 5, tzinfo=UTC)  # Europe's clocks go forward on the 29th
AUTUMN = datetime(2026, 10, 22, 3, 59, tzinfo=UTC)  # and back on the 25th
EXPRESSIONS = ("*/20 * * * *", "30 2 * * *", "15 3 * * 0", "0 0 L * *", "5,35 1-3 * * *")
ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati")


def plan(*stored: Mapping[str, object], **bounds: datetime) -> Plan:
    return Plan(schedules.load(list(stored)), **bounds)


def walked(plan: Plan, start: datetime, length: int) -> list[int]:
    counts = [0] * length
    for moment in plan.between(start - TICK, start + length * MINUTE - TICK, 10**6):
        counts[(moment - start) // MINUTE] += 1
    return counts


@pytest.mark.parametrize("start", [ORDINARY, SPRING, AUTUMN])
@pytest.mark.parametrize("dst", ["once", "wall"])
def test_patterns_lie_where_walking_finds_them(start: datetime, dst: str) -> None:
    minutes, expected = Minutes(start, WEEK), [0] * WEEK
    for zone in ZONES:
        for cron in EXPRESSIONS:
            one = plan({"cron": cron, "timezone": zone, "dst": dst})
            jobs = random.Random(f"{zone}{cron}").randrange(1, 4)
            minutes.add(one, jobs)
            for place, count in enumerate(walked(one, start, WEEK)):
                expected[place] += jobs * count
    assert minutes.counts() == expected


@pytest.mark.parametrize("start", [ORDINARY, SPRING, AUTUMN])
def test_the_next_moment_is_the_one_that_walking_finds(start: datetime) -> None:
    dice = random.Random(1)
    for zone in ZONES:
        for cron in EXPRESSIONS:
            one = plan({"cron": cron, "timezone": zone})
            for _ in range(8):
                after = start + timedelta(seconds=dice.randrange(6 * 86_400))
                until = after + timedelta(seconds=dice.randrange(2 * 86_400))
                found = one.between(after, until, 1)
                assert soon.next_moment(one, after, until) == (found[0] if found else None)


@pytest.mark.parametrize("seconds", [1, 7, 60, 90, 300, 3600, 86_400, 1_000_000])
@pytest.mark.parametrize("away", [-1_000_000, -3601, 0, 45, 7200])
def test_intervals_lie_where_walking_finds_them(seconds: int, away: int) -> None:
    anchor = schedules.canonical_instant(ORDINARY + timedelta(seconds=away))
    one = plan({"every": seconds, "anchor": anchor})
    minutes = Minutes(ORDINARY, 300)
    minutes.add(one, 2)
    assert minutes.counts() == [2 * count for count in walked(one, ORDINARY, 300)]


def test_bounds_and_shared_moments_are_kept() -> None:
    """What several schedules share is one moment; a window and the end of a pause cut."""
    daily = {"cron": "0 12 * * *"}, {"cron": "0 */6 * * *"}
    minutes = Minutes(ORDINARY, WEEK)
    minutes.add(plan(*daily), 1)
    minutes.add(plan(daily[1], ends_at=ORDINARY + timedelta(days=1)), 10)
    minutes.add(plan(daily[0]), 100, ORDINARY + timedelta(days=6))
    counts = minutes.counts()
    assert sum(count % 10 for count in counts) == 28
    assert sum(count // 10 % 10 for count in counts) == 4
    assert sum(count // 100 for count in counts) == 1


def test_a_moment_at_the_very_start_counts_also_of_a_bounded_job() -> None:
    minutes = Minutes(ORDINARY, 60)
    minutes.add(plan({"cron": "17 10 * * *"}, ends_at=ORDINARY + MINUTE), 1)
    assert minutes.counts()[0] == 1


def test_a_job_of_too_many_moments_is_cut_and_says_so() -> None:
    dense = {"every": 1, "anchor": "2026-01-01T00:00:00Z"}
    minutes = Minutes(ORDINARY, WEEK)
    minutes.add(plan(dense, ends_at=ORDINARY + timedelta(days=2)), 1)
    assert minutes.cut
    assert sum(minutes.counts()) == MOST_WALKED


def test_the_map_shows_the_hours_of_the_clock() -> None:
    days = local_days(AUTUMN, AUTUMN + timedelta(days=8), "Europe/Berlin")[:7]
    rows = heat.rows(days, "Europe/Berlin", AUTUMN, lambda start, end: (end - start) // MINUTE)
    assert [row.total for row in rows] == [18 * 60 + 60, 1440, 1440, 1500, 1440, 1440, 1440]
    sunday = rows[3]
    assert sunday.cells[2].count == 120, "this hour comes twice"
    assert rows[0].cells[4].count is None, "this hour is over"
    assert {cell.level for cell in sunday.cells} == {1, 2}
    assert heat.legend(rows) == [heat.Step(1, 60, 60), heat.Step(2, 120, 120)]
    spring = local_days(SPRING, SPRING + timedelta(days=8), "Europe/Berlin")[:7]
    rows = heat.rows(spring, "Europe/Berlin", SPRING, lambda start, end: 1)
    assert rows[3].cells[2].count is None, "this hour is left out"


def test_hours_of_a_zone_at_half_past_are_its_own() -> None:
    days = local_days(ORDINARY, ORDINARY + timedelta(days=2), "Asia/Kolkata")
    rows = heat.rows(days[1:2], "Asia/Kolkata", ORDINARY, lambda start, end: start.minute)
    assert {cell.count for cell in rows[0].cells} == {30}


def test_levels() -> None:
    assert heat.levels([]) == {0: 0}
    assert heat.levels([7, 7, 0]) == {0: 0, 7: 1}, "where all are alike none stands out"
    assert heat.levels([6, 7]) == {0: 0, 6: 1, 7: 2}
    busy = heat.levels([0, *range(1, 10), 5000])
    assert [busy[count] for count in (1, 2, 3, 8, 9, 5000)] == [1, 1, 2, 4, 5, 5]
