"""A run and its evidence as the API shows them; the evidence was masked when it was written."""

from __future__ import annotations

from typing import Any

from jobs import traces
from jobs.api_shapes import instant
from runs.backfills import backfill
from runs.backfills.span import Preview
from runs.models import Attempt, Backfill, Decision, Run

COLUMNS = (
    "id",
    "job_id",
    "key",
    "due_at",
    "state",
    "effect",
    "attempt",
    "failures",
    "reason",
    "origin",
    "backfill_id",
    "review_class",
    "skipped_until",
    "skipped_count",
    "blocked_by",
    "hold_id",
    "let_past_at",
    "stop_asked_at",
    "accepted_at",
    "lease_until",
    "not_before",
    "created_at",
    "sent_at",
    "started_at",
    "finished_at",
    "review_at",
    "died_at",
)


def of_run(run: Run) -> dict[str, Any]:
    """The run as a list shows it; touches COLUMNS alone."""
    return {
        "id": str(run.id),
        "job": str(run.job_id),
        "key": run.key,
        "trace_id": traces.trace_id(run.id),
        "due_at": instant(run.due_at),
        "state": run.state,
        "effect": run.effect,
        "attempt": run.attempt,
        "failures": run.failures,
        "reason": run.reason,
        "origin": run.origin,
        "backfill": run.backfill_id and str(run.backfill_id),
        "review_class": run.review_class,
        "skipped_until": instant(run.skipped_until),
        "skipped_count": run.skipped_count,
        "blocked_by": run.blocked_by and str(run.blocked_by),
        "hold": run.hold_id and str(run.hold_id),
        "let_past_at": instant(run.let_past_at),
        "stop_asked_at": instant(run.stop_asked_at),
        "report_until": instant(run.report_until),
        "not_before": instant(run.not_before),
        "created_at": instant(run.created_at),
        "sent_at": instant(run.sent_at),
        "started_at": instant(run.started_at),
        "finished_at": instant(run.finished_at),
        "review_at": instant(run.review_at),
        "died_at": instant(run.died_at),
    }


def with_evidence(run: Run) -> dict[str, Any]:
    """The run with each attempt and each decision, oldest first."""
    attempts = run.attempts.order_by("number")
    decisions = run.decisions.select_related("by", "second").order_by("at")
    return {
        **of_run(run),
        "attempts": [_of_attempt(attempt) for attempt in attempts],
        "decisions": [of_decision(decision) for decision in decisions],
    }


def of_backfill(found: Backfill) -> dict[str, Any]:
    """A backfill and how far it has come; `runs` counts its runs by state."""
    return {
        "id": str(found.id),
        "job": str(found.job_id),
        "from": instant(found.since),
        "to": instant(found.until),
        "reverse": found.reverse,
        "max_active": found.max_active,
        "state": found.state,
        "reason": found.reason,
        "moments": found.moments,
        "made": found.made,
        "passed": found.passed,
        "runs": backfill.counts(found),
        "by": found.by.get_username() if found.by else None,
        "created_at": instant(found.created_at),
        "finished_at": instant(found.finished_at),
    }


def of_preview(found: Preview) -> dict[str, Any]:
    """What a backfill would do."""
    return {
        "moments": found.moments,
        "first": instant(found.first),
        "last": instant(found.last),
        "existing": found.existing,
        "to_run": found.to_run,
    }


def _of_attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "started_at": instant(attempt.started_at),
        "intent_at": instant(attempt.intent_at),
        "ended_at": instant(attempt.ended_at),
        "lease_until": instant(attempt.lease_until),
        "outcome": attempt.outcome,
        "effect": attempt.effect,
        "reason": attempt.reason,
        "sent": attempt.sent,
        "answer": attempt.answer,
        "reported_at": instant(attempt.reported_at),
        "late": attempt.late,
    }


def of_decision(decision: Decision) -> dict[str, Any]:
    """What a person did; `key` is the new one, where one was chosen."""
    return {
        "by": decision.by.get_username() if decision.by else None,
        "at": instant(decision.at),
        "decision": decision.decision,
        "note": decision.note,
        "from_state": decision.from_state,
        "to_state": decision.to_state,
        "attempt": decision.attempt,
        "key": decision.key,
        "second": decision.second.get_username() if decision.second else None,
    }
