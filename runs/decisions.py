"""A person moves a run that rests or waits: the move and its record in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from jobs.models import User
from runs import transitions
from runs.models import Decision, Run
from runs.states import State

DECIDED = "Decided: "  # how the reason of a run begins that a person has moved out of review

_WORDS = {"happened": "it happened", "run_again": "run it again", "close": "closed"}


def said(decision: Decision) -> str:
    """What was decided, in words."""
    return _WORDS.get(decision.decision, decision.decision)


class Stale(Exception):
    """The run is no longer where the decision found it: somebody, or the run itself, was
    faster. `run` is the run as it is now, `decision` what was decided last, if anything."""

    def __init__(self, run: Run, *, overtaken: bool = False) -> None:
        """`overtaken`: it is where it was, but at another attempt."""
        self.run = run
        self.decision = run.decisions.select_related("by").order_by("-at").first()
        last = self.decision
        where = f"at attempt {run.attempt}" if overtaken else run.state
        who = f" {last.by.get_username()} decided “{said(last)}”." if last and last.by else ""
        super().__init__(f"The run is {where} by now.{who}")


class NoteMissing(Exception):
    """A decision needs a note: what was looked at, and why."""

    def __init__(self) -> None:
        super().__init__("Write a note: what did you look at, and why do you decide so?")


def required(note: str) -> str:
    """The note, trimmed; raises NoteMissing when it is empty."""
    if not note.strip():
        raise NoteMissing
    return note.strip()


def move(
    run_id: UUID,
    to: State,
    *,
    of: Collection[State],
    token: int | None,
    decision: str,
    note: str,
    by: User | None,
    **changes: Any,
) -> Run:
    """The run moved from one of the states `of`, under the token that the person saw (None:
    whatever it is now). Raises Stale; a second click finds the first one's decision."""
    with transaction.atomic():
        run = Run.objects.select_for_update().select_related("job").get(id=run_id)
        if run.state not in of:
            raise Stale(run)
        if token not in (None, run.attempt):
            raise Stale(run, overtaken=True)
        transitions.move(run.id, to, token=run.attempt, **changes)
        Decision.objects.create(
            run=run,
            by=by,
            at=Now(),
            decision=decision,
            note=note,
            from_state=run.state,
            to_state=to,
            attempt=run.attempt,
        )
        run.refresh_from_db()
    return run
