"""Take back a run that has not started, or that waits for its turn or its retry."""

from __future__ import annotations

from uuid import UUID

from jobs.models import Job, User
from runs import decisions
from runs.decisions import Move
from runs.models import Run
from runs.outcomes import Effect
from runs.states import TAKEN_BACK_FROM, ReviewClass, State


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


def _is_open(run: Run) -> bool:
    return bool(run.review_class) or (not run.idempotent and run.effect != Effect.NONE)
