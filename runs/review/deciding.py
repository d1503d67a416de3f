"""A person decides about a run that nobody can prove anything of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args
from uuid import UUID

import structlog
from django.db import transaction

from jobs.models import Job, User
from runs import decisions, idempotency
from runs.channels import outbox
from runs.decisions import Move, NoteMissing, Plan, Stale
from runs.models import Decision, Run
from runs.outcomes import Effect
from runs.review import approvals, claims, probe, run_again
from runs.states import ReviewClass, State

__all__ = ["CHOICES", "Choice", "NotOfClass", "NoteMissing", "Stale", "decide", "escalated"]

Choice = Literal["happened", "run_again", "close", "escalate"]
CHOICES: tuple[Choice, ...] = get_args(Choice)

log = structlog.get_logger("onebeat.review")


class NotOfClass(Exception):
    """Many at once are decided only where nothing was sent; this one needs a look of its own."""

    def __init__(self, run: Run) -> None:
        why = "an earlier attempt may have acted" if run.effect != Effect.NONE else run.review_class
        super().__init__(f"It needs a look of its own: {why}.")


def decide(
    run_id: UUID,
    choice: Choice,
    *,
    token: int | None,
    note: str,
    by: User,
    new_key: bool = False,
    only: Collection[ReviewClass] | None = None,
) -> Run:
    """The run, decided: it happened → SUCCEEDED, run it again → CLAIMED, or WAITING where its
    turn has not come, close → CLOSED, escalate → in REVIEW still, marked and told.

    `token` is the attempt that the person saw, `new_key` runs it again under a new key, `only`
    decides it as one of many, if it is of these classes and nothing took effect. Raises NotOfClass,
    Stale, NoteMissing, Claimed by another, and for a run again NotYetSettled, Happened, and Asked
    or AskedAlready where it waits for a second person.
    """
    note = decisions.required(note)
    if choice == "escalate":
        return _escalate(run_id, token=token, note=note, by=by)
    plan = _plan(run_id, choice, token=token, note=note, by=by, new_key=new_key, ask=only is None)
    with transaction.atomic():
        decided = decisions.move(
            run_id,
            _checked(plan, only=only, by=by),
            of={State.REVIEW},
            token=token,
            decision=choice,
            note=note,
            by=by,
        )
        if choice == "happened":
            idempotency.settled_by_a_person(
                decided.key, run_id=decided.id, payload=decided.snapshot
            )
        approvals.overtake(run_id)
        claims.drop(run_id)
    return decided


def escalated(run: Run) -> Decision | None:
    """The decision by which somebody has passed it on since it came to review."""
    passed = Decision.objects.filter(run=run, decision="escalate", attempt=run.attempt)
    return passed.filter(at__gte=run.review_at).select_related("by").order_by("-at").first()


def _plan(
    run_id: UUID,
    choice: Choice,
    *,
    token: int | None,
    note: str,
    by: User,
    new_key: bool,
    ask: bool,
) -> Plan:
    """What is to become of it. The probe is asked (if `ask`) here, outside any lock."""
    run = Run.objects.select_related("job__team").get(id=run_id)
    waits = run.state == State.REVIEW
    if choice == "run_again" and waits and approvals.wanted(run.job, new_key=new_key):
        asked = approvals.ask(run_id, token=token, new_key=new_key, note=note, by=by)
        raise approvals.Asked(asked)
    answer = probe.ask(run, by=by) if ask and waits and choice != "close" else None
    match choice:
        case "run_again":
            return run_again.plan(new_key=new_key, said=_said("run again", note), answer=answer)
        case "happened":
            said = _said("it happened", note)
            done = {"effect": Effect.DONE, "review_class": "", "reason": said}
            return lambda job, run: Move(State.SUCCEEDED, done)
        case _:
            closed = {"review_class": "", "reason": _said("close", note)}
            return lambda job, run: Move(State.CLOSED, closed)


def _said(what: str, note: str) -> str:
    return f"{decisions.DECIDED}{what}. {note}"


def _checked(plan: Plan, *, only: Collection[ReviewClass] | None, by: User) -> Plan:
    """The plan, unless another person has the run, or it is of a class that is not meant."""

    def checked(job: Job, run: Run) -> Move:
        claims.refuse_others(run.id, by)
        if only is not None and (run.review_class not in only or run.effect != Effect.NONE):
            raise NotOfClass(run)
        return plan(job, run)

    return checked


def _escalate(run_id: UUID, *, token: int | None, note: str, by: User) -> Run:
    """It stays in review; whoever leads the team is told, and the queue marks it. Once is enough:
    a second click is stale."""
    with transaction.atomic():
        _, run = decisions.locked(run_id, of={State.REVIEW}, token=token)
        claims.refuse_others(run_id, by)
        if escalated(run):
            raise Stale(run)
        passed = decisions.record(run, "escalate", State.REVIEW, note=note, by=by)
        outbox.escalated(run_id, run.job_id, decision=passed.id, by=by.get_username(), note=note)
        claims.drop(run_id)
    log.warning("review.escalated", run=str(run_id), job=str(run.job_id), by=by.get_username())
    return run
