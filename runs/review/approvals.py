"""Two pairs of eyes: what one person asks for, a second one approves in the transaction that acts.

A team asks for them (`two_pairs_of_eyes`) before a run goes again under a new key; a critical job
before any of its runs in review goes again. The replay of many is asked for in replay_batch.py.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jobs import events
from jobs.models import Job, Team, User
from jobs.roles import Act
from runs import decisions, subjects
from runs.models import Approval, Run
from runs.models.review import APPROVED, OVERTAKEN, PENDING, REFUSED, WITHDRAWN
from runs.review import claims, probe, run_again
from runs.states import State

RUN_AGAIN = "run_again"

log = structlog.get_logger("onebeat.review")


class Asked(Exception):
    """Not done: it waits for a second person. `approval` is what was asked."""

    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        super().__init__("It waits for a second person. Nothing was sent.")


class AskedAlready(Exception):
    """Somebody has asked for it, and it waits for a second person. `approval` is what waits."""

    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        who = approval.by.get_username()
        super().__init__(f"{who} has asked to run it again, and a second person is to approve it.")


class Over(Exception):
    """It does not wait any more: answered, taken back, overtaken, or too old."""

    def __init__(self, approval: Approval) -> None:
        self.approval = approval
        who = approval.answered_by
        by = f" by {who.get_username()}" if who else ""
        ended = "too old" if approval.state == PENDING else approval.state
        super().__init__(f"This request is {ended} by now{by}.")


class NotYours(Exception):
    """One's own request is approved by another; only one's own is taken back."""


def wanted(job: Job, *, new_key: bool) -> bool:
    """Whether a run of this job goes again only when a second person approves."""
    return job.critical or (new_key and job.team.two_pairs_of_eyes)


def waiting(user_id: int | None) -> QuerySet[Approval]:
    """What waits for a second person in the teams of this one, oldest first."""
    rows = Approval.objects.filter(state=PENDING, expires_at__gt=Now())
    seen = rows.filter(team__in=Team.objects.where(user_id, Act.READ))
    return seen.select_related("by", "team", "run__job").order_by("at")


def of(run_id: UUID) -> Approval | None:
    """What waits for a second person about this run."""
    rows = Approval.objects.filter(run_id=run_id, state=PENDING, expires_at__gt=Now())
    return rows.select_related("by").first()


def ask(run_id: UUID, *, token: int | None, new_key: bool, note: str, by: User) -> Approval:
    """A request to run a run in review again, on record. Raises Stale, Claimed, NotYetSettled,
    AskedAlready."""
    with transaction.atomic():
        _, run = decisions.locked(run_id, of={State.REVIEW}, token=token)
        claims.refuse_others(run_id, by)
        run_again.refuse_early(run)
        if already := of(run_id):
            raise AskedAlready(already)
        overtake(run_id)  # what is too old
        asked = {"attempt": run.attempt, "new_key": new_key}
        approval = _recorded(run, asked, note=note, by=by)
        claims.drop(run_id)  # the second person may look, and decide otherwise
        events.record("approval.asked", subjects.of_run(run), by=by, reason=note)
    log.info("approval.asked", run=str(run_id), new_key=new_key, by=by.get_username())
    return approval


def _recorded(run: Run, asked: dict[str, Any], *, note: str, by: User) -> Approval:
    approval = Approval.objects.create(
        team=run.job.team,
        run=run,
        act=RUN_AGAIN,
        asked=asked,
        note=note,
        by=by,
        at=Now(),
        expires_at=Now() + decisions.SECOND_WITHIN,
    )
    approval.refresh_from_db()
    return approval


def approve(approval_id: UUID, *, note: str = "", by: User) -> Run:
    """The run goes again, by the first one's request and the second one's word. Raises NotYours
    for one's own, Over, Stale, and what `run_again.plan` does."""
    approval = Approval.objects.select_related("run__job__team", "by").get(id=approval_id)
    run = approval.run
    answer = probe.ask(run, by=by) if approval.state == PENDING else None
    new_key = bool(approval.asked["new_key"])
    said = f"{decisions.DECIDED}run again, approved by {by.get_username()}. {approval.note}"
    with transaction.atomic():
        decisions.locked(run.id, of=set(State), token=None)  # the run before its request
        _answer(approval, APPROVED, by=by, note=note)
        moved = decisions.move(
            run.id,
            run_again.plan(new_key=new_key, said=said, answer=answer),
            of={State.REVIEW},
            token=approval.asked["attempt"],
            decision=RUN_AGAIN,
            note=approval.note,
            by=approval.by,
            second=by,
        )
        claims.drop(run.id)
    return moved


def refuse(approval_id: UUID, *, note: str, by: User) -> Approval:
    """The request refused, with a note; its own author takes it back instead. Raises NoteMissing,
    NotYours, Over."""
    return _answered(approval_id, REFUSED, note=decisions.required(note), by=by)


def withdraw(approval_id: UUID, *, by: User) -> Approval:
    """One's own request taken back. Raises NotYours, Over."""
    return _answered(approval_id, WITHDRAWN, note="", by=by)


def overtake(run_id: UUID) -> None:
    """A decision was made, or the time is over: nothing waits about this run any more."""
    rows = Approval.objects.filter(run_id=run_id, state=PENDING)
    rows.update(state=OVERTAKEN, answered_at=Now())


def _answered(approval_id: UUID, state: str, *, note: str, by: User) -> Approval:
    with transaction.atomic():
        approval = Approval.objects.select_related("by", "run__job").get(id=approval_id)
        _answer(approval, state, by=by, note=note)
    approval.refresh_from_db()
    return approval


def _answer(approval: Approval, state: str, *, by: User, note: str) -> None:
    """A compare-and-set: of two answers at once one wins."""
    if (state == WITHDRAWN) != (by.id == approval.by_id):
        raise NotYours(
            "This is your own request: a second person approves it."
            if by.id == approval.by_id
            else f"Only {approval.by.get_username()} takes this request back."
        )
    lasting = Approval.objects.filter(id=approval.id, state=PENDING, expires_at__gt=Now())
    won = lasting.update(state=state, answered_by=by, answered_at=Now(), answer_note=note)
    if not won:
        approval.refresh_from_db()
        raise Over(approval)
    events.record(f"approval.{state}", subjects.of_run(approval.run), by=by, reason=note)
    log.info("approval.answered", approval=str(approval.id), state=state, by=by.get_username())
