"""A connection to a broker that takes batches of run ids, whatever broker it is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any
from uuid import UUID

import structlog
from celery import Celery
from kombu import Connection

from runs.faults import fault
from runs.publishing.envelope import Envelope

ALARM_AT = 3  # times in a row that a queue was not there

log = structlog.get_logger("onebeat.enqueue")


class BrokerAway(Exception):
    """The broker did not take everything in time. `confirmed` are the runs that it did."""

    def __init__(self, confirmed: Sequence[UUID], why: object) -> None:
        super().__init__(str(why) or type(why).__name__)
        self.confirmed = list(confirmed)


class Unroutable(Exception):
    """The broker has no queue for a message, and gave it back."""


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
