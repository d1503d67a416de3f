"""Take back a run that has not started, or that waits for its retry."""

from __future__ import annotations

from uuid import UUID

from jobs.models import User
from runs import decisions
from runs.models import Run
from runs.states import STARTABLE, State


def cancel(run_id: UUID, *, by: User, note: str = "") -> Run:
    """The run CANCELLED; its message, if there is one, finds nothing to start. Raises Stale
    for a run that has started or ended meanwhile."""
    return decisions.move(
        run_id,
        State.CANCELLED,
        of=STARTABLE,
        token=None,
        decision="cancel",
        note=note.strip(),
        by=by,
        reason=f"Cancelled. {note.strip()}".strip(),
    )
