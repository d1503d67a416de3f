"""Hand run ids to the broker in batches, in Celery's own message format.

Celery's publish path takes one message at a time (0.9 thousand a second with confirms); one
batch of 500 with its confirms awaited together goes ten times as fast, one LPUSH of 500 to
Redis seventy times. So the message is built once, by Celery's own code, and only the run's id
is put in; tests hold it to what Celery's producer sends.
"""

from __future__ import annotations

import base64
import json
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from math import ceil
from typing import Any
from uuid import UUID

import structlog
from celery import Celery
from celery.app import app_or_default
from kombu import Connection, Exchange, Queue
from kombu.utils.uuid import uuid as new_tag

from runs.faults import fault

GIVEN_UP = "onebeat.given-up"  # exchange and queue of what a broker delivers no more
_MOST_TOLD = 100
TASK = "onebeat.run"  # named here, not imported: a beat never imports what a worker does
ALARM_AT = 3  # times in a row that a queue was not there
_STAND_IN = "00000000-0000-4000-8000-000000000000"

log = structlog.get_logger("onebeat.enqueue")


class BrokerAway(Exception):
    """The broker did not take everything in time. `confirmed` are the runs that it did."""

    def __init__(self, confirmed: Sequence[UUID], why: object) -> None:
        super().__init__(str(why) or type(why).__name__)
        self.confirmed = list(confirmed)


class Unroutable(Exception):
    """The broker has no queue for a message, and gave it back."""


class Envelope:
    """Celery's task message (protocol 2), built once; `for_run` puts a run's id in."""

    def __init__(self, app: Celery) -> None:
        message = app.amqp.as_task_v2(_STAND_IN, TASK, args=(_STAND_IN,), ignore_result=True)
        self._headers, self._properties = _Blanks(message.headers), _Blanks(message.properties)
        self._body = json.dumps(message.body)

    def for_run(self, run_id: UUID) -> tuple[dict[str, Any], dict[str, Any], str]:
        """(headers, properties, body as JSON text) of one message."""
        name = str(run_id)
        body = self._body.replace(_STAND_IN, name)
        return self._headers.filled(name), self._properties.filled(name), body


class _Blanks:
    """A dictionary some of whose texts hold the stand-in for a run's id."""

    def __init__(self, form: Mapping[str, Any]) -> None:
        self._form = dict(form)
        self._blanks = {
            field: text
            for field, text in self._form.items()
            if isinstance(text, str) and _STAND_IN in text
        }

    def filled(self, name: str) -> dict[str, Any]:
        texts = {field: text.replace(_STAND_IN, name) for field, text in self._blanks.items()}
        return {**self._form, **texts}


class Publisher(ABC):
    """A held connection to the broker. Not safe to share between threads."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._envelope = Envelope(app)
        self._connection: Connection | None = None
        self._declared: set[str] = set()
        self._unroutable: Counter[str] = Counter()  # how often in a row, by queue

    def send(self, queue: str, run_ids: Sequence[UUID], *, within: float) -> None:
        """Give one message per run to the queue; returns when the broker has confirmed all.

        `within`: seconds. Raises BrokerAway with those it did confirm; a message may have
        arrived all the same, or twice: whoever starts a run decides, not the message.
        """
        confirmed: list[UUID] = []
        try:
            channel = self._channel(queue, within)
            fault("send.unroutable", Unroutable)
            self._push(channel, queue, run_ids, confirmed, time.monotonic() + within)
        except Exception as error:
            self.close()
            self._alarm_if_unroutable(queue, error)
            raise BrokerAway(confirmed, error) from error
        self._unroutable.pop(queue, None)

    def waiting(self, queue: str, *, within: float) -> int:
        """How many messages wait in the queue, those that a worker holds not counted. Raises
        BrokerAway."""
        try:
            return self._ready(self._channel(queue, within), queue)
        except Exception as error:
            self.close()
            raise BrokerAway((), error) from error

    def _ready(self, channel: Any, queue: str) -> int:
        return int(channel.queue_declare(queue=queue, passive=True).message_count)

    def given_up(self, *, within: float) -> list[str]:
        """The ids of runs whose message the broker has delivered too often and given up, at most
        100, each told once. Their runs are settled by lease and sent anew by rescue; whatever kept
        ending their workers goes on. Raises BrokerAway."""
        return []

    def close(self) -> None:
        """Drop the connection; the next use makes a new one."""
        connection, self._connection = self._connection, None
        self._declared.clear()
        if connection is not None:
            connection.release()

    def _alarm_if_unroutable(self, queue: str, error: Exception) -> None:
        """Once is a queue that somebody deleted, declared again by the next sending; a third time
        in a row is none that a person need not hear of."""
        if isinstance(error, Unroutable):
            self._unroutable[queue] += 1
            if self._unroutable[queue] >= ALARM_AT:
                log.error("send.unroutable", queue=queue, times=self._unroutable[queue])

    @abstractmethod
    def _push(
        self,
        channel: Any,
        queue: str,
        run_ids: Sequence[UUID],
        confirmed: list[UUID],
        deadline: float,
    ) -> None: ...

    def _line(self, within: float) -> Any:
        if self._connection is None:
            connection = self._app.connection_for_write(connect_timeout=within)
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=ceil(within))
            self._connection = connection
        return self._connection.default_channel

    def _channel(self, queue: str, within: float) -> Any:
        channel = self._line(within)
        if queue not in self._declared:
            # Declared before each first send: a message to a queue that is not there is
            # confirmed and gone.
            self._app.amqp.queues[queue](channel).declare()
            self._declared.add(queue)
        return channel


class AmqpPublisher(Publisher):
    """RabbitMQ: publish all, then wait for the confirms of all."""

    def _push(
        self,
        channel: Any,
        queue: str,
        run_ids: Sequence[UUID],
        confirmed: list[UUID],
        deadline: float,
    ) -> None:
        tags = _Confirms(channel)
        for run_id in run_ids:
            fault("send.midway")
            channel._basic_publish(
                self._message(channel, run_id), routing_key=queue, mandatory=True, timeout=3
            )
            tags.expect(run_id)
        fault("send.no_confirm")
        tags.wait(confirmed, deadline)

    def given_up(self, *, within: float) -> list[str]:
        """Of the queue that its dead-letter exchange fills."""
        try:
            exchange = Exchange(GIVEN_UP, type="fanout")
            kind = {"x-queue-type": "quorum"}
            queue = Queue(GIVEN_UP, exchange, queue_arguments=kind)(self._line(within))
            queue.declare()
            found = iter(lambda: queue.get(no_ack=True), None)
            return [str(message.headers.get("id")) for message in islice(found, _MOST_TOLD)]
        except Exception as error:
            self.close()
            raise BrokerAway((), error) from error

    def _message(self, channel: Any, run_id: UUID) -> Any:
        headers, properties, body = self._envelope.for_run(run_id)
        return channel.prepare_message(
            body,
            priority=0,
            content_type="application/json",
            content_encoding="utf-8",
            headers=headers,
            properties={**properties, "delivery_mode": 2},
        )


class _Confirms:
    """The confirms of one batch on a channel in confirm mode."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        if not channel._confirm_selected:
            channel._confirm_selected = True
            channel.confirm_select()
            channel.onebeat_tag = 0
        self.open: dict[int, UUID] = {}
        self.refused: list[str] = []
        channel.events["basic_ack"] = {self._acked}
        channel.events["basic_return"] = {self._returned}

    def expect(self, run_id: UUID) -> None:
        self.channel.onebeat_tag += 1
        self.open[self.channel.onebeat_tag] = run_id

    def wait(self, confirmed: list[UUID], deadline: float) -> None:
        everything = set(self.open.values())
        try:
            while self.open and not self.refused:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError("no confirm in time")
                self.channel.connection.drain_events(timeout=left)
        finally:
            confirmed.extend(everything - set(self.open.values()) if not self.refused else ())
        if self.refused:
            raise Unroutable(self.refused[0])

    def _acked(self, tag: int, multiple: bool) -> None:
        done = [open_tag for open_tag in self.open if open_tag <= tag] if multiple else [tag]
        for each in done:
            self.open.pop(each, None)

    def _returned(self, error: object, exchange: str, routing_key: str, message: object) -> None:
        self.refused.append(f"no queue {routing_key!r}: {error}")


class RedisPublisher(Publisher):
    """Redis: one LPUSH for the batch."""

    def _ready(self, channel: Any, queue: str) -> int:
        # A list without messages is no key at all, and so no queue to a passive declaration.
        return int(channel._size(queue))

    def _push(
        self,
        channel: Any,
        queue: str,
        run_ids: Sequence[UUID],
        confirmed: list[UUID],
        deadline: float,
    ) -> None:
        payloads = [json.dumps(_virtual(self._envelope, queue, run_id)) for run_id in run_ids]
        with channel.conn_or_acquire() as client:
            client.lpush(queue, *payloads)
        fault("send.no_confirm")
        confirmed.extend(run_ids)


class PgmqPublisher(Publisher):
    """PGMQ: one statement for the batch."""

    def _ready(self, channel: Any, queue: str) -> int:
        # The plain length counts what a worker holds, or held when it died.
        metrics = channel.pgmq.metrics(channel.canonical_queue_name(queue))
        return int(metrics.queue_visible_length)

    def _push(
        self,
        channel: Any,
        queue: str,
        run_ids: Sequence[UUID],
        confirmed: list[UUID],
        deadline: float,
    ) -> None:
        messages = [_virtual(self._envelope, queue, run_id) for run_id in run_ids]
        channel.pgmq.send_batch(channel.canonical_queue_name(queue), messages)
        fault("send.no_confirm")
        confirmed.extend(run_ids)


def _virtual(envelope: Envelope, queue: str, run_id: UUID) -> dict[str, Any]:
    # The envelope of kombu's virtual transports (Redis, PGMQ).
    headers, properties, body = envelope.for_run(run_id)
    properties |= {
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": queue},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": new_tag(),
    }
    return {
        "body": base64.b64encode(body.encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": properties,
    }


def publisher(app: Celery | None = None) -> Publisher:
    """The publisher for the application's broker."""
    app = app or app_or_default()
    kinds = {"redis": RedisPublisher, "rediss": RedisPublisher, "pgmq": PgmqPublisher}
    return kinds.get(app.connection_for_write().transport_cls, AmqpPublisher)(app)
