"""The Celery application: `celery -A config beat`, `celery -A config worker`.

The settings are pinned here, each because its default loses or doubles something; runs/checks.py
compares them with what a process really runs with, at start.
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import celery
import django
from celery.signals import beat_init, import_modules, setup_logging, worker_init, worker_ready
from celery.worker.consumer.gossip import Gossip
from celery.worker.consumer.mingle import Mingle
from django.core.exceptions import ImproperlyConfigured
from environs import EnvError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from kombu import Queue

from config import beat_stop, brokers, cold_end, pgmq_transport
from config.deaf_watch import DeafWatch
from config.pool_watch import PoolWatch
from config.worker_step import OnlyTheEntryTask
from runs import checks
from runs.publishing.amqp import GIVEN_UP

PINNED: dict[str, Any] = {
    "task_serializer": "json",
    "accept_content": ["json"],
    "result_backend": None,
    "task_ignore_result": True,
    "task_acks_late": True,
    "worker_prefetch_multiplier": 1,
    "task_reject_on_worker_lost": False,  # rescue recovers by lease; redelivery would circle
    # Seconds; a process that is gone keeps one of the worker's places so long, and its run is
    # settled by the lease: at ten, the default, a few runs that kill theirs hold up all others.
    "worker_lost_wait": 1.0,
    "task_acks_on_failure": True,
    "task_acks_on_timeout": True,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "task_publish_retry": False,  # enqueue owns retries
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    "task_send_sent_event": False,
    "worker_hijack_root_logger": False,
    "task_create_missing_queues": False,  # a message to a queue nobody serves would lie there
    "enable_utc": True,
    "timezone": "UTC",
    # Tasks that Celery closes the database's connection after: never, or each run would open one
    # of its own. runs/tasks.py closes those that are old or broken.
    "CELERY_DB_REUSE_MAX": sys.maxsize,
}


# Durable queues that survive a node of the broker. A message that was delivered again and again,
# and ended each worker, comes into a queue that nobody reads but for an alarm: its run is settled
# by the lease and sent anew, if at all, by rescue.
_QUEUE = {
    "x-queue-type": "quorum",
    "x-delivery-limit": 20,
    "x-dead-letter-exchange": GIVEN_UP,
    "x-consumer-timeout": 2 * 3600 * 1000,  # ms; above the longest run
}


@contextmanager
def _in_one_line() -> Iterator[None]:
    """End with one line, and exit code 2, where the environment is nonsense."""
    try:
        yield
    except (ImproperlyConfigured, EnvError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)


@import_modules.connect
def set_up_django(**_: Any) -> None:
    """Just before Celery does: connected before the application is there."""
    with _in_one_line():
        django.setup()


with _in_one_line():
    queues = settings.QUEUES  # the first look at the settings reads them all
pgmq_transport.register()
app = celery.Celery("onebeat", amqp="config.reconnect:Amqp")
app.conf.update(
    PINNED,
    task_queues=[Queue(name, routing_key=name, queue_arguments=_QUEUE) for name in queues],
    task_default_queue=queues[0],
    broker_url=brokers.address(settings.BROKER_URL),
    # The command line takes BROKER_URL as it stands, past `address`; these two come before it.
    broker_read_url=brokers.address(settings.BROKER_URL),
    broker_write_url=brokers.address(settings.BROKER_URL),
    broker_transport_options=brokers.transport_options(settings.BROKER_URL),
    beat_scheduler=settings.CELERY_BEAT_SCHEDULER,
    worker_soft_shutdown_timeout=settings.SOFT_SHUTDOWN,
)
# Workers talk to the database, not to each other, whatever the command line says.
Gossip.compatible_transports = Mingle.compatible_transports = set()
app.autodiscover_tasks(["runs"])
# By its name: what it imports has models, which are there only after Django is set up.
app.steps["worker"].add("config.teller:Teller")
app.steps["consumer"].update((OnlyTheEntryTask, PoolWatch, DeafWatch))


@app.on_after_finalize.connect
def forget_built_in_tasks(sender: celery.Celery, **_: Any) -> None:
    """`celery.map`, `celery.chunks` and the like call whatever a message names."""
    for name in [name for name in sender.tasks if name.startswith("celery.")]:
        sender.tasks.unregister(name)


@setup_logging.connect
def keep_djangos_logging(**_: Any) -> None:
    """Celery would replace the handlers; one JSON line per event is Django's LOGGING."""


beat_init.connect(beat_stop.end_between_looks)
worker_ready.connect(cold_end.bound)


@beat_init.connect
@worker_init.connect
def refuse_to_start(sender: object = None, **_: Any) -> None:
    """What must hold before a process serves."""
    with _in_one_line():
        checks.at_start(PINNED, ChainMap(_from_command_line(sender), app.conf))


def _from_command_line(sender: object) -> dict[str, object]:
    """What a worker's options have set past the configuration."""
    options = {
        "worker_prefetch_multiplier": "prefetch_multiplier",
        "worker_send_task_events": "task_events",
    }
    return {
        name: getattr(sender, option) for name, option in options.items() if hasattr(sender, option)
    }
