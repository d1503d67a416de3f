"""A worker is killed in the middle of a run: what happens next is decided by the job's answer
to «may it be repeated?» (C16, K110)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psutil
import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs import start
from runs.models import Run
from runs.review import queue
from runs.review.facts import Phase
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import ExampleTarget, Product, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]


def _killed_during_a_run(
    product: Product, team: Team, target: ExampleTarget, *, idempotent: bool
) -> Job:
    """The job's run had begun at the target when its worker was killed; another one is up."""
    product.beat()
    worker = product.worker(concurrency=1)
    product.up()
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    http = {"type": "http", "url": f"{target.url}/slow?seconds=2"}
    retries = {"max_attempts": 10, "backoff": 1, "cap": 2}
    more: dict[str, Any] = {"retries": retries, "pause_after_reviews": 1}
    job = register(team, "close", {"at": at}, http, idempotent=idempotent, **more)
    run = wait_for(lambda: Run.objects.filter(job=job).first(), "RUNNING", seconds=15)
    wait_until(lambda: target.entries(run.key, "in"), seconds=30, what="the target was called")
    worker.kill()
    assert Run.objects.get(job=job).state == "RUNNING"
    product.children.remove(worker)
    product.worker()
    product.up()
    return job


def test_a_worker_whose_idle_processes_are_killed_loses_nothing(
    product: Product, team: Team
) -> None:
    product.beat()
    worker = product.worker(concurrency=2)
    product.up()
    idle = psutil.Process(worker.pid).children()
    wait_until(lambda: len(idle) == 2, seconds=30, what="two processes of the pool")
    for process in idle:  # one of them holds the lock of the pipe
        process.kill()
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    job = register(team, "close", {"at": at}, {"type": "task", "name": "story.note"})

    def over() -> bool:
        return Run.objects.filter(job=job, state="SUCCEEDED").exists() or bool(worker.ended)

    wait_until(over, seconds=60, what="the worker recovered, or ended itself")
    if worker.ended:  # so it does where all processes share one pipe: PGMQ
        product.children.remove(worker)
        product.worker()
    run = wait_for(lambda: Run.objects.filter(job=job).first(), "SUCCEEDED", seconds=40)

    assert (product.folder / "notes").read_text() == f"{run.key}\n"


def test_an_idempotent_run_is_attempted_again_with_the_same_key_and_succeeds(
    product: Product, team: Team
) -> None:
    target = product.target()
    job = _killed_during_a_run(product, team, target, idempotent=True)

    run = wait_for(lambda: Run.objects.get(job=job), "SUCCEEDED", seconds=45)

    calls = target.entries(run.key, "in")
    assert len(calls) == run.attempt >= 2  # each attempt came with this very key
    assert len(target.entries(run.key, "acted")) == 1
    assert next(attempt.outcome for attempt in run.attempts.all()) == "lost"
    assert run.failures == 1  # «still at work» is no failure
    assert Run.objects.count() == 1


def test_a_run_that_may_not_be_repeated_is_put_before_a_person_and_never_called_again(
    product: Product, team: Team
) -> None:
    target = product.target()
    job = _killed_during_a_run(product, team, target, idempotent=False)

    run = wait_for(lambda: Run.objects.get(job=job), "REVIEW", seconds=35)

    assert (run.review_class, run.effect) == ("unknown", "maybe")
    assert run.reason and run.attempt == 1
    wait_until(
        lambda: target.entries(run.key, "acted"), seconds=30, what="the target went on and acted"
    )
    assert len(target.entries(run.key, "in")) == 1
    assert Run.objects.get(job=job).state == "REVIEW"
    known = queue.evidence(run)
    assert (known.phase, known.bytes_sent) == (Phase.BEGUN, None)
    assert known.lease_until is not None and known.under_way_until is not None
    wait_until(
        lambda: "1 of its runs wait" in Job.objects.get(id=job.id, paused=True).paused_reason,
        seconds=30,
        what="the job paused itself",
    )


def test_a_run_killed_before_its_effect_is_sent_again_whatever_the_job_says(
    product: Product, team: Team
) -> None:
    """Nothing had begun, so that even a run that may not be repeated needs no person."""
    product.beat()
    product.up()
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    task = {"type": "task", "name": "story.note"}
    job = register(team, "note", {"at": at}, task, idempotent=False)
    run = wait_for(lambda: Run.objects.filter(job=job).first(), "ENQUEUED", seconds=15)
    _start_and_die(run)

    product.worker()
    product.up()
    again = wait_for(lambda: Run.objects.get(job=job), "SUCCEEDED", seconds=40)

    assert (again.attempt, again.failures) == (2, 1)
    assert (product.folder / "notes").read_text().splitlines() == [run.key]


def _start_and_die(run: Run) -> None:
    """What a worker leaves that is killed between its start and its intent."""
    assert start.run(run.id, worker="killed") is not None
