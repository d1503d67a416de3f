"""A person moves a run that rests or waits: the move, its record, and whose turn it is then, in
one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from jobs import events
from jobs.models import Hold, Job, User
from jobs.schedules.instants import canonical_instant
from runs import release, subjects, transitions
from runs.models import Decision, Run
from runs.states import State

SECOND_WITHIN = timedelta(hours=24)  # a second person answers; then it is to be asked for anew
DECIDED = "Decided: "  # how the reason of a run begins that a person has moved out of review

# What a run forgets that is sent once more: its failures, a request to stop it, and a leave.
ANEW: dict[str, Any] = {"failures": 0, "stop_asked_at": None, "let_past_at": None}

STOP = "stop"  # the one word that moves no run: its worker does

_WORDS = {
    STOP: "asked it to stop",
    "happened": "it happened",
    "run_again": "run it again",
    "close": "closed",
    "let_past": "let it past the hold",
    "escalate": "passed it on",
}


def said(decision: Decision) -> str:
    """What was decided, in words."""
    words = _WORDS.get(decision.decision, decision.decision)
    return f"{words} under a new key" if decision.key else words


class Stale(Exception):
    """The run is no longer where the decision found it: somebody, or the run itself, was
    faster. `run` is the run as it is now, `decision` what was decided last, if anything."""

    def __init__(self, run: Run, *, overtaken: bool = False) -> None:
        """`overtaken`: it is where it was, but at another attempt."""
        self.run = run
        self.decision = run.decisions.select_related("by").order_by("-at").first()
        last = self.decision
        where = f"at attempt {run.attempt}" if overtaken else run.state
        who = ""
        if last and last.by:
            when = canonical_instant(last.at.replace(microsecond=0))
            who = f" {last.by.get_username()} decided “{said(last)}” at {when}."
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


@dataclass(frozen=True)
class Move:
    """Where a run goes, with the columns that are set on the way."""

    to: State
    changes: dict[str, Any] = field(default_factory=dict)


Plan = Callable[[Job, Run], Move]


def move(
    run_id: UUID,
    plan: Plan | Move,
    *,
    of: Collection[State],
    token: int | None,
    decision: str,
    note: str,
    by: User | None,
    second: User | None = None,
) -> Run:
    """The run moved from one of the states `of`, under the token that the person saw (None:
    whatever it is now). A plan is made under the locks of job and run. Raises Stale; a second
    click finds the first one's decision. `second` approved what `by` asked for."""
    with transaction.atomic():
        job, run = locked(run_id, of=of, token=token)
        planned = plan if isinstance(plan, Move) else plan(job, run)
        transitions.move(run.id, planned.to, token=run.attempt, **planned.changes)
        record(
            run,
            decision,
            planned.to,
            note=note,
            by=by,
            second=second,
            key=planned.changes.get("key", ""),
        )
        release.waiting(job)
        run.refresh_from_db()
    return run


def locked(run_id: UUID, *, of: Collection[State], token: int | None) -> tuple[Job, Run]:
    """The run, in one of the states `of` and at the attempt `token` (None: any), with its job;
    both locked until the transaction ends. Raises Stale."""
    job = release.lock(Run.objects.values_list("job_id", flat=True).get(id=run_id))
    run = Run.objects.select_for_update(of=("self",)).select_related("job").get(id=run_id)
    if run.state not in of:
        raise Stale(run)
    if token not in (None, run.attempt):
        raise Stale(run, overtaken=True)
    return job, run


def record(run: Run, decision: str, to: State, **said: Any) -> Decision:
    """What a person did with a locked run that stood as `run` says."""
    state = {"state": {"from": str(run.state), "to": str(to)}} if to != run.state else {}
    subject = subjects.of_run(run)
    by = said.get("second") or said.get("by")  # who said the last word
    events.record(f"run.{decision}", subject, by=by, reason=said.get("note", ""), changes=state)
    return Decision.objects.create(
        run=run,
        at=Now(),
        decision=decision,
        from_state=run.state,
        to_state=to,
        attempt=run.attempt,
        **said,
    )


def once_more(**said: str) -> Plan:
    """One more attempt of the same run, behind whatever is in its way: its failures are
    forgotten, and so is a request to stop it. `said`: its reason, unless it waits."""

    def plan(job: Job, run: Run) -> Move:
        waits = release.in_the_way(job, run)
        if waits is None:
            return Move(State.CLAIMED, {**ANEW, "serial": job.serial, **said})
        if isinstance(waits, Hold):
            held = {"hold": waits, "reason": waits.words, "blocked_by": None}
            return Move(State.WAITING, {**ANEW, **held})
        waiting = {"reason": waits.reason, "blocked_by": waits.blocked_by}
        return Move(State.WAITING, {**ANEW, **waiting})

    return plan
