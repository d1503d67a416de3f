"""Jobs of the stage: due now, and again tomorrow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from jobs import clock, editing
from jobs.definitions import definitions
from jobs.definitions.definitions import Known
from jobs.models import Due, Job, JobVersion
from jobs.schedules.instants import canonical_instant
from jobs.targets.addresses import AllowList
from tests import make
from tests.crash.stage import QUEUES

KNOWN = Known(set(), set(QUEUES), AllowList.parse("127.0.0.1/32"))
BOTH_KINDS: tuple[dict[str, Any], ...] = ({"idempotent": True}, {"idempotent": False})


def due_now(*shapes: dict[str, Any], url: str) -> list[Job]:
    """A job of each shape that calls this URL, due now and again tomorrow."""
    due = clock.now()
    jobs = [_job(shape, url, canonical_instant(due)) for shape in shapes]
    # Registered an hour ago, so that the moment is not over before the job is there.
    hour_ago = due - timedelta(hours=1)
    JobVersion.objects.filter(job__in=jobs).update(began_at=hour_ago)
    Job.objects.filter(id__in=[job.id for job in jobs]).update(version_began_at=hour_ago)
    Due.objects.filter(job__in=jobs).update(at=due)
    return jobs


def _job(shape: dict[str, Any], url: str, anchor: str) -> Job:
    data = {
        "name": f"job {uuid4()}",
        "schedule": {"every": 86_400, "anchor": anchor},
        "target": {"type": "http", "method": "POST", "url": url},
        "retries": {"max_attempts": 5, "backoff": 0},
        **shape,
    }
    definition = definitions.read(data, now=clock.now(), known=KNOWN)
    return editing.register(make.team(), definition, by=None)
