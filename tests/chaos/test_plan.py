"""A seed says which faults come: always the same ones, and all of them."""

from __future__ import annotations

from tests.chaos import people, plan
from tests.chaos.behaviour import TROUBLED, Doing, Temper
from tests.chaos.conduct import FAULTS, PARTS
from tests.chaos.plan import Kind


def test_the_same_seed_makes_the_same_plan_and_another_seed_another() -> None:
    assert plan.of(7, seconds=300) == plan.of(7, seconds=300)
    assert plan.of(7, seconds=300) != plan.of(8, seconds=300)


def test_a_shorter_run_is_the_beginning_of_a_longer_one() -> None:
    short = plan.of(7, seconds=60)
    assert short == plan.of(7, seconds=300)[: len(short)]
    assert all(fault.at < 60 for fault in short)


def test_five_minutes_hold_each_kind_of_fault() -> None:
    for seed in range(50):
        assert {fault.kind for fault in plan.of(seed, seconds=300)} == set(Kind)


def test_each_kind_can_be_made() -> None:
    assert set(FAULTS) == set(PARTS) == set(Kind)


def test_a_request_meets_the_same_fate_whenever_it_comes_and_every_fate_comes() -> None:
    temper = Temper(7, TROUBLED)
    fates = [temper.of(f"key {number}", 1) for number in range(5000)]
    assert fates == [temper.of(f"key {number}", 1) for number in range(5000)]
    assert set(fates) == set(Doing)
    assert fates.count(Doing.ACT) > 4500


def test_two_people_choose_the_same_and_each_choice_comes() -> None:
    chosen = {people.choice(7, f"key {number}", 1, "REVIEW") for number in range(500)}
    assert chosen == {"run_again", "happened", "close", None}
    assert {people.choice(7, f"key {n}", 1, "DEAD") for n in range(500)} == {
        "replay",
        "discard",
        None,
    }
