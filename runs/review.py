"""A person decides about a run that nobody can prove anything of."""

from __future__ import annotations

from typing import Literal, get_args
from uuid import UUID

from django.db import transaction

from jobs.models import User
from runs import decisions, idempotency
from runs.decisions import NoteMissing, Stale
from runs.models import Run
from runs.outcomes import Effect
from runs.states import State

__all__ = ["CHOICES", "Choice", "NoteMissing", "Stale", "decide"]

Choice = Literal["happened", "run_again", "close"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


def decide(run_id: UUID, choice: Choice, *, token: int | None, note: str, by: User) -> Run:
    """The run, decided: it happened → SUCCEEDED, run it again (same run, same key) → CLAIMED,
    close → CLOSED. `token` is the attempt that the person saw. Raises Stale, NoteMissing."""
    note = decisions.required(note)
    match choice:
        case "happened":
            return _happened(run_id, token=token, note=note, by=by)
        case "run_again":
            return _leave(run_id, State.CLAIMED, choice, token=token, note=note, by=by)
        case "close":
            return _leave(run_id, State.CLOSED, choice, token=token, note=note, by=by)


def _happened(run_id: UUID, *, token: int | None, note: str, by: User) -> Run:
    with transaction.atomic():
        run = decisions.move(
            run_id,
            State.SUCCEEDED,
            of={State.REVIEW},
            token=token,
            decision="happened",
            note=note,
            by=by,
            effect=Effect.DONE,
            review_class="",
            reason=f"{decisions.DECIDED}it happened. {note}",
        )
        idempotency.settled_by_a_person(run.key, run_id=run.id, payload=run.snapshot)
    return run


def _leave(
    run_id: UUID, to: State, choice: Choice, *, token: int | None, note: str, by: User
) -> Run:
    again = {"failures": 0} if to is State.CLAIMED else {}
    return decisions.move(
        run_id,
        to,
        of={State.REVIEW},
        token=token,
        decision=choice,
        note=note,
        by=by,
        review_class="",
        reason=f"{decisions.DECIDED}{choice.replace('_', ' ')}. {note}",
        **again,
    )
