"""RabbitMQ: publish all, then wait for the confirms of all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from kombu import Exchange, Queue

from runs.faults import fault
from runs.publishing.publisher import BrokerAway, Publisher, Unroutable

GIVEN_UP = "onebeat.given-up"  # exchange and queue of what a broker delivers no more
_MOST_TOLD = 100


class AmqpPublisher(Publisher):
    """A batch is taken once each of its messages is confirmed."""

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
