"""The table of overlap: what becomes of a moment, and who is woken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from runs import overlap
from runs.overlap import Fire, Replace, Rule, Situation, Skip, Standing, Wait
from runs.states import State

START = datetime(2026, 11, 29, 18, tzinfo=UTC)
NOW = START + timedelta(minutes=10)


def run(minute: int, *, idempotent: bool = True, too_late: bool = False) -> Standing:
    order = START + timedelta(minutes=minute)
    return Standing(UUID(int=minute), order, False, idempotent, too_late)


def rule(name: str, *, block: bool = False, limit: int = 3) -> Rule:
    return Rule(name, block, limit)


FREE = Situation()
BUSY = Situation(active=(run(1),))
ONE_WAITS = replace(BUSY, waiting=(run(2),))
FULL = replace(BUSY, waiting=(run(2), run(3), run(4)))
EARLIER_REVIEW = Situation(review=(run(5), run(3)))
LATER_REVIEW = Situation(review=(run(11),))
OVERLAPS = ("skip", "queue", "queue_all", "allow", "cancel")


@pytest.mark.parametrize("name", OVERLAPS)
def test_a_moment_with_nothing_in_its_way_fires(name: str) -> None:
    for situation in (FREE, LATER_REVIEW, EARLIER_REVIEW):
        assert overlap.of_moment(NOW, rule(name), situation, made_up=False) == Fire()
    blocking = rule(name, block=True)
    assert overlap.of_moment(NOW, blocking, LATER_REVIEW, made_up=False) == Fire()


@pytest.mark.parametrize(
    ("name", "situation", "fate"),
    [
        ("skip", BUSY, "Skip"),
        ("queue", BUSY, "Wait"),
        ("queue", ONE_WAITS, "Skip"),
        ("queue_all", ONE_WAITS, "Wait"),
        ("queue_all", FULL, "Skip"),
        ("allow", BUSY, "Fire"),
        ("allow", FULL, "Fire"),
        ("cancel", BUSY, "Replace"),
        ("cancel", Situation(active=(run(1, idempotent=False),)), "Wait"),
    ],
)
def test_a_moment_that_comes_while_a_run_is_active(
    name: str, situation: Situation, fate: str
) -> None:
    found = overlap.of_moment(NOW, rule(name), situation, made_up=False)
    assert type(found).__name__ == fate
    if isinstance(found, Skip | Wait):
        assert found.blocked_by == run(1).id
        assert run(1).name in found.reason or (
            isinstance(found, Skip) and "3 runs wait" in found.reason
        )


def test_only_runs_that_are_safe_to_repeat_are_asked_to_stop() -> None:
    mixed = Situation(active=(run(1), run(2, idempotent=False), run(3)))
    found = overlap.of_moment(NOW, rule("cancel"), mixed, made_up=False)
    assert found == Replace((run(1), run(3)))


@pytest.mark.parametrize("name", [name for name in OVERLAPS if name != "allow"])
def test_what_is_made_up_waits_whatever_the_overlap(name: str) -> None:
    found = overlap.of_moment(NOW, rule(name), FULL, made_up=True)
    assert isinstance(found, Wait)


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("made_up", [True, False])
def test_behind_an_earlier_review_every_moment_waits_up_to_the_limit(
    name: str, made_up: bool
) -> None:
    blocking = rule(name, block=True)
    found = overlap.of_moment(NOW, blocking, EARLIER_REVIEW, made_up=made_up)
    assert found == Wait(f"Waits until {run(3).name} is decided.", run(3).id)
    full = replace(EARLIER_REVIEW, waiting=FULL.waiting)
    refused = overlap.of_moment(NOW, blocking, full, made_up=made_up)
    assert isinstance(refused, Skip)
    assert refused.alarm  # nobody chose this


def test_a_queue_that_is_full_by_choice_raises_no_alarm() -> None:
    found = overlap.of_moment(NOW, rule("queue_all"), FULL, made_up=False)
    assert isinstance(found, Skip)
    assert not found.alarm


def woken(rule: Rule, situation: Situation) -> list[tuple[str, State]]:
    return [(f"run {run.id.int}", state) for run, state in overlap.woken(rule, situation)]


THREE_WAIT = Situation(waiting=(run(4), run(2), run(3)))


def test_a_serial_job_wakes_one_the_oldest_moment_first() -> None:
    assert woken(rule("queue_all"), THREE_WAIT) == [("run 2", State.CLAIMED)]


def test_a_serial_job_that_is_busy_wakes_none() -> None:
    assert woken(rule("queue_all"), replace(THREE_WAIT, active=(run(1),))) == []


def test_any_other_wakes_each() -> None:
    names = [name for name, _ in woken(rule("allow"), replace(THREE_WAIT, active=(run(1),)))]
    assert names == ["run 2", "run 3", "run 4"]


def test_none_is_woken_past_an_earlier_review() -> None:
    blocked = replace(THREE_WAIT, review=(run(3),))
    assert woken(rule("allow", block=True), blocked) == [
        ("run 2", State.CLAIMED),
        ("run 3", State.CLAIMED),
    ]
    assert woken(rule("queue", block=True), replace(blocked, review=(run(1),))) == []


def test_who_is_too_late_goes_the_way_of_a_missed_moment_and_the_next_has_its_turn() -> None:
    late = Situation(waiting=(run(2, too_late=True), run(3)))
    assert woken(rule("queue"), late) == [("run 2", State.SKIPPED), ("run 3", State.CLAIMED)]
    asks = replace(rule("queue", block=True), asks_about_missed=True)
    assert woken(asks, late) == [("run 2", State.REVIEW)]  # the next waits for its decision
    assert woken(rule("queue"), replace(late, active=(run(1),))) == []


def test_moments_that_differ_by_their_id_alone_have_an_order() -> None:
    twins = (run(2), replace(run(1), order=run(2).order))
    assert woken(rule("skip"), Situation(waiting=twins)) == [("run 1", State.CLAIMED)]
