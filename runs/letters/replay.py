"""Dead letters: replay one (the same run, the same key) or discard it."""

from __future__ import annotations

from uuid import UUID

from jobs.models import User
from runs import decisions
from runs.decisions import Move
from runs.models import Run
from runs.states import State


def replay(run_id: UUID, *, token: int | None, note: str, by: User) -> Run:
    """The dead run waiting to be sent again, or for its turn, its failures back to none. Raises
    Stale."""
    return decisions.move(
        run_id,
        decisions.once_more(),
        of={State.DEAD},
        token=token,
        decision="replay",
        note=note.strip(),
        by=by,
    )


def discard(run_id: UUID, *, token: int | None, note: str, by: User) -> Run:
    """The dead run closed for good, with the reason. Raises Stale, NoteMissing."""
    return decisions.move(
        run_id,
        Move(State.CLOSED, {"reason": f"Discarded: {note.strip()}"}),
        of={State.DEAD},
        token=token,
        decision="discard",
        note=decisions.required(note),
        by=by,
    )
