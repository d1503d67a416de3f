"""What waits for a person: which first, whose it is, and what is known of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import (
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Coalesce, Now

from jobs import clock
from runs import asked_of_target, key_proof
from runs.asked_of_target import Request
from runs.key_proof import Proof
from runs.models import Approval, Attempt, Decision, ProbeAnswer, ReviewClaim, Run
from runs.models.review import PENDING
from runs.review import approvals, deciding, probe, run_again
from runs.review import claims as review_claims
from runs.review import facts as review_facts
from runs.review.facts import Facts, Phase, Seen
from runs.states import State

WHOSE = ("mine", "others", "nobody")
ORDER = ("sort_at", "id")
_NO_TARGET = timedelta(days=36_525)  # after whatever has one, by age
_DECIDED = 200  # of the newest that have been decided while a page stood
_BEFORE = 10  # earlier decisions on the job

_DECIDE_BEFORE = ExpressionWrapper(
    F("review_at")
    + ExpressionWrapper(
        F("job__decide_by") * Value(timedelta(seconds=1), output_field=DurationField()),
        output_field=DurationField(),
    ),
    output_field=DateTimeField(),
)


def waiting(rows: QuerySet[Run]) -> QuerySet[Any]:
    """Of these rows those in review, the most overdue first, then by the time that is left, then
    the oldest. Each has `decide_before`, `was_escalated`, `waits_for_second`."""
    return waiting_among(rows.filter(state=State.REVIEW))


def waiting_among(rows: QuerySet[Any]) -> QuerySet[Any]:
    """These rows in the order of `waiting`, and with what it says of each."""
    passed_on = Decision.objects.filter(run=OuterRef("pk"), decision="escalate")
    asked = Approval.objects.filter(run=OuterRef("pk"), state=PENDING, expires_at__gt=Now())
    found: QuerySet[Any] = most_urgent(rows).annotate(
        was_escalated=Exists(passed_on.filter(at__gte=OuterRef("review_at"))),
        waits_for_second=Exists(asked),
    )
    return found


def most_urgent(rows: QuerySet[Any]) -> QuerySet[Any]:
    """These rows in that order, with `decide_before` alone."""
    without = ExpressionWrapper(F("review_at") + Value(_NO_TARGET), output_field=DateTimeField())
    found: QuerySet[Any] = rows.annotate(
        decide_before=_DECIDE_BEFORE, sort_at=Coalesce(_DECIDE_BEFORE, without)
    ).order_by(*ORDER)
    return found


def as_of(rows: QuerySet[Any], at: datetime) -> QuerySet[Any]:
    """As `waiting`, of those that were in review at that instant: what has been decided since is
    among them, so that no row moves under the hand of who is about to click on another."""
    since = Decision.objects.filter(at__gte=at, from_state=State.REVIEW)
    decided = since.exclude(to_state=State.REVIEW).order_by("-at").values("run")[:_DECIDED]
    there = rows.filter(
        Q(state=State.REVIEW) | Q(id__in=list(decided.values_list("run", flat=True)))
    )
    return waiting_among(there.filter(review_at__lte=at))


def behind(waiting: QuerySet[Any], run_id: UUID) -> QuerySet[Any]:
    """Of `waiting` those behind this run, wherever it is by now."""
    last = most_urgent(Run.objects.filter(id=run_id)).values_list("sort_at", flat=True).first()
    if last is None:
        return waiting
    found: QuerySet[Any] = waiting.filter(Q(sort_at__gt=last) | Q(sort_at=last, id__gt=run_id))
    return found


def narrowed(
    rows: QuerySet[Any],
    user_id: int,
    *,
    classes: Sequence[str] = (),
    team: str = "",
    job_id: UUID | None = None,
    whose: str = "",
    overdue: bool = False,
) -> QuerySet[Any]:
    """Of `waiting` those of these classes, this team and job, in these hands, beyond their time."""
    lasting = Q(reviewclaim__until__gt=Now())
    by_whose = {
        "mine": lasting & Q(reviewclaim__by_id=user_id),
        "others": lasting & ~Q(reviewclaim__by_id=user_id),
        "nobody": Q(reviewclaim=None) | Q(reviewclaim__until__lte=Now()),
    }
    if classes:
        rows = rows.filter(review_class__in=classes)
    if team:
        rows = rows.filter(job__team__slug=team)
    if job_id:
        rows = rows.filter(job_id=job_id)
    if whose:
        rows = rows.filter(by_whose[whose])
    return rows.filter(decide_before__lt=Now()) if overdue else rows


def claims(run_ids: Sequence[UUID]) -> dict[UUID, ReviewClaim]:
    """The lasting claims on these runs."""
    lasting = ReviewClaim.objects.filter(run__in=run_ids, until__gt=Now()).select_related("by")
    return {claim.run_id: claim for claim in lasting}


@dataclass(frozen=True)
class Evidence:
    """What is known of a run in review, on one record. `lease_until` is of its last attempt, by
    the last heartbeat; `locked_until` stands only where a probe is asked."""

    run: Run
    facts: Facts
    attempts: list[Attempt]
    decisions: list[Decision]
    before: list[Decision]
    phase: Phase | None
    bytes_sent: int | None
    lease_until: datetime | None
    under_way_until: datetime | None
    locked_until: datetime | None
    decide_before: datetime | None
    probed: ProbeAnswer | None
    claim: ReviewClaim | None
    approval: Approval | None
    escalated: Decision | None
    wants_second: bool
    proof: Proof
    request: Request | None
    now: datetime

    @property
    def under_way(self) -> bool:
        """Whether the call may be under way just now."""
        return self.under_way_until is not None and self.now < self.under_way_until

    @property
    def questions(self) -> list[str]:
        """What nobody knows of it."""
        said = (self.probed.answer if self.probed else "") if self.run.job.probe else None
        seen = Seen(self.facts.unknown, self.phase, self.under_way, said, self.proof.proven)
        return review_facts.open_questions(seen)

    @property
    def overdue(self) -> bool:
        """Whether it should have been decided by now."""
        return self.decide_before is not None and self.decide_before < self.now

    @property
    def last(self) -> Attempt | None:
        """Its last attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def phase_words(self) -> str:
        """How far it came, for people."""
        if self.phase is None:
            return "It was never started. Nothing was sent."
        return review_facts.PHASE_WORDS[self.phase]

    @property
    def probe_words(self) -> str:
        """What the probe said, for people."""
        return probe.WORDS[self.probed.answer] if self.probed else ""

    @property
    def late(self) -> list[Attempt]:
        """The attempts of which something came back too late to count."""
        return [attempt for attempt in self.attempts if attempt.late]


def evidence(run: Run) -> Evidence:
    """The record on a run that is in review; `run` with its job and team."""
    attempts = list(run.attempts.order_by("number"))
    last = run_again.tried(attempts[-1]) if attempts else None
    by_then = run.review_at or run.created_at
    within = run.job.decide_by
    return Evidence(
        run=run,
        facts=review_facts.of(run.review_class, run.effect),
        attempts=attempts,
        decisions=list(run.decisions.select_related("by", "second").order_by("at")),
        before=_before(run),
        phase=review_facts.phase(last) if last else None,
        bytes_sent=review_facts.bytes_sent(last) if last else 0,
        lease_until=last.lease_until if last else None,
        under_way_until=run_again.under_way_until(run, attempts),
        locked_until=run_again.locked_until(run, attempts) if run.job.probe else None,
        decide_before=by_then + timedelta(seconds=within) if within else None,
        probed=probe.last(run),
        claim=review_claims.of(run.id),
        approval=approvals.of(run.id),
        escalated=deciding.escalated(run),
        wants_second=approvals.wanted(run.job, new_key=False),
        proof=key_proof.of(run),
        request=asked_of_target.of_next(run),
        now=clock.now(),
    )


def _before(run: Run) -> list[Decision]:
    """The newest decisions on other runs of the job."""
    of_job = Decision.objects.filter(run__job_id=run.job_id, from_state=State.REVIEW)
    others = of_job.exclude(run=run).select_related("by", "run__job").defer("run__snapshot")
    return list(others.order_by("-at")[:_BEFORE])
