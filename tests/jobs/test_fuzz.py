"""A hundred thousand texts that nobody should write: each is taken or refused in our own words,
and none takes long. A slice of them, unless ONEBEAT_PROOF=whole."""

from __future__ import annotations

from random import Random

import pytest

from tests.jobs import fuzz
from tests.jobs.moments import WHOLE

PARTS = 10
EACH = 10_000 if WHOLE else 1000


@pytest.mark.timeout(3600 if WHOLE else 300)
@pytest.mark.parametrize("seed", range(PARTS))
def test_no_text_takes_long_or_raises_anything_but_the_schedules_own_error(seed: int) -> None:
    dice = Random(seed)
    slow = {}
    for _ in range(EACH):
        given = fuzz.some(dice)
        if (taken := fuzz.seconds(given)) > fuzz.MOST:
            slow[repr(given)] = taken
    assert not slow
