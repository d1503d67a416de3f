"""PostgreSQL is killed under load and started again: everything goes on, and nobody restarts
anything (C32, K135)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from config import embedded, pgmq_schema
from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.servers import wait_until
from tests.story.conftest import FULL, register
from tests.story.processes import ROOT, Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(400)]

# Seconds from the server's return until a run that fell due after it has run; held in the full
# play alone, which wants a quiet machine.
AT_WORK = 10 if FULL else 60
TARGETS = {"type": "task", "name": "story.note"}


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[embedded.Server]:
    """A server that this test may kill."""
    server = embedded.start(tmp_path)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def product_url(own_server: embedded.Server) -> str:
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    env = {**os.environ, "DATABASE_URL": own_server.url}
    subprocess.run(migrate, cwd=ROOT, check=True, env=env)
    pgmq_schema.install(own_server.url)
    return own_server.url


def test_everything_is_at_work_again_soon_and_each_moment_ran(
    product: Product, team: Team, own_server: embedded.Server, tmp_path: Path
) -> None:
    for start in (product.beat, product.beat, product.worker):
        start()
    product.up()
    first = clock.now() + timedelta(seconds=2)
    jobs = [_each_second(team, first, idempotent) for idempotent in (True, True, False)]
    ran = Run.objects.filter(job__in=jobs, state="SUCCEEDED")
    wait_until(lambda: ran.count() >= 9, seconds=40, what="they run")

    assert own_server.pid
    os.kill(own_server.pid, signal.SIGKILL)
    wait_until(lambda: own_server.pid is None, seconds=30, what="the server is gone")
    embedded.start(tmp_path)
    back = _now()
    after = Run.objects.filter(job__in=jobs, due_at__gt=back, state="SUCCEEDED")
    wait_until(lambda: after.count() >= 3, seconds=AT_WORK, what="all are at work again")

    until = _now()
    owed = 3 * ((until - first) // timedelta(seconds=1) + 1)
    runs = Run.objects.filter(job__in=jobs, due_at__lte=until)
    wait_until(
        lambda: runs.filter(state__in=("SUCCEEDED", "REVIEW")).count() >= owed,
        seconds=60,
        what="every moment is settled",
    )
    assert not [child.log.name for child in product.children if child.ended]
    _judge(product, list(runs), owed)


def _each_second(team: Team, first: datetime, idempotent: bool) -> Job:
    schedule = {"every": 1, "anchor": canonical_instant(first)}
    name = f"{idempotent} {Job.objects.count()}"
    return register(
        *(team, name, schedule, TARGETS),
        idempotent=idempotent,
        overlap="allow",
        block_on_review=False,
        catch_up={"policy": "all", "window": 3600, "limit": 1000},
        retries={"max_attempts": 10, "backoff": 0},
    )


def _now() -> datetime:
    """The database's time, once it tells it."""
    found: list[datetime] = []

    def told() -> bool:
        try:
            found.append(clock.now())
        except Exception:
            connection.close()
            raise
        return True

    wait_until(told, seconds=30, what="the database answers")
    return found[-1]


def _judge(product: Product, runs: list[Run], owed: int) -> None:
    """One run for each moment; what may not be repeated was begun once, or a person is asked."""
    assert len(runs) == owed == len({(run.job_id, run.due_at) for run in runs})
    begun = Counter((product.folder / "notes").read_text().splitlines())
    for run in runs:
        times = begun[run.key]
        if run.state == "REVIEW":
            assert not run.idempotent and times <= 1
        elif run.idempotent:
            assert 1 <= times <= run.attempt
        else:
            assert times == 1
