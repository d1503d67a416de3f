"""The crash matrix of tests/crash with the whole product: Celery's own beats and workers, a real
broker, SIGKILL, and every lease waited for. Two strikes by default; ONEBEAT_STORY=full plays all.
"""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from functools import partial
from typing import Any

import psutil
import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.faults import Action
from runs.models import Run
from tests.crash.table import Case, cases
from tests.crash.test_matrix import check
from tests.servers import Child, wait_until
from tests.story.conftest import FULL, register
from tests.story.processes import ExampleTarget, Product, empty_queue, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(400)]

BY_DEFAULT = {"C06-send.before_mark-kill-I", "C17-effect.answered-hang-N"}
CASES = [case for case in cases() if FULL or case.name in BY_DEFAULT]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_left_of_the_whole_product_is_right(
    product: Product, team: Team, broker_url: str, case: Case
) -> None:
    target = product.target()
    struck = _armed(product, case)
    product.up()
    job = _job(team, target, case)
    if case.point == "rescue.before_mark":
        wait_for(partial(_run, job), "ENQUEUED", seconds=30)
        empty_queue(broker_url)
    wait_until(partial(_says, struck, "fault.struck"), seconds=60, what="the strike")
    if struck.ended:
        product.children.remove(struck)
    product.beat(), product.worker()
    wait_for(partial(_run, job), case.right.state, seconds=120)
    if case.action is Action.HANG:
        _let_go_on(struck)
        wait_until(lambda: _late(job) == case.right.late, seconds=60, what="late evidence")
    check(case, job, target)


def _armed(product: Product, case: Case) -> Child:
    """The process that will be struck, and what it needs to come to that point."""
    strike: dict[str, Any] = {"ONEBEAT_FAULTS": f"{case.point}:{case.action}", "ONEBEAT_DEBUG": "1"}
    if case.who == "beat":
        return product.beat(**strike)
    product.beat()
    return product.worker(concurrency=1, **strike)


def _job(team: Team, target: ExampleTarget, case: Case) -> Job:
    soon = canonical_instant(clock.now() + timedelta(seconds=1))
    path = "/drop" if case.point == "retry.after_commit" else "/"
    return register(
        *(team, case.name, {"every": 86_400, "anchor": soon}),
        {"type": "http", "method": "POST", "url": f"{target.url}{path}"},
        idempotent=case.idempotent,
        retries={"max_attempts": 5, "backoff": 0},
    )


def _run(job: Job) -> Run | None:
    return Run.objects.filter(job=job).first()


def _late(job: Job) -> bool:
    return Run.objects.filter(job=job, attempts__late__isnull=False).exists()


def _says(child: Child, event: str) -> bool:
    return event in child.log.read_text(errors="replace")


def _let_go_on(struck: Child) -> None:
    parent = psutil.Process(struck.pid)
    for process in (parent, *parent.children(recursive=True)):
        if process.status() == psutil.STATUS_STOPPED:
            os.kill(process.pid, signal.SIGCONT)
