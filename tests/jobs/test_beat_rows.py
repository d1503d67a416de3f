"""What a PeriodicTask row says, as a job: crontab meanings, anchors, one-offs, pauses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab as celery_crontab_of

from jobs.definitions.definitions import Definition
from jobs.periodic_tasks import crontab as celery_crontab
from jobs.periodic_tasks import rows as beat_rows
from jobs.periodic_tasks.crontab import Crontab
from jobs.periodic_tasks.rows import NEVER, Kept, Offer, Row
from jobs.schedules import schedules
from jobs.schedules.schedules import At, Cron, Every, ScheduleError

NOW = datetime(2026, 11, 29, 18, 0, 7, 500, tzinfo=UTC)
HERE = Offer(allowed=True, queues=("default", "slow"))
DAILY = Row(1, "daily", "reports.send", crontab=Crontab("30", "9", "*", "*", "*", "Europe/Berlin"))
EACH_HOUR = Row(2, "hourly", "reports.send", interval=(1, "hours"))


def read(row: Row, kept: Definition | None = None, *, now: datetime = NOW) -> Definition:
    before = None
    if kept is not None:
        before = Kept(kept.schedule, kept.paused, kept.paused_until)
    return beat_rows.wanted(row, HERE, now=now, kept=before)


# ── crontab ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        (("*/5", "*", "*", "*", "mon-fri"), "*/5 * * * mon-fri"),
        (("0, 30", "8 , 20", "1,15", "*", "*"), "0,30 8,20 1,15 * *"),
        (("0", "22-2", "*", "*", "*"), "0 22-23,0-2 * * *"),
        (("0", "0", "*", "January,dec", "Monday,sunday"), "0 0 * jan,dec mon,sun"),
        (("0", "0", "*", "*", "sat-mon"), "0 0 * * 6-6,0-1"),
        (("0", "0", "*", "*", "fri-sun"), "0 0 * * fri-sun"),
        (("0", "0", "1-31", "*", "5"), "0 0 * * 5"),
        (("0", "0", "13", "*", "0-6"), "0 0 13 * *"),
        (("0", "0", "1-7", "*", "1"), "0 0 */31,1-7 * 1"),
        (("0", "0", "13", "*", "0,5"), "0 0 13 * */7,0,5"),
        (("", "", "", "", ""), "* * * * *"),
    ],
)
def test_celerys_fields_become_an_expression(given: tuple[str, ...], ours: str) -> None:
    minute, hour, date, month, weekday = given
    assert celery_crontab.expression(Crontab(minute, hour, date, month, weekday, "UTC")) == ours


@pytest.mark.parametrize("date", ["*", "*/2", "1-7", "8-14", "1,13", "13", "10-20/5"])
@pytest.mark.parametrize("weekday", ["*", "*/2", "5", "fri-mon", "0,5", "mon-fri", "sunday"])
def test_the_days_are_those_on_which_celery_fires_or_it_is_refused(date: str, weekday: str) -> None:
    try:
        ours = celery_crontab.expression(Crontab("0", "0", date, "*", weekday, "UTC"))
    except ScheduleError:
        assert "*" not in date + weekday
        return
    theirs: Any = celery_crontab_of(0, 0, day_of_month=date, day_of_week=weekday)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=number) for number in range(365)]
    expected = [
        day
        for day in days
        if day.day in theirs.day_of_month and day.isoweekday() % 7 in theirs.day_of_week
    ]
    before, last = start - timedelta(seconds=1), days[-1]
    assert schedules.moments_between((Cron(ours),), before, last, 400) == expected


def test_a_crontab_keeps_its_zone_and_fires_once_when_the_clock_changes() -> None:
    assert read(DAILY).schedule == (Cron("30 9 * * *", "Europe/Berlin", "once"),)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (replace(DAILY, crontab=Crontab("61", "*", "*", "*", "*", "UTC")), "schedule.cron"),
        (replace(DAILY, crontab=Crontab("0", "0", "30", "2", "*", "UTC")), "cron"),
        (replace(DAILY, crontab=Crontab("0", "0", "*", "*", "*", "Mars/One")), "timezone"),
        (replace(DAILY, crontab=Crontab("0", "0", "13", "*", "5", "UTC")), "crontab"),
        (replace(DAILY, crontab=None), "schedule"),
        (replace(DAILY, interval=(1, "days")), "schedule"),
        (replace(DAILY, crontab=None, solar=True), "solar"),
        (replace(EACH_HOUR, interval=(500, "microseconds")), "interval"),
        (replace(EACH_HOUR, interval=(2**31 - 1, "days")), "every"),
        (replace(DAILY, args="[1"), "args"),
        (replace(DAILY, args="{}"), "target.args"),
        (replace(DAILY, args='["\\u0000"]'), "target.args[0]"),
        (replace(DAILY, kwargs="[" * 100_000), "kwargs"),
    ],
)
def test_what_cannot_be_mirrored_is_a_paused_job_with_the_reason(row: Row, field: str) -> None:
    found = read(row)
    assert found.paused and found.schedule == NEVER
    assert found.paused_reason.startswith("This row cannot be mirrored")
    assert field in found.paused_reason


# ── interval ─────────────────────────────────────────────────────────────────────────────


def test_an_interval_counts_from_its_first_mirroring_and_never_starts_anew() -> None:
    first = read(EACH_HOUR)
    assert first.schedule == (Every(3600, NOW.replace(microsecond=0)),)
    later = read(replace(EACH_HOUR, description="new"), first, now=NOW + timedelta(minutes=59))
    assert later.schedule == first.schedule
    slower = read(replace(EACH_HOUR, interval=(2, "hours")), first, now=NOW + timedelta(days=1))
    assert slower.schedule == (Every(7200, NOW.replace(microsecond=0)),)


def test_an_interval_with_a_start_counts_from_it() -> None:
    start = NOW + timedelta(hours=5)
    found = read(replace(EACH_HOUR, start_time=start))
    assert not found.paused
    assert schedules.next_moment(found.schedule, NOW) == start


EDGES = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize("field", ["start_time", "expires", "clocked"])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("row", [DAILY, EACH_HOUR, replace(DAILY, one_off=True)])
def test_an_instant_at_an_end_of_the_calendar_stops_no_mirror(
    row: Row, edge: datetime, field: str
) -> None:
    changes: dict[str, Any] = {field: edge}
    if field == "clocked":
        changes |= {"crontab": None, "interval": None}
    found = read(replace(row, **changes))
    later = read(replace(row, **changes), found, now=NOW + timedelta(days=1))
    assert found.name == later.name == row.name


# ── once ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", [replace(DAILY, one_off=True), replace(EACH_HOUR, one_off=True)])
def test_a_one_off_row_fires_at_its_first_moment_alone(row: Row) -> None:
    first = read(row)
    (only,) = first.schedule
    assert isinstance(only, At) and NOW < only.moment <= NOW + timedelta(days=1)
    for later in (timedelta(minutes=1), timedelta(days=3)):
        assert read(row, first, now=NOW + later).schedule == (only,)


def test_a_one_off_row_that_is_disabled_and_enabled_again_fires_once_more() -> None:
    row = replace(DAILY, one_off=True)
    first = read(row)
    later = NOW + timedelta(days=3)
    disabled = read(replace(row, enabled=False), first, now=later)
    assert disabled.schedule == first.schedule
    again = read(row, disabled, now=later)
    moment = schedules.next_moment(again.schedule, later)
    assert moment == schedules.next_moment((Cron("30 9 * * *", "Europe/Berlin"),), later)


def test_a_clocked_row_is_one_instant_but_not_before_its_start() -> None:
    clocked = Row(3, "once", "reports.send", clocked=NOW + timedelta(hours=1), one_off=True)
    assert read(clocked).schedule == (At(NOW + timedelta(hours=1)),)
    late = replace(clocked, start_time=NOW + timedelta(hours=2))
    assert read(late).schedule == (At(NOW + timedelta(hours=2)),)


# ── the rest of a row ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        (None, False),
        ("{}", False),
        ("not json", False),
        ("[true]", False),
        ('{"onebeat_idempotent": "yes"}', False),
        ('{"onebeat_idempotent": true}', True),
    ],
)
def test_only_an_explicit_answer_makes_a_row_safe_to_repeat(
    headers: str | None, answer: bool
) -> None:
    found = read(replace(DAILY, headers=headers))
    assert found.idempotent is answer
    assert found.catch_up_policy == ("last" if answer else "ask")


@pytest.mark.parametrize(("queue", "kept"), [(None, "default"), ("slow", "slow"), ("x", "default")])
def test_a_queue_that_is_not_here_gives_way_to_the_first(queue: str | None, kept: str) -> None:
    assert read(replace(DAILY, queue=queue)).queue == kept


def test_expire_seconds_bound_how_late_a_moment_is_made_up() -> None:
    assert read(replace(DAILY, expire_seconds=120)).catch_up_window == 120
    assert read(replace(DAILY, expire_seconds=1)).catch_up_window == 10


def test_a_disabled_row_and_a_task_that_is_not_allowed_are_paused() -> None:
    assert read(replace(DAILY, enabled=False)).paused_reason == "The row is disabled."
    refused = beat_rows.wanted(DAILY, replace(HERE, allowed=False), now=NOW, kept=None)
    assert refused.paused
    assert "reports.send is not allowed" in refused.paused_reason
    assert "ONEBEAT_BEAT_TASKS" in refused.paused_reason


def test_a_row_is_paused_once_no_moment_is_left_before_it_expires() -> None:
    next_moment = datetime(2026, 11, 30, 8, 30, tzinfo=UTC)
    assert read(replace(DAILY, expires=next_moment)).paused
    assert not read(replace(DAILY, expires=next_moment + timedelta(seconds=1))).paused


def test_a_crontab_row_with_a_start_is_paused_until_just_before_it() -> None:
    start = datetime(2026, 12, 1, 8, 30, tzinfo=UTC)
    found = read(replace(DAILY, start_time=start))
    assert found.paused and found.paused_until == start - timedelta.resolution
    assert schedules.next_moment(found.schedule, found.paused_until) == start
    # The claim ends the pause; the mirror does not overtake it.
    kept = read(replace(DAILY, start_time=start), found, now=start + timedelta(seconds=3))
    assert kept.paused_until == found.paused_until


def test_names_that_a_job_cannot_have_are_cut_and_told_apart() -> None:
    assert read(replace(DAILY, name="x" * 200)).name == "x" * 117 + " #1"
    assert read(replace(DAILY, name="a\tb")).name == "a b #1"
    assert read(replace(DAILY, name="a\u3164b")).name == "a b #1"


def test_large_floats_are_read_as_the_database_will_give_them_back() -> None:
    target = read(replace(DAILY, args="[1e23, 1.5, 1e2]")).target
    assert target.args == [10**23, 1.5, 100.0]  # type: ignore[union-attr]
