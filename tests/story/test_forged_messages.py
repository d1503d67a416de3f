"""Whoever can write to the broker reaches no code but the entry task."""

from __future__ import annotations

from datetime import timedelta

import celery
import pytest

from config import brokers
from config.celery import PINNED
from config.celery import app as product_app
from jobs import clock
from jobs.models import Team
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from tests.story.conftest import register
from tests.story.processes import Product, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]


@pytest.mark.parametrize("name", ["story.not_ours", "celery.map", "os.system"])
def test_a_message_that_names_another_task_is_dropped_and_the_worker_goes_on(
    product: Product, team: Team, name: str
) -> None:
    product.beat(), product.worker(concurrency=1)
    product.up()
    forger = celery.Celery("forger", set_as_current=False)
    forger.conf.update(
        PINNED,
        broker_url=brokers.address(product.broker_url),
        broker_transport_options=brokers.transport_options(product.broker_url),
        task_queues=product_app.conf.task_queues,
    )
    forger.send_task(name, queue="default")
    at = canonical_instant(clock.now() + timedelta(seconds=1))
    job = register(team, "after", {"at": at}, {"type": "task", "name": "story.note"})

    run = wait_for(lambda: Run.objects.filter(job=job).first(), "SUCCEEDED", seconds=20)

    assert (product.folder / "notes").read_text() == f"{run.key}\n"
