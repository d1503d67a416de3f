"""Faults that need no point in the code: the database cut off, messages doubled and lost."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest

from jobs.models import Job
from runs.models import Run
from runs.review import deciding
from runs.states import State
from tests import make
from tests.crash import stage
from tests.crash.cast import BOTH_KINDS, due_now
from tests.crash.stage import Played
from tests.proxy import Proxy, address_of
from tests.servers import wait_until
from tests.story.processes import ExampleTarget


def _sent(url: str, jobs: list[Job]) -> list[Run]:
    stage.send(url, [job.id for job in jobs])
    return list(Run.objects.filter(job__in=jobs).order_by("-idempotent"))


def _healed(url: str, jobs: list[Job]) -> None:
    assert stage.forked(partial(stage.heal, url, [job.id for job in jobs])).wait() == 0


def _ended(workers: list[Played]) -> list[int]:
    return [worker.wait() for worker in workers]


def _ends(runs: list[Run]) -> list[tuple[str, int]]:
    for run in runs:
        run.refresh_from_db()
    return [(run.state, run.attempt) for run in runs]


def test_a_worker_cut_off_from_the_database_during_its_effect_c21(
    stage_url: str, target: ExampleTarget
) -> None:
    """It renews nothing and so loses its runs: one is done again, one is put before a person.
    What it has to tell comes when it is let in again, as evidence."""
    jobs = due_now(*BOTH_KINDS, url=f"{target.url}/slow?seconds=3")
    runs = _sent(stage_url, jobs)
    with Proxy(address_of(stage_url)) as proxy:
        workers = [stage.forked(stage.work, database=_through(proxy, stage_url)) for _ in runs]
        for run in runs:
            called = partial(target.entries, run.key, "in")
            wait_until(called, seconds=30, what="the target is called")
        proxy.cut()
        wait_until(
            lambda: stage.forked(partial(stage.beat, stage_url)).wait() == 0 and _gone(runs),
            seconds=30,
            what="the leases are over",
        )
        assert _ends(runs)[1] == (State.REVIEW, 1)
        _healed(stage_url, jobs)
        proxy.heal()
        assert _ended(workers) == [0, 0]
    assert _ends(runs)[0][0] == State.SUCCEEDED
    assert _ends(runs)[1] == (State.REVIEW, 1)
    for run in runs:
        assert len(target.entries(run.key, "acted")) == 1
        first = run.attempts.get(number=1)
        assert (first.outcome, first.late["kind"] if first.late else None) == ("lost", "succeeded")


def _through(proxy: Proxy, url: str) -> str:
    parts = urlsplit(url)
    return f"postgresql://{parts.username}@127.0.0.1:{proxy.port}{parts.path}"


def _gone(runs: list[Run]) -> bool:
    return not Run.objects.filter(id__in=[run.id for run in runs], state="RUNNING").exists()


def test_of_five_messages_that_come_at_once_one_starts_c30_k100(
    stage_url: str, target: ExampleTarget
) -> None:
    """So too where the broker gives a message out again because its worker is long at it."""
    jobs = due_now(*BOTH_KINDS, url=f"{target.url}/slow?seconds=0.3")
    runs = _sent(stage_url, jobs)
    stage.double_messages(5)
    assert _ended([stage.forked(stage.work) for _ in range(4)]) == [0] * 4
    assert _ends(runs) == [(State.SUCCEEDED, 1)] * 2
    assert [len(target.entries(run.key, "in")) for run in runs] == [1, 1]


def test_a_broker_that_forgets_everything_c31(stage_url: str, target: ExampleTarget) -> None:
    jobs = due_now(*BOTH_KINDS * 5, url=target.url)
    runs = _sent(stage_url, jobs)
    stage.lose_messages()
    _healed(stage_url, jobs)
    assert _ends(runs) == [(State.SUCCEEDED, 1)] * 10
    assert [len(target.entries(run.key, "in")) for run in runs] == [1] * 10
    assert {run.sends for run in runs} == {2}


@pytest.mark.parametrize("die", [False, True])
def test_a_decision_is_carried_out_once_whoever_dies_after_it_c27(
    stage_url: str, target: ExampleTarget, die: bool
) -> None:
    """Whoever decided is killed before anything is sent: the beat sends what has been decided."""
    (job,) = due_now({"idempotent": False}, url=f"{target.url}/")
    (run,) = _sent(stage_url, [job])
    struck = stage.forked(stage.work, ["prepare.failed:exception"])
    assert struck.wait() == 0
    assert _ends([run]) == [(State.REVIEW, 1)]
    by = make.operator(make.team(), f"decides {run.id}")
    with stage.forked(partial(_decide, run, by, die)) as decided:
        assert bool(decided.wait()) == die
    _healed(stage_url, [job])
    assert _ends([run]) == [(State.SUCCEEDED, 2)]
    assert len(target.entries(run.key, "acted")) == 1


def _decide(run: Run, by: Any, die: bool) -> None:
    deciding.decide(run.id, "run_again", token=1, note="nothing was sent", by=by)
    if die:
        os.kill(os.getpid(), signal.SIGKILL)
