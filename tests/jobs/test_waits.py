"""How the waits between attempts are said and drawn."""

from __future__ import annotations

import pytest

from jobs import typed_numbers
from jobs.foresight import waits
from jobs.foresight.waits import Waits
from runs import backoff


def test_the_waits_double_up_to_the_longest() -> None:
    found = waits.of(attempts=5, backoff=10, cap=60, timeout=300)
    assert list(found.each) == [10, 20, 40, 60]
    assert found.within == 5 * 300 + 130


def test_it_is_the_rule_that_runs_wait_by() -> None:
    for failures in (1, 2, 7, 60, 10**6):
        drawn = backoff.delay(failures, base=10, cap=3600, dice=1.0)
        assert drawn == waits.longest(failures, base=10, cap=3600)


@pytest.mark.parametrize(("attempts", "untold"), [(1, 0), (2, 0), (13, 0), (14, 1), (100, 87)])
def test_a_mark_for_each_attempt_that_is_told(attempts: int, untold: int) -> None:
    found = waits.of(attempts=attempts, backoff=10, cap=3600, timeout=1)
    assert found.untold == untold
    assert len(found.marks) == min(attempts, waits.SHOWN + 1)
    assert found.marks == sorted(found.marks)
    assert all(waits.MARK <= at <= waits.WIDTH - waits.MARK for at in found.marks)


def test_no_wait_at_all_is_no_division_by_it() -> None:
    assert waits.of(attempts=3, backoff=0, cap=0, timeout=1).marks == [4.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("typed", "each"),
    [
        ({}, [10, 20, 40, 80]),
        ({"max_attempts": "3", "backoff": "60", "cap": "90"}, [60, 90]),
        ({"max_attempts": "1"}, []),
        ({"max_attempts": "3", "backoff": "1 m", "cap": "1h30m"}, [60, 120]),
    ],
)
def test_they_are_read_from_the_page(typed: dict[str, str], each: list[int]) -> None:
    assert list(typed_numbers.waits_of(typed).each) == each


@pytest.mark.parametrize("wrong", ["many", "-1", "1e3", "9" * 18, "101"])
def test_what_is_no_number_draws_nothing(wrong: str) -> None:
    assert typed_numbers.waits_of({"max_attempts": wrong}) == Waits()
