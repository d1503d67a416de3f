"""Where bars stand, and what is slower than usual."""

from __future__ import annotations

import pytest

from runs.dashboard import pictures
from runs.dashboard.job import durations
from runs.dashboard.pictures import Span


def test_half_of_the_lengths_lie_below_the_median() -> None:
    found = durations.usual([float(length) for length in range(1, 101)])
    assert found is not None
    assert (found.median, found.count) == (50.5, 100)
    assert found.p95 == pytest.approx(95.05)
    assert durations.usual([]) is None


def test_slower_than_usual_is_beyond_nearly_all_and_well_beyond_half() -> None:
    steady = durations.usual([10.0] * 20)
    assert steady is not None
    assert not steady.is_slow(14.9), "within half as much again"
    assert steady.is_slow(15.1)
    wide = durations.usual([1.0] * 15 + [60.0] * 5)
    assert wide is not None
    assert not wide.is_slow(59.0), "one in four takes so long"
    few = durations.usual([1.0] * 7)
    assert few is not None
    assert not few.is_slow(60.0), "nothing is usual yet"


def test_the_longest_column_fills_the_height() -> None:
    picture = pictures.columns(
        [(5.0, "succeeded"), (10.0, "slow"), (0.0, "dead")], {"median": 5.0}, step=12, height=80
    )
    assert [bar.height for bar in picture.bars] == [40, 80, pictures.SMALLEST]
    assert [bar.x for bar in picture.bars] == [0, 12, 24]
    assert [bar.y + bar.height for bar in picture.bars] == [80, 80, 80]
    assert [bar.kind for bar in picture.bars] == ["succeeded", "slow", "dead"]
    assert (picture.width, picture.lines) == (36, {"median": 40})


def test_nothing_is_a_picture_too() -> None:
    assert pictures.columns([], {}, step=12, height=80).bars == []
    assert pictures.gantt([], width=720, row=22).bars == []


def test_attempts_lie_on_one_line_of_time() -> None:
    spans = [
        Span(100.0, 110.0, "failed", 105.0),
        Span(150.0, 150.0, "not_sent"),
        Span(200.0, 200.0, "running", 200.0),
    ]
    first, second, last = pictures.gantt(spans, width=100, row=20).bars
    assert (first.x, first.width, first.mark) == (0, 10, 5)
    assert (second.x, second.width, second.mark) == (50, pictures.SMALLEST, None)
    assert (last.x + last.width, last.mark) == (100, 100), "what took no time is still seen"
    assert [bar.y for bar in (first, second, last)] == [3, 23, 43]


def test_an_attempt_that_took_no_time_at_all_is_seen() -> None:
    (bar,) = pictures.gantt([Span(1.0, 1.0, "running", 1.0)], width=100, row=20).bars
    assert (bar.x, bar.width) == (0, pictures.SMALLEST)
