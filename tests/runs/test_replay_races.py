"""Replays, discards and beats at one instant: each dead run gets one new attempt, whoever asks."""

from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs import clock
from jobs.models import Job, User
from runs import transitions
from runs.decisions import Stale
from runs.letters import batch as replay_batch
from runs.letters import groups as dead_letters
from runs.letters import replay, replaying
from runs.letters.groups import Choice, Differs, Discarded
from runs.models import Decision, Replay, Run
from runs.states import ACTIVE, State
from tests import make
from tests.api import Api
from tests.races import ROUNDS, at_once
from tests.runs.histories import MINUTE, fired, noon
from tests.servers import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

_FEW = max(5, ROUNDS // 4)  # of the races that take several runs each


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def job(**changes: Any) -> Job:
    return make.job(make.team(), name=f"job {clock.now().timestamp()}", **changes)


def dead(of: Job, count: int = 4) -> list[Run]:
    at = noon()
    return [fired(of, at + n * MINUTE, State.DEAD, died_at=at) for n in range(count)]


def choice(runs: list[Run]) -> Choice:
    group = runs[0].error_group
    assert isinstance(group, UUID)
    return Choice(group, clock.now(), len(runs))


def begin(runs: list[Run], **how: Any) -> Replay:
    return replay_batch.begin(choice(runs), **{"by": None, "per_minute": 6000, **how})


def all_at_once(of: Replay) -> None:
    """Its pace lets all of it go."""
    Replay.objects.filter(id=of.id).update(next_at=clock.now() - timedelta(minutes=1))


def kinds(outcomes: list[Any]) -> list[str]:
    return sorted(type(found).__name__ for found in outcomes)


def decided(runs: list[Run]) -> list[int]:
    """How many decisions each has."""
    return [Decision.objects.filter(run=run).count() for run in runs]


def click(team_secret: str, run_id: UUID) -> tuple[int, str]:
    answer = Api(team_secret).post(f"runs/{run_id}/replay/", {"note": "again"})
    return answer.status, str(answer.body.get("run", ""))


def test_of_two_clicks_on_replay_one_counts_and_the_other_is_led_to_it(operator: User) -> None:
    """K127: one new attempt, the second gets 409 with a link to it; who did it is recorded."""
    team = make.team()
    secret = make.token(team, operator)
    for _ in range(ROUNDS):
        (run,) = dead(job(), 1)
        press = partial(click, secret, run.id)
        first, second = sorted(at_once(press, press))
        assert first[0] == 200
        assert (second[0], second[1].endswith(f"/api/v1/runs/{run.id}/")) == (409, True)
        said = Decision.objects.get(run=run)
        assert (said.by, said.decision, said.attempt) == (operator, "replay", run.attempt)
        run.refresh_from_db()
        assert run.state == "CLAIMED"


def test_of_two_replays_of_a_group_one_begins(operator: User) -> None:
    for _ in range(_FEW):
        runs = dead(job())
        press = partial(begin, runs, by=operator)
        outcomes = at_once(press, press)
        assert kinds(outcomes) == ["AlreadyOpen", "Replay"]
        of = Replay.objects.get(error_group=choice(runs).group)
        assert (of.count, of.items.count()) == (4, 4)
        replay_batch.cancel(of.id, by=None)


def test_a_group_is_replayed_or_discarded_and_no_run_both(operator: User) -> None:
    for _ in range(_FEW):
        runs = dead(job())
        of = begin(runs)
        all_at_once(of)
        went, done = at_once(
            partial(replaying.advance, of.id),
            partial(dead_letters.discard, choice(runs), note="of no use", by=operator),
        )
        assert isinstance(went, int) and isinstance(done, Discarded | Differs)
        closed = done.discarded if isinstance(done, Discarded) else 0
        assert went + closed in (len(runs), closed)  # the job's lock may have been the discard's
        all_at_once(of)
        went += replaying.advance(of.id)
        assert went + closed == len(runs)
        assert decided(runs) == [1] * len(runs)
        of.refresh_from_db()
        assert (of.state, of.replayed, of.passed) == ("done", went, closed)


def test_a_replay_of_one_and_of_its_group_make_one_attempt(operator: User) -> None:
    for _ in range(_FEW):
        runs = dead(job())
        of = begin(runs)
        all_at_once(of)
        alone = partial(replay.replay, runs[0].id, token=None, note="", by=operator)
        went, single = at_once(partial(replaying.advance, of.id), alone)
        assert isinstance(single, Run | Stale) and isinstance(went, int)
        all_at_once(of)
        replaying.advance(of.id)
        assert decided(runs) == [1] * len(runs)
        of.refresh_from_db()
        assert of.passed == isinstance(single, Run)


def test_several_beats_replay_each_once_and_no_faster() -> None:
    for _ in range(_FEW):
        runs = dead(job(), 6)
        of = begin(runs, per_minute=1)
        more = replaying.advance_all
        assert sum(at_once(more, more, more)) == 1
        all_at_once(of)
        Replay.objects.filter(id=of.id).update(per_minute=6000)
        assert sum(at_once(more, more, more)) == 5
        assert decided(runs) == [1] * 6


def test_a_serial_job_has_one_active_run_whoever_replays(operator: User) -> None:
    for _ in range(_FEW):
        runs = dead(job(overlap="queue"))
        of = begin(runs)
        all_at_once(of)
        more = partial(replaying.advance, of.id)
        alone = partial(replay.replay, runs[3].id, token=None, note="", by=operator)
        outcomes = at_once(more, more, alone)
        assert not [found for found in outcomes if isinstance(found, Exception)]
        found = Run.objects.filter(id__in=[run.id for run in runs], state__in=ACTIVE)
        assert found.count() == 1
        replay_batch.cancel(of.id, by=None)


def test_after_a_cancel_nothing_more_goes() -> None:
    for _ in range(_FEW):
        runs = dead(job())
        of = begin(runs)
        all_at_once(of)
        went, over = at_once(
            partial(replaying.advance, of.id), partial(replay_batch.cancel, of.id, by=None)
        )
        assert went in (0, 4)
        assert isinstance(over, Replay | replay_batch.Over)
        all_at_once(of)
        assert replaying.advance(of.id) == 0
        of.refresh_from_db()
        assert of.replayed == went == sum(decided(runs))


def test_a_replay_is_approved_or_cancelled_once(operator: User) -> None:
    team = make.team()
    team.two_pairs_of_eyes = True
    team.save()
    second, third = make.operator(team, "second"), make.operator(team, "third")
    for _ in range(_FEW):
        of = begin(dead(job()), by=operator)
        yes = partial(replay_batch.approve, of.id)
        no = partial(replay_batch.cancel, of.id, by=operator)
        at_once(partial(yes, by=second), partial(yes, by=third), no)
        of.refresh_from_db()
        assert of.state == "cancelled", "whoever cancels has the last word"
        assert of.second in (None, second, third)
        assert replaying.advance(of.id) == 0


# ── a beat that dies ─────────────────────────────────────────────────────────────────────


def _killed_after(step: str, of: Replay) -> None:
    """A beat carries the replay on in a process of its own, which is gone after this step."""
    beat = multiprocessing.get_context("fork").Process(target=_die_after, args=(step, of.id))
    beat.start()
    beat.join(timeout=30)
    assert beat.exitcode == -signal.SIGKILL


def _die_after(step: str, replay_id: UUID) -> None:
    _kept.append(connection.connection)  # the parent's, which this process must not close
    connection.connection = None
    where, name = (transitions, "move_dead") if step == "move_dead" else (replaying, step)
    do = getattr(where, name)

    def then_die(*args: Any, **kwargs: Any) -> None:
        do(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(where, name, then_die)
    replaying.advance(replay_id)


_kept: list[Any] = []


@pytest.mark.parametrize("step", ["move_dead", "record", "_go_on", "_set"])
def test_a_beat_killed_in_a_turn_leaves_nothing_half_done(step: str) -> None:
    runs = dead(job())
    of = begin(runs)
    all_at_once(of)
    _killed_after(step, of)
    assert decided(runs) == [0] * 4, "the whole turn is undone"
    wait_until(lambda: replaying.advance(of.id) == 4, seconds=30, what="its locks are free")
    assert decided(runs) == [1] * 4
    of.refresh_from_db()
    assert (of.state, of.replayed) == ("done", 4)
    assert set(Run.objects.filter(id__in=[run.id for run in runs]).values_list("state")) == {
        ("CLAIMED",)
    }
