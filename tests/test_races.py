"""What the races of the tests rest on."""

from __future__ import annotations

import multiprocessing
import time
from functools import partial

import pytest

from tests import races

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_race_that_hangs_says_where_and_the_next_has_new_racers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(races, "_LONGEST", 2.0)
    with pytest.raises(races.Hangs, match=r"(?s)it hangs; the racers stood at:.* in _outcome"):
        races.at_once(partial(time.sleep, 100), partial(int, 3))
    assert races.at_once(partial(int, 4), partial(int, 3)) == [4, 3]


def test_shared_numbers_that_the_tests_make_do_not_stand_where_the_racers_start() -> None:
    at_rest = races.at_once(partial(int, 1), partial(int, 2))
    numbers = [multiprocessing.Value("i", 1) for _ in range(20)]
    assert races.at_once(partial(int, 3), partial(int, 4)) == [3, 4]
    assert (at_rest, {number.value for number in numbers}) == ([1, 2], {1})
