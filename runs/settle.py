"""Turn the outcome of an attempt into a state: run, key and attempt in one transaction.

Guarded by the fencing token: who comes late leaves evidence on the attempt, never a state.
"""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Min
from django.db.models.functions import Now

from jobs import clock, editing, prepared
from jobs.json_values import json_text
from jobs.models import Job
from jobs.models.job import TAKES_TURNS
from runs import error_groups, idempotency, release, transitions, verdicts
from runs.faults import fault
from runs.models import Attempt, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import ACTIVE, State
from runs.verdicts import Facts, Verdict

log = structlog.get_logger("onebeat.run")
_dice = random.SystemRandom().random


def attempt(run_id: UUID, token: int, outcome: Outcome) -> State | None:
    """The state the run went to by this outcome of its attempt `token`; None when the attempt
    had been taken from its worker meanwhile (then the outcome is kept as late evidence)."""
    run = _running(run_id, token)
    if run is None:
        return _too_late(run_id, token, outcome)
    if outcome.pause_job:  # before the move: its locks come first, and it may be done twice
        _pause(run.job_id, outcome.reason)
    with transaction.atomic():
        moved = _settled(run, outcome)
    fault("result.commit_unknown")
    if moved is State.RETRYING:
        fault("retry.after_commit")
    return moved or _too_late(run_id, token, outcome)


# The columns that a verdict hangs on, and no more: a run's row, and its job's, are wide.
_COLUMNS = (
    *("id", "job_id", "key", "attempt", "failures", "max_attempts", "backoff", "cap"),
    *("idempotent", "effect", "retry_unsent", "deadline", "lease_until", "intent_at"),
    *("accepted_at", "stop_asked_at"),
)
_WEIGHED = f"""
select {TAKES_TURNS}, {", ".join(f"r.{column}" for column in _COLUMNS)}
  from runs_run r join jobs_job j on j.id = r.job_id
 where r.id = %s and r.attempt = %s and r.state = 'RUNNING'
"""  # noqa: S608 — words of our own


def _running(run_id: UUID, token: int) -> Run | None:
    for takes_turns, *values in prepared.rows(_WEIGHED, [run_id, token]):
        run = prepared.instance(Run, dict(zip(_COLUMNS, values, strict=True)))
        run.takes_turns = takes_turns
        return run
    return None


def _settled(run: Run, outcome: Outcome) -> State | None:
    job = _in_turn(run)
    # Under the lock once more: a moment that came meanwhile may have asked it to stop.
    current = run if job is None else _running(run.id, run.attempt)
    if current is None:
        return None
    verdict = _verdict(current, outcome)
    if not _move(current, verdict):
        return None
    _end_attempt(current, outcome)
    if verdict.state is State.SUCCEEDED:
        idempotency.finish(run.key, run.attempt, outcome.answer)
    _let_others_go(job, verdict.state)
    return verdict.state


def reported(run_id: UUID, token: int, outcome: Outcome) -> State | None:
    """The state the run went to by its target's own report on attempt `token`; None where that is
    not waited for any more: a first report is then kept as late evidence."""
    run = _running(run_id, token)
    told = Attempt.objects.filter(run_id=run_id, number=token, reported_at=None)
    with transaction.atomic():
        moved = _settled(run, outcome) if run else None
        if moved:
            told.update(reported_at=Now())
    if moved is None and told.update(reported_at=Now()):
        _keep(run_id, token, outcome)
    return moved


def _verdict(run: Run, outcome: Outcome) -> Verdict:
    age = _asked_for(run) if outcome.kind is Kind.LATER else 0.0
    verdict = verdicts.of(outcome, facts(run, age), dice=_dice())
    if verdict.fault:
        log.error("run.default_wait", run=str(run.id), wait=verdict.wait, why=verdict.fault)
    return verdict


def _asked_for(run: Run) -> float:
    """Seconds since the first attempt, or the first since a person sent it once more."""
    decided = run.decisions.order_by("-at").values_list("attempt", flat=True).first() or 0
    since = run.attempts.filter(number__gt=decided).aggregate(first=Min("started_at"))["first"]
    return (clock.now() - since).total_seconds() if since else 0.0


def _in_turn(run: Run) -> Job | None:
    """The run's job, locked, where its runs may be in one another's way. The lock on the job
    comes before any on a run."""
    return release.lock(run.job_id) if run.takes_turns else None


def _let_others_go(job: Job | None, state: State) -> None:
    if job is not None and state not in ACTIVE:
        release.waiting(job)


def silent_runs(limit: int) -> list[tuple[UUID, int]]:
    """RUNNING runs whose lease is over, with their tokens, the longest silent first."""
    silent = Run.objects.filter(state=State.RUNNING, lease_until__lt=Now())
    return list(silent.order_by("lease_until").values_list("id", "attempt")[:limit])


def lost(run_id: UUID, token: int) -> State | None:
    """The state that a run went to whose lease is over; None where somebody else has it."""
    seen = _running(run_id, token)
    if seen is None:
        return None
    with transaction.atomic():
        job = _in_turn(seen)
        silent = Run.objects.filter(
            id=run_id, attempt=token, state=State.RUNNING, lease_until__lt=Now()
        )
        run = silent.select_for_update(skip_locked=True).first()
        state = _lost(run) if run else None
        if state:
            _let_others_go(job, state)
    return state


def _lost(run: Run) -> State | None:
    outcome = _silence(run)
    verdict = _verdict(run, outcome)
    if not _move(run, verdict):
        return None
    _end_attempt(run, outcome)
    return verdict.state


def _silence(run: Run) -> Outcome:
    """What is known of a run whose lease is over."""
    if run.accepted_at is not None and run.stop_asked_at is not None:
        reason = "The target had accepted it; its report is not waited for."
        return Outcome(Kind.STOPPED, Effect.MAYBE, reason)
    if run.accepted_at is not None:
        reason = "The target had accepted it, and has not reported by the deadline."
        return Outcome(Kind.UNKNOWN, Effect.MAYBE, reason)
    begun = run.intent_at is not None
    return Outcome(
        Kind.LOST,
        Effect.MAYBE if begun or run.idempotent else Effect.NONE,
        "The worker fell silent "
        + ("after it had begun: nobody can prove what happened." if begun else "before it began."),
    )


def facts(run: Run, age: float) -> Facts:
    """What a verdict on this run depends on; `age` as the verdict has it."""
    return Facts(
        idempotent=run.idempotent,
        retry_unsent=run.retry_unsent,
        failures=run.failures,
        max_attempts=run.max_attempts,
        backoff=run.backoff,
        cap=run.cap,
        effect=Effect(run.effect),
        intent=run.intent_at is not None,
        stop_asked=run.stop_asked_at is not None,
        age=age,
        deadline=run.deadline,
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
        **_group(run, verdict),
    )


def _group(run: Run, verdict: Verdict) -> dict[str, Any]:
    """Those that died alike, where the verdict is death."""
    if verdict.state is not State.DEAD:
        return {}
    return {"error_group": error_groups.group_of(run.job_id, verdict.reason)}


_END_ATTEMPT = """
update runs_attempt
   set ended_at = statement_timestamp(), lease_until = %(lease_until)s, outcome = %(outcome)s,
       effect = %(effect)s, reason = %(reason)s, answer = coalesce(%(answer)s::jsonb, answer)
 where run_id = %(run)s and number = %(token)s and ended_at is null
"""


def _end_attempt(run: Run, outcome: Outcome) -> None:
    values: dict[str, Any] = {
        "run": run.id,
        "token": run.attempt,
        "lease_until": run.lease_until,
        "outcome": outcome.kind,
        "effect": outcome.effect,
        "reason": outcome.reason,
        "answer": json_text(outcome.answer) if outcome.answer else None,  # what was there stays
    }
    prepared.rows(_END_ATTEMPT, values)


def _too_late(run_id: UUID, token: int, outcome: Outcome) -> State | None:
    """The run is not ours any more: keep what came as evidence. Unless this very outcome was
    settled before and only the commit's answer was lost: then the state it led to."""
    settled = Attempt.objects.filter(run_id=run_id, number=token, outcome=outcome.kind)
    if state := settled.values_list("run__state", flat=True).first():
        return State(state)
    _keep(run_id, token, outcome)
    return None


def _keep(run_id: UUID, token: int, outcome: Outcome) -> None:
    kept = Attempt.objects.filter(run_id=run_id, number=token, late__isnull=True).update(
        late=asdict(outcome)
    )
    log.warning("run.late_evidence", run=str(run_id), token=token, kind=outcome.kind, kept=kept)


def _pause(job_id: UUID, reason: str) -> None:
    try:
        editing.pause(job_id, editing.Pause(reason=reason), by=None)
    except (editing.Gone, editing.ReadOnly):
        log.warning("job.not_paused", job=str(job_id), reason=reason)
