"""A run in review as the API shows it: the line of the queue, and all that is known."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from jobs.api_shapes import instant
from runs import api_shapes
from runs.key_proof import Proof
from runs.models import Approval, Decision, ProbeAnswer, ReviewClaim, Run
from runs.review.bulk import Result
from runs.review.queue import Evidence


def of_item(run: Any, claim: ReviewClaim | None, now: datetime) -> dict[str, Any]:
    """A line of the queue: the run as every list shows it, and what its decision goes by."""
    return {
        **api_shapes.of_run(run),
        "review": {
            **_times(run, run.decide_before, now),
            "escalated": run.was_escalated,
            "waits_for_second": run.waits_for_second,
            "claim": of_claim(claim),
        },
    }


def of_evidence(found: Evidence, now: datetime) -> dict[str, Any]:
    """All that is known of one."""
    run = found.run
    return {
        **api_shapes.with_evidence(run),
        "review": {
            **_times(run, found.decide_before, now),
            "known": found.facts.known,
            "unknown": found.facts.unknown,
            "questions": found.questions,
            "phase": found.phase or "not started",
            "bytes_sent": found.bytes_sent,
            "answer": found.last.answer if found.last else {},
            "late": [attempt.late for attempt in found.late],
            "lease_until": instant(found.lease_until),
            "under_way_until": instant(found.under_way_until),
            "locked_until": instant(found.locked_until),
            "probe": of_probe(found.probed),
            "key_proof": _of_proof(found.proof),
            "request": found.request and asdict(found.request),
            "runbook": run.job.runbook,
            "before": [_of_earlier(decision) for decision in found.before],
            "escalated": found.escalated and api_shapes.of_decision(found.escalated),
            "approval": found.approval and of_approval(found.approval),
            "claim": of_claim(found.claim),
        },
    }


def of_claim(claim: ReviewClaim | None) -> dict[str, Any] | None:
    """Who looks at it, and until when."""
    if claim is None:
        return None
    return {
        "by": claim.by.get_username(),
        "at": instant(claim.at),
        "until": instant(claim.until),
    }


def of_probe(answer: ProbeAnswer | None) -> dict[str, Any] | None:
    """What the probe said, and when."""
    if answer is None:
        return None
    return {"answer": answer.answer, "detail": answer.detail, "at": instant(answer.at)}


def of_approval(approval: Approval) -> dict[str, Any]:
    """What waits, or waited, for a second person."""
    second = approval.answered_by
    return {
        "id": str(approval.id),
        "run": str(approval.run_id),
        "act": approval.act,
        "asked": approval.asked,
        "note": approval.note,
        "by": approval.by.get_username(),
        "at": instant(approval.at),
        "expires_at": instant(approval.expires_at),
        "state": approval.state,
        "answered_by": second and second.get_username(),
        "answered_at": instant(approval.answered_at),
        "answer_note": approval.answer_note,
    }


def of_result(result: Result) -> dict[str, Any]:
    """What became of one of many."""
    return {
        "run": str(result.run_id),
        "decided": result.decided,
        "state": result.state,
        "detail": result.said,
    }


def _times(run: Run, decide_before: datetime | None, now: datetime) -> dict[str, Any]:
    return {
        "since": instant(run.review_at),
        "decide_before": instant(decide_before),
        "overdue": decide_before is not None and decide_before < now,
    }


def _of_proof(proof: Proof) -> dict[str, Any]:
    return {
        "proven": proof.proven,
        "detail": proof.words,
        "run": str(proof.run_id) if proof.run_id else None,
        "test": str(proof.trial_id) if proof.trial_id else None,
        "at": instant(proof.at),
    }


def _of_earlier(decision: Decision) -> dict[str, Any]:
    return {"run": str(decision.run_id), **api_shapes.of_decision(decision)}
