"""The broker loses everything under load, and is restarted again and again: every waiting run is
sent again, and runs once (C31)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import kombu
import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.servers import RabbitMQ, Redis, wait_until
from tests.story.conftest import register
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(400)]

JOBS = 24
Server = RabbitMQ | Redis


@pytest.fixture(params=["rabbitmq", "redis"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def broker_url(server: Server) -> str:
    return server.url


def _work(team: Team, name: str, seconds: float) -> Job:
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    task = {"type": "task", "name": "story.work", "kwargs": {"seconds": seconds}}
    return register(team, name, {"at": at}, task, retries={"max_attempts": 5, "backoff": 0})


def _succeeded(jobs: list[Job]) -> int:
    return Run.objects.filter(job__in=jobs, state="SUCCEEDED").count()


def _begun(product: Product) -> Counter[str]:
    path = product.folder / "work"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(line.split()[0] for line in lines if " begins " in line)


def test_what_waited_in_it_is_sent_again_and_runs_once_k106(
    product: Product, team: Team, server: Server
) -> None:
    product.beat()
    worker = product.worker(concurrency=2)
    product.up()
    jobs = [_work(team, f"job {number}", 0.3) for number in range(JOBS)]
    wait_until(lambda: _succeeded(jobs) >= 2, seconds=30, what="they are at it")
    server.wipe()
    assert _succeeded(jobs) < JOBS, "there was nothing left to lose"
    wait_until(lambda: _succeeded(jobs) == JOBS, seconds=60, what="every run has run")
    runs = list(Run.objects.filter(job__in=jobs))
    assert _begun(product) == Counter({run.key: run.attempt for run in runs})
    assert {run.attempt for run in runs} == {1}

    for _ in range(2 if isinstance(server, Redis) else 1):
        server.stop()
        server.start()
    late = [_work(team, f"late {number}", 0) for number in range(10)]
    wait_until(lambda: _succeeded(late) == 10, seconds=60, what="the worker takes messages again")
    assert not worker.ended


@pytest.fixture
def older(redis: Redis) -> Callable[[], int]:
    """Makes Redis take what workers hold for long unacknowledged; how many messages."""

    def age() -> int:
        with kombu.Connection(redis.url) as connection:
            client: Any = connection.default_channel.client  # type: ignore[attr-defined]
            held = client.zrange("unacked_index", 0, -1)
            for tag in held:
                client.zadd("unacked_index", {tag: time.time() - 86_400})
            return len(held)

    return age


@pytest.mark.parametrize("server", ["redis"], indirect=True)
def test_what_redis_gives_out_again_while_it_runs_is_not_run_again_k100(
    product: Product, team: Team, server: Server, older: Callable[[], int]
) -> None:
    product.beat()
    product.worker(concurrency=1)
    product.up()
    job = _work(team, "long", 100)
    wait_until(lambda: _begun(product), seconds=30, what="it has begun")
    assert older() == 1
    product.worker(concurrency=1)  # gives out what is overdue ten seconds after its start
    refused = partial(_says, product, "run.not_started")
    wait_until(refused, seconds=60, what="the other worker got it, and did not start it")
    run = Run.objects.get(job=job)
    assert (run.state, run.attempt) == ("RUNNING", 1)
    assert _begun(product) == Counter({run.key: 1})


def _says(product: Product, event: str) -> bool:
    return any(line.get("event") == event for line in product.lines())
