"""Runs that end the process that carries them out, again and again: they end, the worker does not,
and the others do not wait for them (C23)."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(400)]


def test_each_is_counted_before_it_starts_and_ends_dead_or_before_a_person_k103_k104(
    product: Product, team: Team
) -> None:
    product.beat()
    worker = product.worker(concurrency=2)
    product.up()
    soon = clock.now() + timedelta(seconds=1)
    steady = {"every": 1, "anchor": canonical_instant(soon)}
    note = {"type": "task", "name": "story.note"}
    healthy = register(team, "healthy", steady, note, overlap="allow")
    circling = {how: _poison(team, how, idempotent=True) for how in ("killed", "segfault", "exit")}
    once = {how: _poison(team, how, idempotent=False) for how in ("killed", "memory")}

    for job in circling.values():
        run = wait_for(partial(_run, job), "DEAD", seconds=90)
        assert (run.attempt, run.failures) == (3, 3)
        assert _deaths(product, run) == 3  # with one and the same key
        assert [attempt.outcome for attempt in run.attempts.all()] == ["lost"] * 3
    for how, job in once.items():
        run = wait_for(partial(_run, job), "REVIEW", seconds=30)
        assert (run.review_class, run.attempt) == ("failed" if how == "memory" else "unknown", 1)
        assert _deaths(product, run) == 1
    assert not worker.ended
    settled = clock.now()
    done = Run.objects.filter(job=healthy, due_at__lte=settled)
    wait_until(
        lambda: not done.exclude(state="SUCCEEDED").exists(), seconds=30, what="all others ran"
    )
    lag = max(run.started_at - run.due_at for run in done if run.started_at and run.due_at)
    assert lag < timedelta(seconds=15)
    assert not worker.ended


def _poison(team: Team, how: str, *, idempotent: bool) -> Job:
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    task = {"type": "task", "name": "story.die", "kwargs": {"how": how}}
    retries = {"max_attempts": 3, "backoff": 0}
    name = f"{how} {idempotent}"
    return register(team, name, {"at": at}, task, idempotent=idempotent, retries=retries)


def _run(job: Job) -> Run | None:
    return Run.objects.filter(job=job).first()


def _deaths(product: Product, run: Run) -> int:
    return (product.folder / "deaths").read_text().splitlines().count(run.key)
