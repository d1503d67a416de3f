"""Run a job now, because a person or a program asks for it."""

from __future__ import annotations

from uuid import UUID

import structlog
from django.db import transaction

from jobs import clock, editing
from jobs.models import Job, User
from runs import idempotency, release
from runs.models import Run
from runs.states import Origin, State

log = structlog.get_logger("onebeat.run")


class Busy(Exception):
    """Only one run of the job may be active at a time, and `run` is."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(
            f"Run {run.id} of this job is {run.state.lower()}, and the job runs one at a time. "
            "Wait until it has ended, or cancel it."
        )


def run_now(job_id: UUID, *, by: User | None) -> Run:
    """A run of the job as it is now, with a key of its own: never that of a due moment, which
    fires as if nothing had been asked. A paused job runs too: a person asked for it. Raises
    editing.Gone, and Busy for a serial job with an active run."""
    with transaction.atomic():
        job = _locked(job_id)
        if job.serial and (busy := release.active_run(job)):
            raise Busy(busy)
        now = clock.now()
        run = Run.objects.create(
            job=job,
            job_version=job.version,
            key=idempotency.key_by_hand(job.id),
            origin=Origin.HAND,
            state=State.CLAIMED,
            serial=job.serial,
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


def _locked(job_id: UUID) -> Job:
    try:
        job = release.lock(job_id)
    except Job.DoesNotExist:
        raise editing.Gone from None
    if job.deleted_at is not None:
        raise editing.Gone
    return job
