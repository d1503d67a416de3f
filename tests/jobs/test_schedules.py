"""When a job is due: reported cases, the changes of the clock, and a search by enumeration.

ONEBEAT_TEST_WIDTH (a whole number, 1 unless set) multiplies how many random cases are tried.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobs.schedules import schedules, zones
from jobs.schedules.schedules import Cron
from tests.jobs import enumeration, expressions
from tests.jobs.moments import DSTS, NEW_YORK, NOW, PLACES, WIDTH, a_change, at, texts

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("schedule_cases.jsonl").read_text().splitlines()
]


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
