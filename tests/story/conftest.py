"""One product per story: real processes, a database of its own, and the cast's jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django_celery_beat.models import PeriodicTask
from pytest_django.plugin import DjangoDbBlocker

from config import brokers
from jobs import clock, editing
from jobs.definitions import definitions
from jobs.definitions.definitions import Known
from jobs.models import Job, Team
from jobs.targets.addresses import AllowList
from tests import virtual_clock
from tests.model import conformance
from tests.story.processes import Product, empty_queue, on_database
from tests.virtual_clock import VirtualClock

FULL = os.environ.get("ONEBEAT_STORY") == "full"
LOOPBACK = "127.0.0.1/32"  # where the example target listens
KNOWN = Known({"story.note", "story.work", "story.die"}, {"default"}, AllowList.parse(LOOPBACK))


@pytest.fixture
def broker_url(product_url: str) -> str:
    """The broker of this test run: BROKER_URL, or PGMQ in the test's own database."""
    return os.environ.get("BROKER_URL") or brokers.pgmq_url(product_url)


@pytest.fixture
def product(
    product_url: str,
    broker_url: str,
    tmp_path: Path,
    django_db_blocker: DjangoDbBlocker,
    request: pytest.FixtureRequest,
) -> Iterator[Product]:
    """The product, nothing of it started; Django's queries of the test go to its database."""
    empty_queue(broker_url)
    product = Product(tmp_path, product_url, broker_url)
    with on_database(product_url), django_db_blocker.unblock():
        # The platform's own jobs have their minutes, in which no story would be alone.
        PeriodicTask.objects.all().delete()
        try:
            yield product
        finally:
            product.end()
            # Shown by pytest where the test failed, dropped where it passed.
            print(product.logs())
        assert not conformance.of_logs(product.told()).unexplained


@pytest.fixture
def set_clock(product_url: str) -> Iterator[VirtualClock]:
    """To be named before `product`, so that its connections live by this clock."""
    with virtual_clock.installed(product_url) as virtual:
        yield virtual


@pytest.fixture
def team(product: Product) -> Team:
    return Team.objects.create(slug="payments", name="Payments")


def register(team: Team, name: str, schedule: object, target: object, **more: Any) -> Job:
    """A job as the API would register it."""
    data = {"name": name, "schedule": schedule, "target": target, "idempotent": True, **more}
    definition = definitions.read(data, now=clock.now(), known=KNOWN)
    return editing.register(team, definition, by=None)
