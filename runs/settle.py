"""Turn the outcome of an attempt into a state: run, key and attempt in one transaction.

Guarded by the fencing token: who comes late leaves evidence on the attempt, never a state.
"""

from __future__ import annotations

import random
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from jobs import clock, editing
from runs import idempotency, transitions, verdicts
from runs.models import Attempt, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from runs.verdicts import Facts, Verdict

log = structlog.get_logger("onebeat.run")
_dice = random.SystemRandom().random


def attempt(run_id: UUID, token: int, outcome: Outcome) -> State | None:
    """The state the run went to by this outcome of its attempt `token`; None when the attempt
    had been taken from its worker meanwhile (then the outcome is kept as late evidence)."""
    run = Run.objects.filter(id=run_id, attempt=token, state=State.RUNNING).first()
    if run is None:
        return _too_late(run_id, token, outcome)
    if outcome.pause_job:  # before the move: its locks come first, and it may be done twice
        _pause(run.job_id, outcome.reason)
    verdict = verdicts.of(outcome, facts(run, clock.now()), dice=_dice())
    with transaction.atomic():
        if not _move(run, verdict):
            moved = None
        else:
            moved = verdict.state
            _end_attempt(run_id, token, outcome)
            if moved is State.SUCCEEDED:
                idempotency.finish(run.key, token, outcome.answer)
    return moved or _too_late(run_id, token, outcome)


def lost(run: Run, now: datetime) -> State | None:
    """The state of a RUNNING run whose lease is over. Called under the run's row lock."""
    begun = run.intent_at is not None
    outcome = Outcome(
        Kind.LOST,
        Effect.MAYBE if begun or run.idempotent else Effect.NONE,
        "The worker fell silent "
        + ("after it had begun: nobody can prove what happened." if begun else "before it began."),
    )
    verdict = verdicts.of(outcome, facts(run, now), dice=_dice())
    if not _move(run, verdict):
        return None
    _end_attempt(run.id, run.attempt, outcome)
    return verdict.state


def facts(run: Run, now: datetime) -> Facts:
    """What a verdict on this run depends on."""
    return Facts(
        idempotent=run.idempotent,
        retry_unsent=run.retry_unsent,
        failures=run.failures,
        max_attempts=run.max_attempts,
        backoff=run.backoff,
        cap=run.cap,
        effect=Effect(run.effect),
        intent=run.intent_at is not None,
        age=(now - run.created_at).total_seconds(),
    )


def _move(run: Run, verdict: Verdict) -> bool:
    return transitions.move(
        run.id,
        verdict.state,
        token=run.attempt,
        send_in=verdict.wait,
        effect=verdict.effect,
        failures=verdict.failures,
        reason=verdict.reason,
        review_class=verdict.review_class,
    )


def _end_attempt(run_id: UUID, token: int, outcome: Outcome) -> None:
    Attempt.objects.filter(run_id=run_id, number=token, ended_at=None).update(
        ended_at=Now(),
        outcome=outcome.kind,
        effect=outcome.effect,
        reason=outcome.reason,
        answer=outcome.answer,
    )


def _too_late(run_id: UUID, token: int, outcome: Outcome) -> State | None:
    """The run is not ours any more: keep what came as evidence. Unless this very outcome was
    settled before and only the commit's answer was lost: then the state it led to."""
    settled = Attempt.objects.filter(run_id=run_id, number=token, outcome=outcome.kind)
    if state := settled.values_list("run__state", flat=True).first():
        return State(state)
    kept = Attempt.objects.filter(run_id=run_id, number=token, late__isnull=True).update(
        late=asdict(outcome)
    )
    log.warning("run.late_evidence", run=str(run_id), token=token, kind=outcome.kind, kept=kept)
    return None


def _pause(job_id: UUID, reason: str) -> None:
    try:
        editing.pause(job_id, editing.Pause(reason=reason), by=None)
    except (editing.Gone, editing.ReadOnly):
        log.warning("job.not_paused", job=str(job_id), reason=reason)


def runs_that_fell_silent(limit: int) -> list[Run]:
    """RUNNING runs whose lease is over, locked for this transaction; others' locks are skipped."""
    silent = Run.objects.filter(state=State.RUNNING, lease_until__lt=Now())
    return list(silent.order_by(F("lease_until")).select_for_update(skip_locked=True)[:limit])
