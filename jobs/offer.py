"""What this installation offers to jobs: tasks, queues, inside networks."""

from __future__ import annotations

from django.conf import settings

from jobs import task_registry
from jobs.addresses import AllowList
from jobs.definitions import Known


def offered() -> Known:
    """What the names in a job are checked against, at every door alike."""
    return Known(
        tasks=task_registry.names(),
        misfit=task_registry.misfit,
        queues=settings.QUEUES,
        egress=AllowList.parse(settings.EGRESS_ALLOW),
    )
