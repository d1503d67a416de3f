"""Every change of the clock from 2007 to 2037 in thirty zones, by both rules, against a look at
every minute.

Around each change all of 500 random expressions are due, as ONEBEAT_PROOF=whole tries them; else
each change gets a few of them, in turn, so that together the changes see all 500.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from jobs.schedules import schedules
from jobs.schedules.schedules import Cron
from tests.jobs import enumeration, expressions
from tests.jobs.moments import DSTS, PLACES, WHOLE

EXPRESSIONS = [expressions.some(Random(seed)) for seed in range(500)]
A_FEW = 2
BEGIN, END = datetime(2007, 1, 1, tzinfo=UTC), datetime(2038, 1, 1, tzinfo=UTC)
DENSE = ("* * * * *", "*/7 0-3 * * *", "30 * * * *", "0,30 0-4,23 * * *", "30 1 * * *")
Change = tuple[datetime, timedelta]


def around(change: Change) -> tuple[datetime, datetime]:
    """Long enough to hold the times that the change leaves out or repeats, and some more."""
    at, moved = change
    margin = abs(moved) + timedelta(minutes=20)
    return at - margin, at + margin


def tried(number: int) -> list[str]:
    """The expressions for the change of this number."""
    if WHOLE:
        return EXPRESSIONS
    first = number * A_FEW
    return [EXPRESSIONS[place % len(EXPRESSIONS)] for place in range(first, first + A_FEW)]


@pytest.mark.timeout(3600 if WHOLE else 300)
@pytest.mark.parametrize("zone", PLACES)
def test_every_change_of_the_clock_agrees_with_a_look_at_every_minute(zone: str) -> None:
    number = 40 * PLACES.index(zone)
    for change in enumeration.changes(zone, BEGIN, END):
        after, until = around(change)
        for expression in tried(number):
            for dst in DSTS:
                schedule = (Cron(expression, zone, dst),)
                expected = enumeration.moments(expression, zone, dst, after, until)
                found = schedules.moments_between(schedule, after, until, 10_000)
                told = f"{expression} {zone} {dst} {after} {until}"
                assert found == expected, told
                assert schedules.count_between(schedule, after, until) == len(expected), told
        number += 1


def overlaps(zone: str) -> list[Change]:
    """The changes at which the clock repeats times; of a slice, the newest."""
    back = [change for change in enumeration.changes(zone, BEGIN, END) if change[1] < timedelta(0)]
    return back if WHOLE else back[-1:]


def instants(after: datetime, until: datetime) -> Iterator[datetime]:
    """Twice a minute: on the minute itself, and somewhere between it and the next."""
    at, dice = after, Random(after.isoformat())
    while at < until:
        yield at
        yield at + timedelta(microseconds=dice.randint(1, 59_999_999))
        at += timedelta(minutes=1)


@pytest.mark.timeout(3600 if WHOLE else 300)
@pytest.mark.parametrize("zone", PLACES)
def test_next_lies_ahead_at_every_instant_of_every_overlap(zone: str) -> None:
    """And is the very next one: the calendar is never gone through twice, nor stepped over."""
    for change in overlaps(zone):
        after, until = change[0] + change[1], change[0] - change[1]
        for expression in DENSE:
            for dst in DSTS:
                schedule = (Cron(expression, zone, dst),)
                end = until + timedelta(days=2)
                due = enumeration.moments(expression, zone, dst, after, end)
                for instant in instants(after, until):
                    moment = schedules.next_moment(schedule, instant)
                    assert moment is not None and moment > instant
                    assert moment == due[bisect_right(due, instant)], (expression, dst, instant)


def test_the_zones_change_their_clocks_as_often_as_is_known() -> None:
    """So that the search above is no search of nothing."""
    count = sum(len(enumeration.changes(zone, BEGIN, END)) for zone in PLACES)
    assert count > 1200
    assert len(set(EXPRESSIONS)) > 450
    apia = {change[1] for change in enumeration.changes("Pacific/Apia", BEGIN, END)}
    assert timedelta(days=1) in apia
