"""Every process behind a pool by transactions: nothing depends on what a session remembers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from jobs import clock
from jobs.models import Team
from runs.models import Run
from runs.states import State
from tests import servers
from tests.proxy import Proxy, address_of
from tests.servers import wait_until
from tests.story import many
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]

JOBS, ROUNDS, EVERY = 40, 4, 2
# What the pool keeps back of a session's start is said to the database itself.
_BOUNDS = {
    "statement_timeout": "20s",
    "lock_timeout": "4s",
    "idle_in_transaction_session_timeout": "30s",
    "timezone": "UTC",
}


@pytest.fixture
def said_to_the_database(product: Product) -> None:
    """To be named before the pool, whose connections stay."""
    with connection.cursor() as cursor:
        name = connection.settings_dict["NAME"]
        for setting, value in _BOUNDS.items():
            cursor.execute(f"alter database {name} set {setting} = '{value}'")


@pytest.fixture
def pool(product: Product, tmp_path: Path) -> Iterator[servers.PgBouncer]:
    servers.require("pgbouncer")
    database = urlsplit(product.database_url).path.lstrip("/")
    # The server that comes along lets its own user in, by its socket; the pool has another.
    with (
        Proxy(address_of(product.database_url)) as proxy,
        servers.running(servers.PgBouncer(tmp_path, proxy.port, database)) as pool,
    ):
        yield pool


@pytest.fixture
def pooled(product: Product, pool: servers.PgBouncer) -> Iterator[Product]:
    """The product's processes behind the pool; the test itself looks past it."""
    pooled = Product(product.folder, pool.url, product.broker_url)
    try:
        yield pooled
    finally:
        pooled.end()
        print(pooled.logs())


def test_two_beats_and_a_worker_behind_a_pool_run_each_moment_once(
    said_to_the_database: None, pooled: Product, team: Team
) -> None:
    """K142."""
    pooled.beat(), pooled.beat(), pooled.worker()
    pooled.up()
    first = clock.now() + timedelta(seconds=3)
    jobs = many.jobs(team, [first] * JOBS, every=EVERY)
    moments = [first + n * timedelta(seconds=EVERY) for n in range(ROUNDS)]
    wanted = {(job.id, moment) for job in jobs for moment in moments}
    wait_until(lambda: _done() >= wanted, seconds=60, what="every moment is done")
    rows = Run.objects.filter(due_at__in=moments).values_list("job_id", "due_at", "attempt")
    assert len(rows) == len(wanted) and {attempt for *_, attempt in rows} == {1}
    assert pooled.errors() == []


def test_a_pool_that_keeps_the_time_outs_back_is_refused_with_the_remedy(pooled: Product) -> None:
    """K142."""
    beat = pooled.beat()
    wait_until(lambda: beat.ended, seconds=30, what="the beat refuses to start")
    said = beat.log.read_text()
    assert "lock_timeout, statement_timeout, " in said and " is not in force: a pooler" in said
    assert "Traceback" not in said


def _done() -> set[tuple[object, object]]:
    done = Run.objects.filter(state=State.SUCCEEDED, due_at__isnull=False)
    return set(done.values_list("job_id", "due_at"))
