"""The fate of every moment that has come, whatever made it late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.schedules.catch_up import Fates, Policy, fates
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import At, Cron, Every, Schedule
from jobs.schedules.timeline import Timeline, Version

NOW = datetime(2026, 3, 10, 12, 0, 5, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTELY = Cron("* * * * *")


def line(schedule: Schedule = MINUTELY, *more: Version) -> Timeline:
    return Timeline([Version(1, LONG_AGO, Plan((schedule,))), *more])


def found(
    name: str,
    due: datetime,
    *,
    schedule: Schedule = MINUTELY,
    window: timedelta | None = HOUR,
    limit: int = 100,
    now: datetime = NOW,
) -> Fates:
    return fates(line(schedule), due=due, now=now, policy=Policy(name, window, limit))


def minutes_ago(count: int) -> datetime:
    return NOW.replace(second=0) - timedelta(minutes=count)


@pytest.mark.parametrize("policy", ["last", "all", "none", "ask"])
def test_a_moment_overdue_by_less_than_ten_seconds_fires(policy: str) -> None:
    assert found(policy, minutes_ago(0)) == Fates(fire=[minutes_ago(0)])


def test_last_fires_the_newest_and_records_the_others_as_one_row() -> None:
    fate = found("last", minutes_ago(479), now=NOW + timedelta(seconds=20))
    assert fate.fire == [minutes_ago(0)]
    (row,) = fate.skipped
    assert (row.first, row.last, row.count) == (minutes_ago(479), minutes_ago(1), 479)
    assert row.reason == "missed; only the newest moment is made up"


def test_last_does_not_fire_a_missed_moment_beside_one_that_is_on_time() -> None:
    fate = found("last", minutes_ago(3))
    assert fate.fire == [minutes_ago(0)]
    assert sum(row.count for row in fate.skipped) == 3


def test_last_fires_nothing_that_is_older_than_the_window() -> None:
    fate = found("last", NOW - 3 * HOUR, schedule=At(NOW - 3 * HOUR))
    assert (fate.fire, fate.skipped[0].count) == ([], 1)


@pytest.mark.parametrize("policy", ["last", "all"])
def test_a_one_off_has_no_window(policy: str) -> None:
    moment = NOW - timedelta(days=400)
    assert found(policy, moment, schedule=At(moment), window=None) == Fates(fire=[moment])


def test_all_fires_each_within_the_window_oldest_first_and_records_the_surplus() -> None:
    fate = found("all", minutes_ago(480), limit=10)
    assert len(fate.fire) == 11  # ten missed and the one on time
    assert fate.fire == sorted(fate.fire)
    assert fate.fire[0] >= NOW - HOUR
    assert len(fate.fire) + sum(row.count for row in fate.skipped) == 481


def test_ask_puts_each_missed_moment_before_a_person() -> None:
    fate = found("ask", minutes_ago(3))
    assert fate.ask == [minutes_ago(3), minutes_ago(2), minutes_ago(1)]
    assert fate.fire == [minutes_ago(0)]


def test_none_records_every_missed_moment() -> None:
    fate = found("none", minutes_ago(30))
    assert fate.fire == [minutes_ago(0)]
    assert sum(row.count for row in fate.skipped) == 30


@pytest.mark.parametrize("policy", ["last", "all", "none", "ask"])
@pytest.mark.parametrize("late", [1, 9, 11, 75, 3_599, 3_601, 90_000])
@pytest.mark.parametrize("schedule", [MINUTELY, Every(7, LONG_AGO), Cron("*/5 12 * * *")])
def test_every_moment_has_exactly_one_fate(policy: str, late: int, schedule: Schedule) -> None:
    start = NOW - timedelta(seconds=late)
    due = line(schedule).moments(start, NOW, 1)
    if not due:
        assert line(schedule).count(start, NOW) == 0
        return
    fate = found(policy, due[0], schedule=schedule)
    told = len(fate.fire) + len(fate.ask) + sum(row.count for row in fate.skipped)
    assert told == line(schedule).count(start, NOW)
    singly = [*fate.fire, *fate.ask]
    assert len(set(singly)) == len(singly)
    for row in fate.skipped:
        assert not any(row.first <= moment <= row.last for moment in singly)


def test_a_per_second_job_that_was_down_for_a_year_is_worked_out_quickly() -> None:
    fate = found("last", NOW - timedelta(days=365), schedule=Every(1, LONG_AGO))
    assert sum(row.count for row in fate.skipped) + len(fate.fire) == 365 * 86_400 + 1


def test_an_edit_and_a_pause_count_from_their_own_instant() -> None:
    edited = Version(2, minutes_ago(6), Plan((Cron("*/2 * * * *"),)))
    paused = Version(3, minutes_ago(3), None)
    fate = fates(
        line(MINUTELY, edited, paused),
        due=minutes_ago(8),
        now=NOW,
        policy=Policy("all", HOUR, 100),
    )
    assert fate.fire == [minutes_ago(8), minutes_ago(7), minutes_ago(6), minutes_ago(4)]
