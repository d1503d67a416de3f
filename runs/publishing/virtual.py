"""Redis and PGMQ, to which kombu speaks as to a virtual broker: one statement for a batch."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kombu.utils.uuid import uuid as new_tag

from runs.faults import fault
from runs.publishing.envelope import Envelope
from runs.publishing.publisher import Publisher


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
        payloads = [json.dumps(message_of(self._envelope, queue, run_id)) for run_id in run_ids]
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
        messages = [message_of(self._envelope, queue, run_id) for run_id in run_ids]
        channel.pgmq.send_batch(channel.canonical_queue_name(queue), messages)
        fault("send.no_confirm")
        confirmed.extend(run_ids)


def message_of(envelope: Envelope, queue: str, run_id: UUID) -> dict[str, Any]:
    """A message as kombu's virtual transports (Redis, PGMQ) keep it."""
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
