"""The receipt of one run: everything on record of why it fired, and what became of it.

Told from the rows alone, so that it says the same whoever asks and whenever, once the run has
ended. What was sent and what came back was capped and masked when it was written.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs.api_shapes import instant, masked_target
from jobs.models import JobVersion
from jobs.targets.shapes import TargetError
from runs import api_shapes, passages
from runs.models import IdempotencyKey, Run
from runs.passages import Passage
from runs.states import Origin, State

FORM = 1  # of this document


def of_run(run: Run, *, now: datetime) -> dict[str, Any]:
    """The receipt, as JSON; `now` is when it is made out."""
    passed = list(passages.read(run.passed))
    return {
        "form": FORM,
        "made_out_at": instant(now),
        "run": str(run.id),
        "team": run.job.team.slug,
        "job": {"id": str(run.job_id), "name": run.job.name, **_version(run)},
        "due": _due(run),
        "target": _target(run),
        "idempotent": run.idempotent,
        "key": run.key,
        "keys": [_key(key) for key in IdempotencyKey.objects.filter(run=run).order_by("step")],
        "claimed": _claimed(run, passed),
        "sent": _sent(run, passed),
        "passed": [_passage(passage) for passage in passed],
        **_evidence(run),
        "state": run.state,
        "effect": run.effect,
        "review_class": run.review_class,
        "reason": run.reason,
        "failures": run.failures,
        "max_attempts": run.max_attempts,
        "finished_at": instant(run.finished_at),
    }


def _target(run: Run) -> dict[str, Any] | None:
    """What it calls, secrets masked; null where a newer version of Onebeat wrote it."""
    try:
        return masked_target(run.snapshot)
    except TargetError:
        return None


def _version(run: Run) -> dict[str, Any]:
    """The version of the job that it came from, and whose edit that was."""
    found = JobVersion.objects.select_related("by").filter(
        job_id=run.job_id, number=run.job_version
    )
    version = found.first()
    return {
        "version": run.job_version,
        "began_at": instant(version.began_at) if version else None,
        "by": version.by.get_username() if version and version.by else None,
    }


def _due(run: Run) -> dict[str, Any]:
    """Its moment and what made it due."""
    version = JobVersion.objects.filter(job_id=run.job_id, number=run.job_version).first()
    definition = version.definition if version else {}
    return {
        "at": instant(run.due_at),
        "origin": run.origin,
        "asked_by": _asked_by(run),
        "backfill": run.backfill_id and str(run.backfill_id),
        "schedule": definition.get("schedule"),
        "calendar": definition.get("calendar"),
        "utc_offset_minutes": run.utc_offset,
        "not_before": instant(run.not_before),
        "skipped_until": instant(run.skipped_until),
        "skipped_count": run.skipped_count,
    }


def _asked_by(run: Run) -> str | None:
    """The person who asked for it by hand."""
    first = next(passages.read(run.passed), None)
    return (first.who or None) if first and run.origin == Origin.HAND else None


def _claimed(run: Run, passed: list[Passage]) -> dict[str, Any]:
    """When it was written down, and by which beat (null: by hand, or before that was recorded)."""
    by = passed[0].who if passed and run.origin != Origin.HAND else ""
    return {"at": instant(run.created_at), "by": by or None}


def _sent(run: Run, passed: list[Passage]) -> dict[str, Any]:
    """Every sending that is on record, and how many there were."""
    sendings = [passage for passage in passed if passage.state is State.ENQUEUED]
    listed = [{"at": instant(passage.at), "by": passage.who} for passage in sendings]
    return {"queue": run.queue, "times": run.sends, "sendings": listed}


def _passage(passage: Passage) -> dict[str, Any]:
    return {"state": str(passage.state), "at": instant(passage.at), "by": passage.who or None}


def _key(key: IdempotencyKey) -> dict[str, Any]:
    return {
        "step": key.step,
        "state": key.state,
        "held_by_attempt": key.holder,
        "fingerprint": key.fingerprint,
        "created_at": instant(key.created_at),
    }


def _evidence(run: Run) -> dict[str, Any]:
    """Its attempts, each with its lease, and its decisions."""
    told = api_shapes.with_evidence(run)
    leases = dict(run.attempts.values_list("number", "lease_id"))
    attempts = [{**one, "lease": str(leases[one["number"]])} for one in told["attempts"]]
    return {"attempts": attempts, "decisions": told["decisions"]}
