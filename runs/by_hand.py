"""Run a job now, because a person or a program asks for it."""

from __future__ import annotations

from uuid import UUID

import structlog
from django.db import transaction

from jobs import clock, editing
from jobs.models import Job, User
from runs import idempotency
from runs.models import Run
from runs.states import Origin, State

log = structlog.get_logger("onebeat.run")


def run_now(job_id: UUID, *, by: User | None) -> Run:
    """A run of the job as it is now, with a key of its own: never that of a due moment, which
    fires as if nothing had been asked. A paused job runs too: a person asked for it. Raises
    editing.Gone."""
    with transaction.atomic():
        job = Job.objects.select_for_update(no_key=True).filter(id=job_id, deleted_at=None).first()
        if job is None:
            raise editing.Gone
        now = clock.now()
        run = Run.objects.create(
            job=job,
            job_version=job.version,
            key=idempotency.key_by_hand(job.id),
            origin=Origin.HAND,
            state=State.CLAIMED,
            snapshot=job.target,
            idempotent=job.idempotent,
            max_attempts=job.max_attempts,
            backoff=job.backoff,
            cap=job.cap,
            retry_unsent=job.retry_unsent,
            timeout=job.timeout,
            queue=job.queue,
            created_at=now,
            send_at=now,
        )
    log.info("run.by_hand", run=str(run.id), job=str(job.id), by=by and by.get_username())
    return run
