"""Win a run for one worker: from a startable state to RUNNING, with a token and a lease.

The message that led here is only a hint: the guarded UPDATE decides, so that a doubled message
finds nothing to start.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import connection, transaction

from jobs import holds, prepared
from jobs.models import Job
from runs import idempotency, overlap, release, transitions
from runs.faults import fault
from runs.lease import Grant
from runs.models import Run
from runs.states import STARTABLE, State

log = structlog.get_logger("onebeat.run")
_STARTABLE = [str(state) for state in STARTABLE]

# The window holds at the start too: nobody asked for this run, it never started, and its moment
# is older than the job, as it is now, makes up. The condition of a waiting run is the same.
_TOO_LATE = """
   r.origin = 'schedule' and r.attempt = 0 and r.review_class = ''
   and r.due_at < clock_timestamp() - (j.catch_up_window + j.start_delay) * interval '1 second'
   and exists (select 1 from jsonb_array_elements(j.schedule) part where not part ? 'at')
   and r.let_past_at is null
   and not exists (select 1 from runs_decision d where d.run_id = r.id)
"""
_HELD = """
   exists (select 1 from jobs_hold h
            where h.ended_at is null and (h.team_id is null or h.team_id = j.team_id)
              and h.began_at > coalesce(r.let_past_at, '-infinity'))
"""
_START = f"""
with won as (
  update runs_run r
     set state = 'RUNNING',
         passed = runs_passed(passed, 'RUNNING', clock_timestamp(), %(worker)s),
         attempt = attempt + 1, lease_id = %(lease)s,
         lease_until = clock_timestamp() + %(length)s * interval '1 second',
         started_at = clock_timestamp(), intent_at = null, accepted_at = null,
         send_at = null
   where r.id = %(run)s and r.state = any(%(startable)s)
     and r.stop_asked_at is null
     and (r.not_before is null or r.not_before <= clock_timestamp())
     and (r.state <> 'RETRYING' or r.send_at <= clock_timestamp())
     and exists (select 1 from jobs_job j where j.id = r.job_id and j.deleted_at is null
                    and not ({_TOO_LATE}) and not ({_HELD}))
  returning id, attempt, timeout, key, snapshot, started_at),
made as (
  insert into runs_attempt (run_id, number, lease_id, worker, started_at,
                            outcome, effect, reason, sent, answer)
  select id, attempt, %(lease)s, %(worker)s, started_at, '', '', '', '{{}}', '{{}}' from won)
select attempt, timeout, key, snapshot from won
"""  # noqa: S608 — words of our own


def run(run_id: UUID, *, worker: str, lease_id: UUID | None = None) -> Grant | None:
    """The grant, or None when there is nothing to start (another worker has it, it is done,
    it waits for its retry; or its job was deleted, or it was asked to stop, and the run is
    cancelled; a hold is on, and it waits for its end; or it is too late, and it goes the way of
    a missed moment)."""
    lease_id = lease_id or uuid4()
    given = {
        "run": run_id,
        "lease": lease_id,
        "length": settings.LEASE,
        "startable": _STARTABLE,
        "worker": worker,
    }
    with transaction.atomic():
        holds.starting()
        won = prepared.rows(_START, given)
        if not won:
            _settle_if_unwanted(run_id)
            return None
        ((token, timeout, key, snapshot),) = won
        free = idempotency.take(key, run_id=run_id, holder=token, payload=snapshot)
    fault("start.commit_unknown")
    transitions.told(State.RUNNING, [run_id], token=token, worker=worker)
    return Grant(run_id, token, lease_id, float(timeout), key_is_free=free)


def granted(run_id: UUID, *, lease_id: UUID) -> Grant | None:
    """Read back a start whose commit's answer was lost: ours if the run has our lease."""
    run = Run.objects.filter(id=run_id, lease_id=lease_id, state=State.RUNNING).first()
    if run is None:
        return None
    free = idempotency.held_by(run.key, run.attempt)
    return Grant(run.id, run.attempt, lease_id, float(run.timeout), key_is_free=free)


_UNWANTED = f"""
select j.deleted_at is not null, r.stop_asked_at is not null, {_HELD}, {_TOO_LATE}
  from runs_run r join jobs_job j on j.id = r.job_id
 where r.id = %(run)s and r.state = any(%(startable)s)
"""  # noqa: S608 — words of our own


def _settle_if_unwanted(run_id: UUID) -> None:
    """Cancel, skip or put before a person a run that will not start any more; park one that a
    hold keeps from it."""
    if not any(_unwanted(run_id)):
        return
    run = Run.objects.get(id=run_id)
    job = release.lock(run.job_id)
    deleted, stop_asked, held, too_late = _unwanted(run_id)  # under the lock once more
    if deleted:
        moved = _cancel(run, "Its job was deleted.")
    elif stop_asked:
        moved = _cancel(run, "It was asked to stop before it started.")
    elif held:
        moved = _park(run, job)
    else:
        moved = too_late and _miss(run, job)
    if moved:
        release.waiting(job)


def _unwanted(run_id: UUID) -> tuple[bool, bool, bool, bool]:
    """Whether a run that has not started has no job any more, is to stop, is under a hold, or is
    too late."""
    with connection.cursor() as cursor:
        cursor.execute(_UNWANTED, {"run": run_id, "startable": _STARTABLE})
        return cursor.fetchone() or (False, False, False, False)


def _cancel(run: Run, reason: str) -> bool:
    return transitions.move(run.id, State.CANCELLED, token=run.attempt, reason=reason)


def _park(run: Run, job: Job) -> bool:
    hold = holds.over(job.team_id, since=run.let_past_at)
    assert hold is not None  # none ends while this start is under way
    waits: dict[str, Any] = {"hold": hold, "reason": hold.words, "blocked_by": None}
    return transitions.move(run.id, State.WAITING, token=run.attempt, **waits)


def _miss(run: Run, job: Job) -> bool:
    """The run of a moment that nobody got to in time goes where a missed one does."""
    log.warning("start.too_late", run=str(run.id), job=str(job.id), moment=str(run.due_at))
    said: dict[str, Any] = {"reason": "No worker started it within its catch-up window."}
    if job.catch_up_policy == "ask":
        said["review_class"] = overlap.TOO_LATE_CLASS
        return transitions.move(run.id, State.REVIEW, token=run.attempt, **said)
    return transitions.move(run.id, State.SKIPPED, token=run.attempt, skipped_count=1, **said)
