"""A worker is asked to end, warm and cold, in the middle of a run and just as one is sent (C24)."""

from __future__ import annotations

import signal
from datetime import timedelta
from functools import partial

import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.servers import wait_until
from tests.story.conftest import FULL, register
from tests.story.processes import Product, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(3600 if FULL else 400)]

ROUNDS = 200 if FULL else 2


def _job(team: Team, name: str, seconds: float, *, idempotent: bool = True) -> Job:
    at = canonical_instant(clock.now() + timedelta(seconds=0.5))
    task = {"type": "task", "name": "story.work", "kwargs": {"seconds": seconds}}
    retries = {"max_attempts": 5, "backoff": 0}
    return register(team, name, {"at": at}, task, idempotent=idempotent, retries=retries)


def _lines(product: Product, job: Job, what: str) -> int:
    path = product.folder / "work"
    text = path.read_text() if path.exists() else ""
    return sum(f"{job.id}:" in line and f" {what} " in line for line in text.splitlines())


def _begun(product: Product, *jobs: Job) -> bool:
    return all(_lines(product, job, "begins") for job in jobs)


def _run(job: Job) -> Run | None:
    return Run.objects.filter(job=job).first()


def test_a_warm_end_lets_the_run_finish_and_nothing_that_was_sent_is_lost_k105_k107(
    product: Product, team: Team
) -> None:
    product.beat()
    worker = product.worker(concurrency=1)
    product.up()
    job = _job(team, "long", 4)  # longer than the lease
    wait_until(lambda: _begun(product, job), seconds=30, what="it has begun")
    worker.process.terminate()
    other = product.worker(concurrency=1)
    run = wait_for(partial(_run, job), "SUCCEEDED", seconds=30)
    assert run.attempt == 1
    assert (_lines(product, job, "begins"), _lines(product, job, "ends")) == (1, 1)

    product.up()
    sent: list[Job] = []
    for number in range(ROUNDS):  # sent at the very time at which the worker is asked to end
        sent += [_job(team, f"short {number} {each}", 0) for each in range(5)]
        wait_until(
            Run.objects.filter(job=sent[-1], state__in=("ENQUEUED", "SUCCEEDED")).exists,
            seconds=30,
            what="they are sent",
        )
        other.process.terminate()
        other = product.worker(concurrency=1)
    done = Run.objects.filter(job__in=sent, state="SUCCEEDED")
    wait_until(lambda: done.count() == len(sent), seconds=60, what="every one has run")
    assert [_lines(product, job, "ends") for job in sent] == [1] * len(sent)


def test_a_cold_end_is_a_worker_lost(product: Product, team: Team) -> None:
    product.beat()
    worker = product.worker(concurrency=2, ONEBEAT_SOFT_SHUTDOWN="0")
    product.up()
    safe, unsafe = _job(team, "safe", 4), _job(team, "unsafe", 4, idempotent=False)
    wait_until(lambda: _begun(product, safe, unsafe), seconds=30, what="both have begun")
    worker.process.send_signal(signal.SIGQUIT)
    worker.process.wait(20)
    product.children.remove(worker)
    product.worker()
    rested = wait_for(partial(_run, unsafe), "REVIEW", seconds=30)
    # The handler may see a SystemExit, and the run then say so before its process ends.
    assert (rested.review_class, rested.effect) in [("unknown", "maybe"), ("failed", "maybe")]
    again = wait_for(partial(_run, safe), "SUCCEEDED", seconds=40)
    assert again.attempt == 2
    run = Run.objects.get(job=unsafe)
    assert (run.state, run.attempt, _lines(product, unsafe, "begins")) == ("REVIEW", 1, 1)


def test_short_runs_do_not_wait_behind_a_long_one_k113(product: Product, team: Team) -> None:
    product.beat()
    for _ in range(2):
        product.worker(concurrency=1)
    product.up()
    long = _job(team, "long", 60)
    wait_until(lambda: _begun(product, long), seconds=30, what="it has begun")
    short = [_job(team, f"short {number}", 0.2) for number in range(5)]
    done = Run.objects.filter(job__in=short, state="SUCCEEDED")
    wait_until(lambda: done.count() == 5, seconds=30, what="the short ones have run")
    ends = [(run.finished_at, run.due_at) for run in done]
    lags = [ended - due for ended, due in ends if ended and due]
    assert max(lags) < timedelta(seconds=10)
    assert Run.objects.get(job=long).state == "RUNNING"
