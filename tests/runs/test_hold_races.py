"""Two things at one instant, one of them a hold: nothing starts under it, nothing waits on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, holds
from jobs.models import Due, Hold, Job, User
from jobs.schedules.instants import canonical_instant
from jobs.shards import COUNT
from runs import claim, release, settle, start
from runs.bounds import EVER
from runs.holds import letting_go
from runs.letters import replay
from runs.models import Installation, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.review import deciding
from runs.states import ACTIVE, State
from runs.witness import Witness
from tests import make
from tests.races import ROUNDS, at_once

ALL = list(range(COUNT))
DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    for hold in Hold.objects.filter(ended_at=None):
        holds.end(hold.id, by=None)


def job(overlap: str, **changes: Any) -> Job:
    """A job with a moment that was due a second ago, and no other today."""
    at = clock.now().replace(microsecond=0) - timedelta(seconds=1)
    stored = [{"every": 86_400, "anchor": canonical_instant(at)}]
    made = make.job(make.team(), name=f"job {uuid4()}", overlap=overlap, **changes)
    began = at - timedelta(days=9)
    Job.objects.filter(id=made.id).update(version_began_at=began, schedule=stored)
    Due.objects.filter(job=made).update(at=at)
    made.refresh_from_db()
    return made


def states(of: Job) -> list[str]:
    return sorted(Run.objects.filter(job=of).values_list("state", flat=True))


def failures(outcomes: list[Any]) -> list[Any]:
    return [found for found in outcomes if isinstance(found, Exception)]


def begin() -> Hold:
    return holds.begin(make.team(), "The ledger moves.", by=None)


def end(hold: Hold, choice: str = "fire") -> None:
    holds.end(hold.id, by=None, others=choice)


def take() -> None:
    while Due.objects.filter(at__lte=clock.now()).exists():
        claim.due_jobs(clock.now(), shards=ALL, above=EVER)


def all_gone() -> None:
    """Beats go on until nothing waits for a hold that is over."""
    while letting_go.due():
        pass
    release.missed_wake_ups()


def test_a_start_in_the_instant_a_hold_begins_lies_before_it_or_waits() -> None:
    of = job("allow")
    Due.objects.filter(job=of).delete()
    for _ in range(ROUNDS):
        runs = [make.run(of, State.ENQUEUED) for _ in range(3)]
        starts = [partial(start.run, run.id, worker="w") for run in runs]
        hold, *grants = at_once(begin, *starts)
        for run, grant in zip(runs, grants, strict=True):
            run.refresh_from_db()
            if grant is None:
                assert (run.state, run.hold_id) == ("WAITING", hold.id)
            else:
                assert run.started_at is not None
                assert run.started_at < hold.began_at
        end(hold)
        all_gone()
        for run, grant in zip(runs, grants, strict=True):
            run.refresh_from_db()
            assert run.state == ("RUNNING" if grant else "CLAIMED")


def test_a_start_in_the_instant_a_hold_ends_starts_or_is_let_go() -> None:
    for _ in range(ROUNDS):
        run = make.run(job("queue"), State.ENQUEUED)
        hold = begin()
        outcomes = at_once(
            partial(end, hold), partial(start.run, run.id, worker="w"), letting_go.due
        )
        assert failures(outcomes) == []
        all_gone()
        run.refresh_from_db()
        assert run.state in ("RUNNING", "CLAIMED")


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_a_moment_claimed_as_a_hold_begins_waits_or_is_parked_at_its_start(overlap: str) -> None:
    for _ in range(ROUNDS):
        of = job(overlap)
        hold, taken = at_once(begin, take)
        assert taken is None
        run = Run.objects.get(job=of)
        assert start.run(run.id, worker="w") is None
        run.refresh_from_db()
        assert (run.state, run.hold_id) == ("WAITING", hold.id)
        end(hold)
        all_gone()
        assert states(of) == ["CLAIMED"]


@pytest.mark.parametrize("choice", ["fire", "drop", "policy"])
def test_a_moment_claimed_as_a_hold_ends_is_not_left_waiting(choice: str) -> None:
    for _ in range(ROUNDS):
        of = job("queue")
        hold = begin()
        outcomes = at_once(partial(end, hold, choice), take, letting_go.due)
        assert failures(outcomes) == []
        all_gone()
        assert states(of) in (["CLAIMED"], ["SKIPPED"])
        assert choice == "drop" or states(of) == ["CLAIMED"]


def test_two_beats_let_each_job_go_once() -> None:
    for _ in range(max(10, ROUNDS // 5)):
        hold = begin()
        those = [job("queue_all", catch_up={"policy": "all"}) for _ in range(8)]
        Due.objects.filter(job=those[0]).delete()  # one whose lock is its own row
        for each in those:
            now = clock.now()
            for second in (1, 2, 3):
                due_at = now.replace(microsecond=second)
                make.run(each, State.WAITING, origin="schedule", due_at=due_at, hold=hold)
        end(hold)
        outcomes = at_once(letting_go.due, letting_go.due, letting_go.due)
        assert failures(outcomes) == []
        all_gone()
        assert sum(outcomes) <= 8
        for each in those:
            assert states(each) == ["CLAIMED", "WAITING", "WAITING"]
            oldest = Run.objects.filter(job=each).order_by("due_at").first()
            assert oldest is not None
            assert oldest.state == "CLAIMED"


def test_a_hold_that_ends_while_another_begins_holds_and_loses_nothing() -> None:
    for _ in range(ROUNDS):
        of = job("queue")
        first = begin()
        take()
        whole = partial(holds.begin, None, "Everything.", by=None)
        outcomes = at_once(partial(end, first), whole, letting_go.due)
        assert failures(outcomes) == []
        run = Run.objects.get(job=of)
        assert run.state in ("WAITING", "CLAIMED")
        letting_go.due()
        assert start.run(run.id, worker="w") is None
        assert states(of) == ["WAITING"]
        end(outcomes[1])
        all_gone()
        assert states(of) == ["CLAIMED"]


def test_of_two_who_begin_and_two_who_end_one_wins() -> None:
    for _ in range(ROUNDS):
        begun = at_once(begin, begin)
        (hold,) = (one for one in begun if isinstance(one, Hold))
        assert [type(error) for error in failures(begun)] == [holds.HeldAlready]
        ended = at_once(partial(end, hold, "drop"), partial(end, hold, "fire"))
        assert [type(error) for error in failures(ended)] == [holds.Over]


def test_a_run_that_ends_as_its_hold_begins_lets_the_next_go_after_it() -> None:
    for _ in range(ROUNDS):
        of = job("queue_all")
        Due.objects.filter(job=of).delete()
        active, waiting = make.run(of, State.RUNNING), make.run(of, State.WAITING)
        hold, settled = at_once(begin, partial(settle.attempt, active.id, 1, DONE))
        assert settled == "SUCCEEDED"
        start.run(waiting.id, worker="w")
        waiting.refresh_from_db()
        assert waiting.state == "WAITING"
        end(hold)
        all_gone()
        waiting.refresh_from_db()
        assert waiting.state == "CLAIMED"


def test_a_replay_and_a_decision_as_a_hold_begins_do_not_start_under_it(operator: User) -> None:
    for _ in range(ROUNDS):
        dead = make.run(job("queue"), State.DEAD)
        rested = make.run(job("queue", idempotent=False), State.REVIEW)
        Due.objects.all().delete()
        calls: list[Any] = [
            begin,
            partial(replay.replay, dead.id, token=None, note="", by=operator),
            partial(deciding.decide, rested.id, "run_again", token=1, note="no", by=operator),
        ]
        outcomes = at_once(*calls)
        assert failures(outcomes) == []
        for run in (dead, rested):
            assert start.run(run.id, worker="w") is None
            run.refresh_from_db()
            assert run.state == "WAITING"
        end(outcomes[0], "drop")
        all_gone()
        assert {Run.objects.get(id=run.id).state for run in (dead, rested)} == {"CLAIMED"}


def work_in(folder: Path) -> None:
    """What a beat does about the database, many ticks long."""
    witness = Witness(folder)
    for _ in range(ROUNDS * 2):
        witness.look()
        witness.beat()


def test_beats_of_one_host_never_take_each_others_heartbeats_for_forgotten(tmp_path: Path) -> None:
    work = partial(work_in, tmp_path)
    assert at_once(work, work, work) == [None, None, None]
    assert not Hold.objects.exists()


def test_beats_that_find_a_restored_database_at_once_hold_it_once(tmp_path: Path) -> None:
    beats = [Witness(tmp_path / name) for name in ("one host", "another host", "a third")]
    for beat in beats:
        beat.look()
    for _ in range(ROUNDS // 5):
        Installation.objects.update(identity="elsewhere")
        assert at_once(*(beat.look for beat in beats)) == [True, True, True]
        hold = Hold.objects.get(ended_at=None)
        assert "Also" not in hold.reason
        end(hold)


def test_let_past_and_let_go_at_once_is_one_start(operator: User) -> None:
    for _ in range(ROUNDS):
        of = job("queue")
        hold = begin()
        take()
        run = Run.objects.get(job=of)
        at_once(
            partial(end, hold, "drop"),
            partial(letting_go.one, run.id, by=operator),
            letting_go.due,
        )
        all_gone()
        run.refresh_from_db()
        past = run.decisions.exists()
        assert run.state == ("CLAIMED" if past else "SKIPPED")
        assert Run.objects.filter(job=of, state__in=ACTIVE).count() == past
