"""Take back a run that has not started, or that waits for its turn or its retry; ask one that is
being carried out to stop."""

from __future__ import annotations

from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, F, When
from django.db.models.functions import Now

from jobs.models import Job, User
from runs import decisions
from runs.decisions import Move, Stale
from runs.models import Run
from runs.outcomes import Effect
from runs.states import TAKEN_BACK_FROM, ReviewClass, State

log = structlog.get_logger("onebeat.run")


def cancel(run_id: UUID, *, by: User, note: str = "") -> Run:
    """The run CANCELLED; its message, if there is one, finds nothing to start. One that somebody
    wanted run again goes back to REVIEW: what its last attempt did is as open as before. Raises
    Stale for a run that has started or ended meanwhile."""
    note = note.strip()

    def plan(job: Job, run: Run) -> Move:
        if not _is_open(run):
            return Move(State.CANCELLED, {"reason": f"Cancelled. {note}".strip()})
        reason = f"Taken back before it ran again. {note}".strip()
        review_class = run.review_class or ReviewClass.UNKNOWN
        return Move(State.REVIEW, {"reason": reason, "review_class": review_class})

    return decisions.move(
        run_id, plan, of=TAKEN_BACK_FROM, token=None, decision="cancel", note=note, by=by
    )


def stop(run_id: UUID, *, by: User, note: str = "") -> Run:
    """The RUNNING run, asked to stop. Its worker cuts the call, or ends the task by force after a
    while; where its target's report is waited for, rescue ends it. Then it is CANCELLED, or in
    REVIEW where it may have taken effect and must not be repeated blindly; one that ends well all
    the same has SUCCEEDED. Raises Stale for a run that is not RUNNING, or was asked before."""
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).select_related("job").get(id=run_id)
        if run.state != State.RUNNING or run.stop_asked_at is not None:
            raise Stale(run)
        over = When(accepted_at__isnull=False, then=Now())  # nobody here holds it
        Run.objects.filter(id=run_id).update(
            stop_asked_at=Now(), lease_until=Case(over, default=F("lease_until"))
        )
        decisions.record(run, decisions.STOP, State(run.state), note=note.strip(), by=by)
        run.refresh_from_db()
    log.info("run.stop_asked", run=str(run_id), token=run.attempt, by=by.get_username())
    return run


def _is_open(run: Run) -> bool:
    return bool(run.review_class) or (not run.idempotent and run.effect != Effect.NONE)
