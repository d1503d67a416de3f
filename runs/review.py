"""A person decides about a run that nobody can prove anything of."""

from __future__ import annotations

from typing import Any, Literal, get_args
from uuid import UUID

from django.db import transaction

from jobs.models import User
from runs import decisions, idempotency
from runs.decisions import Move, NoteMissing, Stale
from runs.models import Run
from runs.outcomes import Effect
from runs.states import State

__all__ = ["CHOICES", "Choice", "NoteMissing", "Stale", "decide"]

Choice = Literal["happened", "run_again", "close"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


def decide(run_id: UUID, choice: Choice, *, token: int | None, note: str, by: User) -> Run:
    """The run, decided: it happened → SUCCEEDED, run it again (same run, same key) → CLAIMED,
    or WAITING where its turn has not come, close → CLOSED. `token` is the attempt that the
    person saw. Raises Stale, NoteMissing."""
    note = decisions.required(note)
    rest: dict[str, Any] = {
        "of": {State.REVIEW},
        "token": token,
        "decision": choice,
        "note": note,
        "by": by,
    }
    said = f"{decisions.DECIDED}{choice.replace('_', ' ')}. {note}"
    match choice:
        case "happened":
            return _happened(run_id, note, rest)
        case "run_again":
            # The class stays: taken back before it starts, the run is in review as before.
            return decisions.move(run_id, decisions.once_more(reason=said), **rest)
        case "close":
            closed = Move(State.CLOSED, {"review_class": "", "reason": said})
            return decisions.move(run_id, closed, **rest)


def _happened(run_id: UUID, note: str, rest: dict[str, Any]) -> Run:
    reason = f"{decisions.DECIDED}it happened. {note}"
    done = {"effect": Effect.DONE, "review_class": "", "reason": reason}
    with transaction.atomic():
        run = decisions.move(run_id, Move(State.SUCCEEDED, done), **rest)
        idempotency.settled_by_a_person(run.key, run_id=run.id, payload=run.snapshot)
    return run
