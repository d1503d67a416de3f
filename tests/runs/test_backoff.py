from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import backoff


@pytest.mark.parametrize(
    ("failures", "most"), [(1, 10), (2, 20), (3, 40), (4, 60), (5, 60), (10_000, 60)]
)
def test_the_longest_wait_doubles_up_to_the_cap(failures: int, most: float) -> None:
    assert backoff.delay(failures, base=10, cap=60, dice=1.0) == most


@given(
    failures=st.integers(0, 10**9),
    base=st.floats(0, 1e9),
    cap=st.floats(1, 1e9),
    dice=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_never_overflows_and_lies_within_the_cap(
    failures: int, base: float, cap: float, dice: float
) -> None:
    wait = backoff.delay(failures, base=base, cap=cap, dice=dice)
    assert math.isfinite(wait)
    assert 0 <= wait <= cap


@pytest.mark.parametrize(("asked", "waited"), [(-5, 0), (30, 30), (1e12, 60)])
def test_what_a_target_asks_for_is_kept_within_the_cap(asked: float, waited: float) -> None:
    assert backoff.asked_for(asked, cap=60) == waited
