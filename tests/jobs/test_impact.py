"""What an edit moves and a pause leaves out, worked out before it is done."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.foresight import impact
from jobs.schedules import schedules
from jobs.schedules.plans import Plan
from jobs.schedules.timeline import Timeline, Version

NOW = datetime(2026, 11, 30, tzinfo=UTC)
DAY = timedelta(days=1)


def cron(expression: str, timezone: str = "UTC") -> Plan:
    return Plan(schedules.parse({"cron": expression, "timezone": timezone}, now=NOW))


def test_the_same_moments_by_another_spelling_move_nothing() -> None:
    edit = impact.of_edit(cron("0 0 * * *"), cron("@daily"), NOW)
    assert not edit.moves
    assert len(edit.kept) == impact.COMPARED


def test_moments_that_fall_out_and_come_in_are_told_apart() -> None:
    edit = impact.of_edit(cron("0 0,12 * * *"), cron("0 12,18 * * *"), NOW)
    assert {at.hour for at in edit.gone} == {0}
    assert {at.hour for at in edit.added} == {18}
    assert {at.hour for at in edit.kept} == {12}


def test_a_dense_schedule_in_place_of_a_thin_one_loses_nothing() -> None:
    edit = impact.of_edit(cron("0 0 * * *"), cron("* * * * *"), NOW)
    assert (edit.gone, len(edit.kept), len(edit.added)) == ([], 20, 20)
    back = impact.of_edit(cron("* * * * *"), cron("0 0 * * *"), NOW)
    assert (back.added, len(back.gone)) == ([], 20), "each of the next twenty falls out"
    assert (back.ends, back.next) == (False, NOW + DAY), "and yet it goes on"


def test_what_ends_has_no_moment_to_come() -> None:
    once = Plan(schedules.parse({"at": "2026-12-01T00:00:00Z"}, now=NOW))
    over = impact.of_edit(cron("0 0 * * *"), once, NOW + 2 * DAY)
    assert (over.ends, over.next) == (True, None)
    assert not impact.of_edit(cron("0 0 * * *"), once, NOW).ends


def test_a_window_is_part_of_what_moves() -> None:
    daily = cron("0 0 * * *")
    edit = impact.of_edit(daily, replace(daily, ends_at=NOW + 5 * DAY), NOW)
    assert (len(edit.kept), len(edit.gone), edit.added) == (5, 15, [])


@pytest.mark.parametrize(
    ("until", "count", "last"),
    [
        (NOW + timedelta(hours=17), 0, None),
        (NOW + timedelta(hours=18), 1, NOW + timedelta(hours=18)),
        (NOW + 3 * DAY, 3, NOW + timedelta(days=2, hours=18)),
    ],
)
def test_a_pause_leaves_out_what_lies_under_it_its_end_included(
    until: datetime, count: int, last: datetime | None
) -> None:
    line = Timeline([Version(1, NOW - DAY, cron("0 18 * * *"))])
    left_out = impact.of_pause(line, NOW, until)
    first = NOW + timedelta(hours=18) if count else None
    assert (left_out.count, left_out.first, left_out.last) == (count, first, last)
