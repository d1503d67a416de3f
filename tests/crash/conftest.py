"""One stage for the whole matrix: a database with PGMQ in it, and a target with a ledger."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.test import override_settings
from django_celery_beat.models import PeriodicTask
from pytest_django.plugin import DjangoDbBlocker

from tests.conftest import copied
from tests.crash.stage import QUEUES
from tests.story.processes import ExampleTarget, Product, on_database


@pytest.fixture(scope="module")
def stage_url(template_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Django's queries of the module go to this database."""
    with copied(template_database) as url, on_database(url), django_db_blocker.unblock():
        PeriodicTask.objects.all().delete()  # the platform's own jobs have their minutes
        with psycopg.connect(url, autocommit=True) as broker:
            for queue in QUEUES:
                broker.execute("select pgmq.create(%s)", [queue])
        with override_settings(EGRESS_ALLOW="127.0.0.1/32", LEASE=1.5):
            yield url


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleTarget]:
    """A process that honours keys and has each request and each effect on disk first."""
    product = Product(tmp_path_factory.mktemp("target"), "", "")
    try:
        yield product.target()
    finally:
        product.end()
