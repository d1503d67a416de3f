"""A hold is over: what waited goes by the job's policy, or as a person said. Nothing is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs import clock, holds
from jobs.models import Hold, Job
from jobs.schedules.catch_up import Policy
from runs import start
from runs.holds import letting_go, owed
from runs.holds.owed import Owed, Parting
from runs.models import Run
from runs.states import State
from tests import make

NOW = datetime(2026, 11, 29, 18, tzinfo=UTC)
HOUR = timedelta(hours=1)
IDS = [UUID(int=number) for number in range(1, 10)]


def moments(*ages: float) -> list[Owed]:
    """Runs of moments so many seconds old."""
    return [Owed(IDS[n], NOW - timedelta(seconds=age)) for n, age in enumerate(ages)]


def parted(name: str, runs: list[Owed], choice: str = "policy", limit: int = 100) -> Parting:
    return owed.parting(runs, choice=choice, policy=Policy(name, HOUR, limit), now=NOW)


# ages: two past the window, two within it
OLD_AND_YOUNG = moments(7200, 3700, 1800, 900)


@pytest.mark.parametrize(
    ("policy", "go", "ask", "skipped"),
    [("last", [4], [], 3), ("all", [3, 4], [], 2), ("none", [], [], 4), ("ask", [], [3, 4], 2)],
)
def test_each_policy_does_what_it_says(
    policy: str, go: list[int], ask: list[int], skipped: int
) -> None:
    said = parted(policy, OLD_AND_YOUNG)
    assert ([i.int for i in said.go], [i.int for i in said.ask]) == (go, ask)
    assert said.skipped == skipped
    assert not said.chosen


@pytest.mark.parametrize("policy", ["last", "all", "none", "ask"])
def test_a_choice_goes_before_the_policy(policy: str) -> None:
    fired = parted(policy, OLD_AND_YOUNG, "fire")
    assert (len(fired.go), fired.ask, fired.skipped, fired.chosen) == (4, [], 0, True)
    dropped = parted(policy, [*OLD_AND_YOUNG, *moments(1)], "drop")
    assert (dropped.go, dropped.ask) == ([], [])
    assert dropped.skip.keys() == {owed.DROPPED}


@pytest.mark.parametrize("policy", ["last", "all", "none", "ask"])
def test_a_moment_younger_than_ten_seconds_is_not_missed(policy: str) -> None:
    said = parted(policy, moments(1800, 3, 1))
    assert [i.int for i in said.go][-2:] == [2, 3]


@pytest.mark.parametrize("choice", ["policy", "fire", "drop"])
@pytest.mark.parametrize("policy", ["last", "all", "none", "ask"])
def test_each_is_in_one_place_and_what_was_asked_for_goes(policy: str, choice: str) -> None:
    asked_for = Owed(uuid4(), None)
    runs = [*moments(90_000, 5000, 3000, 2000, 1000, 12, 4), asked_for]
    said = parted(policy, runs, choice, limit=2)
    everywhere = [*said.go, *said.ask, *(i for ids in said.skip.values() for i in ids)]
    assert sorted(everywhere) == sorted(run.id for run in runs)
    assert asked_for.id in said.go


def test_the_surplus_over_the_limit_is_recorded_with_its_reason() -> None:
    said = parted("all", moments(3000, 2000, 1000), limit=2)
    assert [i.int for i in said.go] == [1, 2]
    assert said.skip == {"missed, and past the catch-up limit": [IDS[2]]}


# ── in the database ──────────────────────────────────────────────────────────────────────

database = pytest.mark.django_db


def job(policy: str = "all", **changes: Any) -> Job:
    catch_up = {"policy": policy, "window": 3600, "limit": 100}
    return make.job(make.team(), name=f"job {uuid4()}", catch_up=catch_up, **changes)


def held(of: Job, hold: Hold, *minutes: int, **columns: Any) -> list[Run]:
    """Runs of moments so many minutes ago that wait for the hold."""
    now = clock.now()
    return [
        make.run(
            of,
            State.WAITING,
            hold=hold,
            **{"origin": "schedule", "due_at": now - timedelta(minutes=minute), **columns},
        )
        for minute in minutes
    ]


def hold(whole: bool = False) -> Hold:
    return holds.begin(None if whole else make.team(), "The ledger moves.", by=None)


def states(runs: list[Run]) -> list[str]:
    return [Run.objects.get(id=run.id).state for run in runs]


def ended(of: Hold, **choices: Any) -> None:
    holds.end(of.id, by=None, **choices)
    letting_go.due()


@database
@pytest.mark.parametrize(
    ("policy", "after"),
    [
        ("last", ["SKIPPED", "SKIPPED", "CLAIMED"]),
        ("all", ["SKIPPED", "CLAIMED", "CLAIMED"]),
        ("none", ["SKIPPED", "SKIPPED", "SKIPPED"]),
        ("ask", ["SKIPPED", "REVIEW", "REVIEW"]),
    ],
)
@pytest.mark.parametrize("choice", ["policy", "fire", "drop"])
def test_let_go_by_policy_and_by_choice(policy: str, after: list[str], choice: str) -> None:
    of, there = job(policy, overlap="allow"), hold()
    runs = held(of, there, 90, 30, 15)
    ended(there, choices={of.id: choice})
    if choice == "fire":
        after = ["CLAIMED"] * 3
    if choice == "drop":
        after = ["SKIPPED"] * 3
    assert states(runs) == after
    for run in Run.objects.all():
        assert run.hold_id is None
        assert run.state != "SKIPPED" or (run.skipped_count == 1 and "after a hold" in run.reason)
        assert run.state != "REVIEW" or run.review_class == "missed"
    assert letting_go.due() == 0


@database
def test_a_choice_for_the_others_is_for_the_jobs_that_are_not_named() -> None:
    named, other, there = job(), job(), hold()
    first, second = held(named, there, 5), held(other, there, 5)
    ended(there, choices={named.id: "policy"}, others="drop")
    assert (states(first), states(second)) == (["CLAIMED"], ["SKIPPED"])


@database
@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "cancel"])
def test_those_of_a_serial_job_take_turns_the_oldest_first(overlap: str) -> None:
    of = job("none" if overlap == "cancel" else "all", overlap=overlap)
    there = hold()
    runs = held(of, there, 5, 15, 10)
    ended(there, choices={of.id: "fire"})
    assert states(runs) == ["WAITING", "CLAIMED", "WAITING"]
    waits = Run.objects.get(id=runs[0].id)
    assert (waits.blocked_by, waits.hold_id) == (runs[1].id, None)


@database
def test_what_a_person_fires_has_no_window_any_more() -> None:
    of, there = job("last", overlap="queue"), hold()
    runs = held(of, there, 300, 200)
    ended(there, choices={of.id: "fire"})
    assert states(runs) == ["CLAIMED", "WAITING"]


@database
@pytest.mark.parametrize(
    "columns",
    [
        {"attempt": 1},
        {"origin": "hand", "due_at": None},
        {"review_class": "missed"},
        {"let_past_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
)
@pytest.mark.parametrize("choice", ["policy", "drop"])
def test_what_was_begun_or_asked_for_is_released_not_dropped(
    columns: dict[str, Any], choice: str
) -> None:
    of, there = job("none"), hold()
    runs = held(of, there, 5, **columns)
    ended(there, choices={of.id: choice})
    assert states(runs) == ["CLAIMED"]


@database
def test_a_job_that_is_held_otherwise_waits_on_and_the_last_word_counts() -> None:
    of, team, whole = job(), hold(), hold(whole=True)
    runs = held(of, whole, 5)
    ended(whole, choices={of.id: "drop"})
    assert states(runs) == ["WAITING"]
    ended(team, choices={of.id: "fire"})
    assert states(runs) == ["CLAIMED"]


@database
def test_a_word_said_at_the_first_end_counts_where_none_is_said_at_the_last() -> None:
    of, team, whole = job(), hold(), hold(whole=True)
    runs = held(of, whole, 5)
    ended(whole, choices={of.id: "drop"})
    ended(team)
    assert states(runs) == ["SKIPPED"]


@database
def test_a_word_of_an_earlier_hold_does_not_count() -> None:
    of, first = job(), hold()
    ended(first, others="drop")
    second = hold()
    runs = held(of, second, 5)
    ended(second)
    assert states(runs) == ["CLAIMED"]


@database
def test_a_hold_lets_go_by_itself_when_its_end_has_come() -> None:
    of, there = job(), hold()
    runs = held(of, there, 5)
    past = clock.now() - timedelta(seconds=1)
    Hold.objects.filter(id=there.id).update(until=past, began_at=past)
    assert letting_go.due() == 1
    assert states(runs) == ["CLAIMED"]


@database
def test_a_run_written_down_after_its_hold_was_let_go_is_found_all_the_same() -> None:
    of, there = job(), hold()
    ended(there)
    late = held(of, there, 5)
    letting_go.due()
    assert states(late) == ["CLAIMED"]


@database
def test_a_start_that_meets_a_hold_on_the_way_out_is_parked_again() -> None:
    of, there = job(), hold()
    (run,) = held(of, there, 5)
    ended(there)
    again = hold()
    assert start.run(run.id, worker="w") is None
    assert states([run]) == ["WAITING"]
    ended(again)
    assert states([run]) == ["CLAIMED"]


@database
def test_what_waits_is_told_by_job_with_what_would_become_of_it() -> None:
    last, none, there = job("last"), job("none"), hold()
    moments = held(last, there, 90, 30, 5)
    held(last, there, 3, attempt=1)
    held(none, there, 2)
    elsewhere = make.job(make.team("elsewhere"), name="theirs")
    held(elsewhere, there, 1)
    found = {of.id: letting_go.waiting(of, clock.now()) for of in letting_go.owing(_all(), there)}
    assert found.keys() == {last.id, none.id}
    waits = found[last.id]
    assert (waits.moments, waits.others) == (3, 1)
    assert (waits.first, waits.last) == (moments[0].due_at, moments[2].due_at)
    assert (len(waits.by_policy.go), waits.by_policy.skipped) == (2, 2)
    assert (len(found[none.id].by_policy.go), found[none.id].by_policy.skipped) == (0, 1)


def _all() -> Any:
    return Job.objects.all()
