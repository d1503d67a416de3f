"""The broker goes away while jobs fall due each second: nothing is lost, the beats go on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

import pytest

from config import brokers
from jobs import clock
from jobs.models import Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.proxy import Proxy, address_of
from tests.servers import Server, wait_until
from tests.story.conftest import FULL, register
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(240)]

AWAY = timedelta(seconds=20 if FULL else 8)
JOBS = 5
# Half a minute is promised, and usual where nobody else is at work; on a machine that others use it
# takes longer, and is none the worse for it.
SOON = 90
# A beat waits at most so long for an answer of the broker before it looks at what is due again.
STILL_CLAIMING = timedelta(seconds=7)


class Broker(Protocol):
    """A broker that a test can take away and give back."""

    url: str

    def take_away(self) -> None: ...
    def give_back(self) -> None: ...


class OwnServer:
    """RabbitMQ or Redis, stopped and started."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self.take_away = server.stop
        self.give_back = server.start


class PgmqBehindAProxy:
    """PGMQ lives in the product's database, so that only its own connections are cut."""

    def __init__(self, database_url: str, proxy: Proxy) -> None:
        user = urlsplit(database_url).username
        name = urlsplit(database_url).path
        self.url = brokers.pgmq_url(f"postgresql://{user}@127.0.0.1:{proxy.port}{name}")
        self.take_away = proxy.cut
        self.give_back = proxy.heal


@pytest.fixture(params=["pgmq", "rabbitmq", "redis"])
def broker(request: pytest.FixtureRequest, product_url: str) -> Iterator[Broker]:
    if request.param != "pgmq":
        yield OwnServer(request.getfixturevalue(request.param))
        return
    with Proxy(address_of(product_url)) as proxy:
        yield PgmqBehindAProxy(product_url, proxy)


@pytest.fixture
def broker_url(broker: Broker) -> str:
    return broker.url


def test_what_falls_due_meanwhile_runs_soon_after_its_return(
    product: Product, team: Team, broker: Broker
) -> None:
    product.beat(), product.beat(), product.worker()
    product.up()
    first = clock.now() + timedelta(seconds=2)
    _due_each_second(team, first)
    wait_until(lambda: _succeeded() >= JOBS, seconds=30, what="the jobs run")

    away = clock.now()
    broker.take_away()
    try:
        wait_until(lambda: clock.now() > away + AWAY, seconds=40, what="the broker was away")
        claimed = _claimed_until(clock.now())
    finally:
        broker.give_back()
    back = clock.now()

    assert claimed >= JOBS * (AWAY.total_seconds() - 4)
    wait_until(lambda: _all_ran(first, back), seconds=SOON, what="all that fell due has run")
    _one_effect_each(product, first, back)
    assert _longest_wait_for_a_claim(away, back) < STILL_CLAIMING


def _due_each_second(team: Team, first: datetime) -> None:
    schedule = {"every": 1, "anchor": canonical_instant(first)}
    for number in range(JOBS):
        task = {"type": "task", "name": "story.note"}
        register(
            team,
            f"tick {number}",
            schedule,
            task,
            overlap="allow",
            catch_up={"policy": "all"},
        )


def _succeeded() -> int:
    return Run.objects.filter(state="SUCCEEDED").count()


def _claimed_until(until: datetime) -> int:
    """Runs that were written though they could not be sent."""
    return Run.objects.filter(created_at__lte=until, state="CLAIMED").count()


def _all_ran(first: datetime, until: datetime) -> bool:
    """Every job's every moment in [first, until] has a run, and all of them succeeded."""
    moments = (until - first) // timedelta(seconds=1) + 1
    ran = Run.objects.filter(due_at__gte=first, due_at__lte=until, state="SUCCEEDED")
    return ran.count() == JOBS * moments


def _one_effect_each(product: Product, first: datetime, until: datetime) -> None:
    notes = (product.folder / "notes").read_text().splitlines()
    keys = Run.objects.filter(due_at__gte=first, due_at__lte=until).values_list("key", flat=True)
    assert [notes.count(key) for key in keys] == [1] * len(keys)


def _longest_wait_for_a_claim(since: datetime, until: datetime) -> timedelta:
    runs = Run.objects.filter(due_at__gte=since, due_at__lte=until)
    return max(run.created_at - run.due_at for run in runs if run.due_at is not None)
