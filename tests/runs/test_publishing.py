"""Our messages are Celery's own, and what is not ours is refused by the worker's one task."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import celery
import pytest
from kombu import Connection, Producer
from kombu.transport import pyamqp

from config import brokers
from config.celery import PINNED
from config.celery import app as product
from runs import execute, tasks
from runs.publishing import publisher
from runs.publishing.amqp import AmqpPublisher
from runs.publishing.choice import publisher as publisher_of
from runs.publishing.envelope import TASK, Envelope
from runs.publishing.publisher import BrokerAway, Publisher, Unroutable
from runs.publishing.virtual import PgmqPublisher, RedisPublisher, message_of
from tests import servers
from tests.story.processes import empty_queue

RUN = UUID("01900000-0000-7000-8000-00000000002a")


class Line(pyamqp.Channel):
    """An AMQP channel that leads nowhere: it keeps what a producer puts on it."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, dict[str, Any]]] = []
        self.connection = Connection("pyamqp://")
        self.connection.client = self.connection

    def basic_publish(self, message: Any, *_: Any, **where: Any) -> None:  # type: ignore[override]
        self.sent.append((message, where))

    def queue_declare(self, *_: Any, **__: Any) -> None:
        """It is there, and so are exchange and binding."""

    exchange_declare = queue_bind = queue_declare

    def __del__(self) -> None:
        """Nothing to close."""


def app_on(url: str) -> celery.Celery:
    """A Celery application with our pinned settings on another broker."""
    app = celery.Celery("of-the-tests", broker=url, set_as_current=False)
    app.conf.update(PINNED, task_queues=product.conf.task_queues)
    return app


def celerys_own(app: celery.Celery, producer: Producer) -> None:
    """Celery sends the task itself, as `apply_async` would."""
    what: dict[str, Any] = {"args": (str(RUN),), "task_id": str(RUN), "ignore_result": True}
    app.send_task(TASK, **what, queue="default", producer=producer)


# ── the envelope ─────────────────────────────────────────────────────────────────────────


def test_on_amqp_the_message_is_what_celerys_producer_sends() -> None:
    line, app = Line(), app_on("pyamqp://")
    celerys_own(app, Producer(line, auto_declare=False))
    (theirs, where), ours = line.sent[0], AmqpPublisher(app)._message(line, RUN)
    assert (where["routing_key"], where["exchange"]) == ("default", "")
    assert json.loads(ours.body) == json.loads(theirs.body)
    assert _without_reply(ours.properties) == _without_reply(theirs.properties)
    assert ours.properties["delivery_mode"] == 2  # kept on disk


def _without_reply(properties: dict[str, Any]) -> dict[str, Any]:
    """`reply_to` names the client and `origin` its process; nobody answers here."""
    headers = {**properties["application_headers"], "origin": None}
    return {**properties, "reply_to": None, "application_headers": headers}


def test_on_redis_and_pgmq_the_message_is_what_kombus_virtual_channel_stores() -> None:
    """Both carry the envelope of kombu's virtual channel; its memory transport shows it."""
    app = app_on("memory://")
    with app.connection_for_write() as connection:
        channel: Any = connection.default_channel
        app.amqp.queues["default"](channel).declare()
        celerys_own(app, Producer(channel, auto_declare=False))
        theirs = channel._get("default")
    ours = message_of(Envelope(app), "default", RUN)
    for message in (ours, theirs):
        message["body"] = json.loads(base64.b64decode(message["body"]))
        del message["properties"]["delivery_tag"]  # chosen at random
        message["properties"]["reply_to"] = message["headers"]["origin"] = None
    assert ours["headers"] == theirs["headers"]
    assert ours == theirs


def test_each_message_names_its_run_and_has_a_tag_of_its_own() -> None:
    envelope = Envelope(app_on("memory://"))
    runs = [uuid4() for _ in range(3)]
    messages = [message_of(envelope, "default", run) for run in runs]
    bodies = [json.loads(base64.b64decode(message["body"])) for message in messages]
    assert [body[0] for body in bodies] == [[str(run)] for run in runs]
    assert [message["headers"]["id"] for message in messages] == [str(run) for run in runs]
    assert len({message["properties"]["delivery_tag"] for message in messages}) == 3


# ── a broker that is not there ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "pyamqp://127.0.0.1:1//"])
def test_a_broker_that_is_away_is_one_error_and_nothing_is_confirmed(url: str) -> None:
    away = publisher_of(app_on(url))
    for ask in (
        lambda: away.send("default", [RUN], within=1),
        lambda: away.waiting("default", within=1),
    ):
        with pytest.raises(BrokerAway) as raised:
            ask()
        assert raised.value.confirmed == []
        assert str(raised.value)


@pytest.fixture(params=["pgmq", "redis", "rabbitmq"])
def there(request: pytest.FixtureRequest) -> Iterator[Publisher]:
    """A publisher to a real broker, whose queue is empty."""
    if request.param == "pgmq":
        url = brokers.pgmq_url(request.getfixturevalue("product_url"))
    else:
        url = request.getfixturevalue(request.param).url
    app = app_on(brokers.address(url))
    app.conf.broker_transport_options = brokers.transport_options(url)
    empty_queue(url)
    publisher = publisher_of(app)
    yield publisher
    publisher.close()
    empty_queue(url)


def test_many_may_open_a_queue_of_pgmq_at_once(product_url: str) -> None:
    """Each makes the queue's trigger anew: two at once were in each other's way."""
    url = brokers.pgmq_url(product_url)
    app = app_on(brokers.address(url))
    app.conf.broker_transport_options = brokers.transport_options(url)

    def opened(_: int) -> int:
        ours = publisher_of(app)
        try:
            return ours.waiting("default", within=60)
        finally:
            ours.close()

    with ThreadPoolExecutor(4) as together:
        assert len(list(together.map(opened, range(24)))) == 24


def test_a_queue_tells_how_many_wait_and_an_empty_one_that_none_do(
    there: Publisher,
) -> None:
    """What was lost is sent again only where the broker says that it holds none."""
    assert there.waiting("default", within=5) == 0
    there.send("default", [uuid4() for _ in range(3)], within=5)
    assert there.waiting("default", within=5) == 3


def test_a_queue_that_is_gone_is_declared_again_and_the_third_time_told_c08(
    rabbitmq: servers.RabbitMQ, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_queue(rabbitmq.url)
    away = publisher_of(app_on(rabbitmq.url))
    told: list[str] = []
    monkeypatch.setattr(publisher.log, "error", lambda event, **_: told.append(event))
    away.send("default", [RUN], within=5)
    for alarms in (0, 0, 1):
        away._channel("default", 5).queue_delete("default")
        with pytest.raises(BrokerAway) as raised:
            away.send("default", [RUN], within=5)
        assert isinstance(raised.value.__cause__, Unroutable)
        assert len(told) == alarms
    away.send("default", [RUN], within=5)
    assert away.waiting("default", within=5) == 1
    away.close()


def test_the_broker_decides_which_publisher() -> None:
    assert type(publisher_of(app_on("redis://127.0.0.1:1/0"))) is RedisPublisher
    assert type(publisher_of(app_on("pgmq://"))) is PgmqPublisher
    assert type(publisher_of(app_on("pyamqp://"))) is AmqpPublisher


# ── forged messages ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def executed(db: None) -> Iterator[list[UUID]]:
    """The runs that the task would have carried out. (It looks after its connection first.)"""
    asked: list[UUID] = []
    with patch.object(execute, "run", lambda run_id, *, worker: asked.append(run_id)):
        yield asked


def test_a_message_of_ours_leads_to_its_run(executed: list[UUID]) -> None:
    tasks.run(str(RUN))
    assert executed == [RUN]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ([], {}),
        ([None], {}),
        ([7], {}),
        (["not an id"], {}),
        (["os.system", "id"], {}),
        ([{"py/object": "os.system"}], {}),
        ([str(RUN), "more"], {}),
        ([str(RUN)], {"target": {"type": "task", "name": "os.system"}}),
        ([str(RUN) + "; drop table runs_run"], {}),
        ([["01900000-0000-7000-8000-00000000002a"]], {}),
    ],
)
def test_a_forged_message_is_refused_and_harms_no_worker(
    executed: list[UUID], args: list[Any], kwargs: dict[str, Any]
) -> None:
    tasks.run(*args, **kwargs)
    assert executed == []


@pytest.mark.django_db
def test_whatever_a_run_raises_does_not_leave_the_task() -> None:
    for error in (SystemExit(1), MemoryError(), KeyboardInterrupt(), RuntimeError("lost")):
        with patch.object(execute, "run", side_effect=error):
            tasks.run(str(RUN))


def test_a_worker_reads_json_alone() -> None:
    """A pickle runs what its sender likes, before any task is asked."""
    assert product.conf.accept_content == ["json"]


def test_no_task_of_celerys_own_can_be_named_by_a_message() -> None:
    """`celery.map`, `celery.chunks` and the like call any task that a message names."""
    assert TASK in product.tasks
    assert [name for name in product.tasks if name.startswith("celery.")] == []
    assert "os.system" not in product.tasks
