"""The one Celery task: thin, and it lets nothing out that would end the worker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from celery import Task, shared_task
from django.db import close_old_connections

from runs import execute
from runs.faults import fault
from runs.publishing.envelope import TASK

log = structlog.get_logger("onebeat.worker")


@shared_task(name=TASK, bind=True)
def run(self: Task[Any, None], /, run_id: object = None, *unknown: object, **more: object) -> None:
    """Carry out the run that the message names. The message holds nothing else to trust;
    what is no run id is refused and forgotten."""
    try:
        wanted = UUID(run_id) if isinstance(run_id, str) else None
    except ValueError:
        wanted = None
    if wanted is None or unknown or more:
        log.warning("message.refused", run=repr(run_id)[:80])
        return
    close_old_connections()
    try:
        execute.run(wanted, worker=str(self.request.hostname))
        fault("ack.lost")
    except BaseException:
        # Nothing is lost: the lease runs out and rescue settles the run. What left from here
        # would end the worker and, by redelivery, the next one.
        log.exception("run.error", run=str(wanted))
    finally:
        close_old_connections()
