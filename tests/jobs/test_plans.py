"""A plan: schedules within a window, and the doors' reading of it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.schedules.outlook import outlook
from jobs.schedules.plans import Plan, refusal
from jobs.schedules.schedules import At, Cron, Every
from jobs.schedules.spread import delay_of

START = datetime(2026, 3, 1, tzinfo=UTC)
HOURLY = (Cron("0 * * * *"),)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def test_both_ends_of_the_window_are_due() -> None:
    plan = Plan(HOURLY, starts_at=at(2), ends_at=at(4))
    assert plan.moments(at(-100), 9) == [at(2), at(3), at(4)]
    assert [each.moment for each in plan.preview(at(-100), 9)] == [at(2), at(3), at(4)]
    assert plan.next(at(4)) is None
    assert plan.count(at(-100), at(100)) == 3
    assert plan.newest(at(-100), at(100)) == at(4)
    assert plan.between(at(2), at(100), 9) == [at(3), at(4)]


def test_a_window_may_begin_with_the_calendar() -> None:
    plan = Plan(HOURLY, starts_at=datetime.min.replace(tzinfo=UTC))
    assert plan.next(at(0)) == at(1)
    assert plan.count(at(0), at(3)) == 3


moments = st.integers(-50, 50).map(lambda half: at(half / 2))
bounds = st.none() | moments


@given(starts=bounds, ends=bounds, after=moments, until=moments)
def test_a_window_keeps_what_lies_in_it_and_nothing_else(
    starts: datetime | None, ends: datetime | None, after: datetime, until: datetime
) -> None:
    plan, free = Plan(HOURLY, starts, ends), Plan(HOURLY)
    wanted = [
        moment
        for moment in free.between(after, until, 1000)
        if (starts is None or moment >= starts) and (ends is None or moment <= ends)
    ]
    assert plan.between(after, until, 1000) == wanted
    assert plan.count(after, until) == len(wanted)
    assert plan.newest(after, until) == (wanted[-1] if wanted else None)


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        (Plan(HOURLY, at(5), at(4)), "ends_at"),
        (Plan(HOURLY, None, at(-4)), "ends_at"),
        (Plan(HOURLY, at(4.1), at(4.9)), "ends_at"),
        (Plan((At(at(1)),), at(2)), "starts_at"),
    ],
)
def test_a_window_that_leaves_nothing_is_refused_at_its_field(plan: Plan, field: str) -> None:
    error = refusal(plan, START)
    assert error is not None
    assert error.field == field
    assert error.hint


def test_a_window_that_leaves_something_is_no_fault() -> None:
    assert refusal(Plan(HOURLY, at(-1), at(1)), START) is None
    assert refusal(Plan((Every(60, START),), at(1)), START) is None


def test_the_outlook_tells_what_is_skipped_and_ends_with_the_last_run() -> None:
    found = outlook(
        Plan(HOURLY).preview(START, 10), skip_next=2, skip_reason="Stocktaking.", runs_left=3
    )
    assert [each.moment for each in found] == [at(1), at(2), at(3), at(4), at(5)]
    notes = [each.note for each in found]
    assert notes == ["will be skipped: Stocktaking."] * 2 + [""] * 3


def test_the_delay_of_a_job_is_stable_and_spreads_evenly() -> None:
    job_id = UUID("8f14e45f-ceea-467f-8a5b-0d3c0b0b1a11")
    assert delay_of(job_id, 600) == delay_of(UUID(str(job_id)), 600)
    assert delay_of(job_id, 0) == 0
    tenths = Counter(delay_of(uuid4(), 999) // 100 for _ in range(5000))
    assert set(tenths) == set(range(10))
    assert all(350 < count < 650 for count in tenths.values())
