"""Which of them speaks to the application's broker."""

from __future__ import annotations

from celery import Celery
from celery.app import app_or_default

from runs.publishing.amqp import AmqpPublisher
from runs.publishing.publisher import Publisher
from runs.publishing.virtual import PgmqPublisher, RedisPublisher


def publisher(app: Celery | None = None) -> Publisher:
    """The publisher for the application's broker."""
    app = app or app_or_default()
    kinds = {"redis": RedisPublisher, "rediss": RedisPublisher, "pgmq": PgmqPublisher}
    return kinds.get(app.connection_for_write().transport_cls, AmqpPublisher)(app)
