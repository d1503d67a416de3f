"""A message that RabbitMQ has delivered too often raises an alarm, once, and nothing else."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import celery
import kombu
import pytest
from structlog.testing import capture_logs

from config.celery import app as product
from runs import rescue
from runs.channels.messages import Kind
from runs.models import Message
from runs.publishing.choice import publisher
from tests import make, servers
from tests.servers import wait_until

LIMIT = 20


@pytest.mark.django_db(transaction=True)
def test_a_message_that_ends_each_worker_is_an_alarm(rabbitmq: servers.RabbitMQ) -> None:
    make.channel(None, Kind.GIVEN_UP)
    app = celery.Celery("of-the-tests", broker=rabbitmq.url, set_as_current=False)
    app.conf.update(task_queues=product.conf.task_queues)
    ours = publisher(app)
    rescue.given_up_messages(ours)  # those of other tests
    run_id = uuid4()
    ours.send("default", [run_id], within=10)
    for _ in range(LIMIT + 1):
        take_and_die(rabbitmq.url, run_id)
    with capture_logs() as logs:
        wait_until(lambda: rescue.given_up_messages(ours), seconds=30, what="the alarm")
    assert [line["run"] for line in logs] == [str(run_id)]
    (told,) = Message.objects.all()
    assert (told.kind, told.reason) == (Kind.GIVEN_UP, f"Its run: {run_id}.")
    assert rescue.given_up_messages(ours) == 0
    assert ours.waiting("default", within=10) == 0
    ours.close()


def take_and_die(url: str, run_id: UUID) -> None:
    """A worker that receives the message and is gone before it acknowledges."""
    with kombu.Connection(url) as connection:
        queue = kombu.Queue("default")(connection.default_channel)
        found: list[Any] = []

        def got() -> bool:
            found[:] = [queue.get()]
            return found[0] is not None

        wait_until(got, seconds=30, what="a message")
        assert found[0].headers["id"] == str(run_id)
