"""The lower bound of a scan: it moves along, and never past what is left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from runs.bounds import EVER, FULL_LOOK_EVERY, MARGIN, Bound

START = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def looked(bound: Bound, now: datetime, *, short: bool = True) -> datetime:
    """One turn of the loop: where it looked from."""
    above = bound.below(now)
    bound.found(above, now, short=short)
    return above


def test_the_first_look_is_a_full_one() -> None:
    assert looked(Bound(), START) == EVER


def test_after_a_full_look_that_came_back_short_it_looks_a_margin_below_it() -> None:
    bound = Bound()
    looked(bound, START)
    assert looked(bound, START + SECOND) == START - MARGIN


def test_a_full_look_is_repeated_until_it_comes_back_short() -> None:
    bound = Bound()
    for second in range(5):
        assert looked(bound, START + second * SECOND, short=False) == EVER
    assert looked(bound, START + 5 * SECOND) == EVER
    assert looked(bound, START + 6 * SECOND) == START + 5 * SECOND - MARGIN


def test_a_bounded_look_that_finds_nothing_moves_no_mark() -> None:
    """It did not see what lies below its bound."""
    bound = Bound()
    looked(bound, START)
    for second in range(1, 59):
        assert looked(bound, START + second * SECOND) == START - MARGIN


def test_once_a_minute_a_full_look_goes_below_the_bound() -> None:
    bound = Bound()
    full = [n for n in range(600) if looked(bound, START + n * SECOND) == EVER]
    assert full == list(range(0, 600, int(FULL_LOOK_EVERY.total_seconds())))


def test_a_full_look_that_is_due_stays_due_until_it_took_place() -> None:
    bound = Bound()
    looked(bound, START)
    later = START + FULL_LOOK_EVERY
    assert bound.below(later) == EVER
    assert looked(bound, later + SECOND) == EVER


def test_a_clock_that_was_set_back_brings_a_full_look() -> None:
    bound = Bound()
    looked(bound, START)
    assert looked(bound, START - 120 * SECOND) == EVER
    assert looked(bound, START - 119 * SECOND) == START - 120 * SECOND - MARGIN
