"""Numbers that add up, over a window, and the picture of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock
from jobs.models import Job, Team
from runs import ages
from runs.dashboard import bars, windows
from runs.dashboard.overview import numbers
from runs.dashboard.windows import LENGTHS, Window
from runs.states import Origin, ReviewClass, State
from tests import make
from tests.dashboard import history

HOUR = timedelta(hours=1)
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


def day() -> Window:
    return windows.ending(LENGTHS["24h"], clock.now())


# ── windows ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "hours"), [("1h", 1), ("24h", 24), ("7d", 168)])
def test_a_window_ends_with_the_step_under_way(name: str, hours: int) -> None:
    window = windows.ending(LENGTHS[name], NOON + timedelta(minutes=7))
    assert window.until - window.since == hours * HOUR
    assert window.until - window.length.step <= NOON + timedelta(minutes=7) < window.until
    assert window.starts[0] == window.since
    assert window.starts[-1] + window.length.step == window.until


def test_a_step_that_begins_now_is_under_way() -> None:
    assert windows.ending(LENGTHS["24h"], NOON).until == NOON + HOUR


# ── numbers ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle")


@pytest.mark.django_db
def test_the_parts_are_every_state_and_add_up(team: Team, job: Job) -> None:
    for state in State:
        make.run(job if state is not State.DEAD else make.job(team, name="other"), state)
    found = numbers.count([team.id], day())
    assert found.due == len(State) == sum(found.parts.values())
    assert found.parts == {
        **dict.fromkeys(numbers.PARTS, 1),
        "in_flight": 5,
    }
    assert not found.more


@pytest.mark.django_db
def test_a_run_stands_where_its_moment_lies(team: Team, job: Job) -> None:
    window = day()
    for at in (window.since, window.since + 3 * HOUR, window.since - HOUR / 60):
        make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=at)
    found = numbers.count([team.id], window)
    there = [place for place, step in enumerate(found.steps) if step]
    assert there == [0, 3]
    make.run(job, State.SUCCEEDED)
    by_hand = numbers.count([team.id], windows.ending(LENGTHS["24h"], clock.now()))
    assert State.SUCCEEDED in by_hand.steps[-1]


@pytest.mark.django_db
def test_a_moment_without_a_run_counts_as_missed(team: Team, job: Job) -> None:
    at, past = {"origin": Origin.SCHEDULE}, day().since
    for place, reason in enumerate(
        ("missed, and past the catch-up limit", "Skipped: another run is active.")
    ):
        make.run(job, State.SKIPPED, reason=reason, due_at=past + place * HOUR, **at)
    make.run(job, State.REVIEW, review_class=ReviewClass.MISSED, due_at=past + 2 * HOUR, **at)
    make.run(job, State.REVIEW, due_at=past + 3 * HOUR, **at)
    found = numbers.count([team.id], day())
    assert (found.missed, found.parts["skipped"], found.parts["in_review"]) == (2, 2, 2)


@pytest.mark.django_db
def test_above_the_cap_it_says_so_and_counts_no_further(team: Team, job: Job) -> None:
    for _ in range(4):
        make.run(job, State.SUCCEEDED)
    assert not numbers.count([team.id], day(), most=4).more
    assert numbers.count([team.id], day(), most=3).more


@pytest.mark.django_db
def test_other_teams_are_not_counted_and_one_statement_counts(team: Team, job: Job) -> None:
    make.run(make.job(make.team("elsewhere")), State.SUCCEEDED)
    window = day()
    with CaptureQueriesContext(connection) as asked:
        assert numbers.count([team.id], window).due == 0
    assert len(asked) == 1
    assert numbers.count([], window).due == 0


@pytest.mark.django_db
def test_history_before_the_window_is_not_read(team: Team, job: Job) -> None:
    """Seen in the plan: the window is a range of the primary key, or of a job's runs."""
    history.jobs(team, 10)
    history.runs(team, 600)
    history.analyzed()
    window = day()
    given: dict[str, Any] = {
        "teams": f"{{{team.id}}}",
        "first": ages.first_id(window.since),
        "since": window.since,
        "until": window.until,
        "step": window.length.step,
        "most": 10,
    }
    with connection.cursor() as cursor:
        cursor.execute("explain " + numbers._COUNT, given)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan on runs_run" not in plan
    assert "id >= " in plan


# ── the picture ──────────────────────────────────────────────────────────────────────────


def test_bars_are_shares_of_the_fullest_step_and_one_in_a_thousand_is_seen() -> None:
    starts = [NOON, NOON + HOUR]
    found = bars.steps(starts, [{State.SUCCEEDED: 999, State.DEAD: 1}, {State.SUCCEEDED: 500}])
    (ok, bad), (half,) = (step.parts for step in found)
    assert (ok.kind, bad.kind, half.kind) == ("ok", "bad", "ok")
    assert ok.height == bars.HEIGHT
    assert half.height == bars.HEIGHT // 2
    assert bad.height > 0
    assert bad.y + bad.height < ok.y, "what failed stands apart"
    assert ok.y + ok.height == half.y + half.height == bars.BASE
    assert bad.y >= 0


def test_every_state_is_in_one_layer_and_the_label_says_the_numbers() -> None:
    layers = [state for *_, states in bars.LAYERS for state in states]
    assert sorted(layers) == sorted(State)
    (full,) = bars.steps([NOON], [dict.fromkeys(State, 7)])
    assert full.total == 7 * len(State)
    assert len({part.width for part in full.parts}) == 4, "not by colour alone"
    assert min(part.y for part in full.parts) >= 0
    assert bars.label([full], "hour") == (
        "Runs for every hour, from 77 to 77: 7 succeeded, 35 in flight, "
        "21 skipped, closed or cancelled, 7 dead, 7 in review."
    )
    assert bars.label(bars.steps([NOON], [{}]), "hour") == "Runs for every hour: none."


@pytest.mark.django_db
def test_a_large_window_is_counted_once_a_minute_and_says_when(
    team: Team, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    window = windows.ending(LENGTHS["24h"], now)

    def due(later: timedelta = timedelta()) -> tuple[int, datetime | None]:
        found = numbers.lately([team.id], window, now + later)
        return found.due, found.at

    make.run(job)
    assert due() == (1, None)
    make.run(job)
    assert due() == (2, None), "a small one is counted each time"
    monkeypatch.setattr(numbers, "LARGE", 2)
    assert due() == (2, now)
    make.run(job)
    assert due(HOUR) == (2, now)
    other = numbers.lately([make.team("other").id], window, now)
    assert (other.due, other.at) == (0, None)
    cache.clear()
    assert due() == (3, now)
