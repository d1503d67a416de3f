"""Win a run for one worker: from a startable state to RUNNING, with a token and a lease.

The message that led here is only a hint: the guarded UPDATE decides, so that a doubled message
finds nothing to start.
"""

from __future__ import annotations

from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from runs import idempotency, release, transitions
from runs.lease import Grant
from runs.models import Attempt, Run
from runs.states import STARTABLE, State

_START = """
update runs_run r
   set state = 'RUNNING', attempt = attempt + 1, lease_id = %(lease)s,
       lease_until = clock_timestamp() + %(length)s * interval '1 second',
       started_at = clock_timestamp(), intent_at = null, send_at = null
 where r.id = %(run)s and r.state = any(%(startable)s)
   and r.stop_asked_at is null
   and (r.not_before is null or r.not_before <= clock_timestamp())
   and (r.state <> 'RETRYING' or r.send_at <= clock_timestamp())
   and exists (select 1 from jobs_job j where j.id = r.job_id and j.deleted_at is null)
returning attempt, timeout, key, snapshot, started_at
"""


def run(run_id: UUID, *, worker: str, lease_id: UUID | None = None) -> Grant | None:
    """The grant, or None when there is nothing to start (another worker has it, it is done,
    it waits for its retry; or its job was deleted, or it was asked to stop: then the run is
    cancelled)."""
    lease_id = lease_id or uuid4()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            _START,
            {
                "run": run_id,
                "lease": lease_id,
                "length": settings.LEASE,
                "startable": [str(state) for state in STARTABLE],
            },
        )
        row = cursor.fetchone()
        if row is None:
            _cancel_if_unwanted(run_id)
            return None
        token, timeout, key, snapshot, started_at = row
        Attempt.objects.create(
            run_id=run_id, number=token, lease_id=lease_id, worker=worker, started_at=started_at
        )
        free = idempotency.take(key, run_id=run_id, holder=token, payload=snapshot)
    transitions.told(State.RUNNING, [run_id], token=token, worker=worker)
    return Grant(run_id, token, lease_id, float(timeout), key_is_free=free)


def granted(run_id: UUID, *, lease_id: UUID) -> Grant | None:
    """Read back a start whose commit's answer was lost: ours if the run has our lease."""
    run = Run.objects.filter(id=run_id, lease_id=lease_id, state=State.RUNNING).first()
    return Grant(run.id, run.attempt, lease_id, float(run.timeout)) if run else None


def _cancel_if_unwanted(run_id: UUID) -> None:
    unwanted = Q(job__deleted_at__isnull=False) | Q(stop_asked_at__isnull=False)
    found = Run.objects.filter(unwanted, id=run_id, state__in=STARTABLE)
    run = found.select_related("job").first()
    if run is None:
        return
    job = release.lock(run.job_id)
    deleted = job.deleted_at is not None
    reason = "Its job was deleted." if deleted else "It was asked to stop before it started."
    if transitions.move(run_id, State.CANCELLED, token=run.attempt, reason=reason):
        release.waiting(job)
