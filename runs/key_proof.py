"""Whether a job's target is proven to honour the key: that it acts once, however often it is called
with the same one.

Only what the target did itself is proof, and only of the place that it is called at now:

| sign | what it proves |
|---|---|
| an answer marked as a replay of an earlier one | it keeps answers by the key |
| 409 that echoes our key | it knows a key that is being worked on |
| a step of the key, claimed here | its handler does each effect once, by our store |

The first two count in an answer to a run and in one to a test request alike.

A probe that tells what became of a key proves no such thing: it looks, and does not act.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Q, QuerySet

from runs.models import Attempt, IdempotencyKey, Run, Trial
from runs.outcomes import Kind

_RECENT = 200  # runs of the job that are looked through, the newest
_CANDIDATES = 20
# By which targets mark an answer that they gave before; lower case, as evidence keeps them.
REPLAYED = ("idempotency-replayed", "idempotent-replayed")
_MARKED = [Q(**{f"answer__headers__{name}__iexact": "true"}) for name in REPLAYED]
_SIGNS = reduce(or_, _MARKED, Q(outcome=Kind.LATER))
_NOT_PROVEN = "Not proven: nothing on record shows that this target acts once for a key."


@dataclass(frozen=True)
class Proof:
    """What is proven, for people, when and by which run or test request; nothing by none."""

    words: str = _NOT_PROVEN
    run_id: UUID | None = None
    trial_id: UUID | None = None
    at: datetime | None = None

    @property
    def proven(self) -> bool:
        """Whether anything is."""
        return self.at is not None


def of(run: Run) -> Proof:
    """What is proven of the target that this run calls, by the newest sign."""
    signs = (_by_answers(run), _by_steps(run), _by_trials(run))
    found = [sign for sign in signs if sign is not None]
    return max(found, key=_when, default=Proof())


def _when(proof: Proof) -> float:
    return proof.at.timestamp() if proof.at else 0.0


def replayed(answer: dict[str, Any]) -> bool:
    """Whether an answer, as evidence keeps it, is marked as one that was given before."""
    headers = answer.get("headers")
    return isinstance(headers, dict) and any(
        str(headers.get(name, "")).lower() == "true" for name in REPLAYED
    )


def _by_answers(run: Run) -> Proof | None:
    signs = Attempt.objects.filter(_SIGNS, run__in=_recent(run))
    for attempt in _here(run, signs.select_related("run").order_by("-started_at")):
        return Proof(_words(attempt.answer), run_id=attempt.run_id, at=attempt.started_at)
    return None


def _by_trials(run: Run) -> Proof | None:
    signs = Trial.objects.filter(_SIGNS, job_id=run.job_id).order_by("-at")[:_CANDIDATES]
    where = place(run.snapshot)
    for trial in signs:
        if place(trial.snapshot) == where:
            return Proof(_words(trial.answer), trial_id=trial.id, at=trial.at)
    return None


def _words(answer: dict[str, Any]) -> str:
    if replayed(answer):
        return "Proven: it gave an earlier answer to the same key again, and said so."
    return "Proven: it answered that it was still at work on the same key."


def _by_steps(run: Run) -> Proof | None:
    claimed = IdempotencyKey.objects.filter(run__in=_recent(run)).exclude(step="")
    for step in _here(run, claimed.select_related("run").order_by("-created_at")):
        words = (
            f"Proven: its handler claims each step of a key here before it acts («{step.step}»)."
        )
        return Proof(words, run_id=step.run.id, at=step.created_at)
    return None


def _recent(run: Run) -> QuerySet[Any]:
    rows = Run.objects.filter(job_id=run.job_id).order_by("-id")
    return rows.values("id")[:_RECENT]


def _here(run: Run, signs: QuerySet[Any]) -> Iterator[Any]:
    """Of these signs those of a run that called where this one calls."""
    where = place(run.snapshot)
    return (sign for sign in signs[:_CANDIDATES] if place(sign.run.snapshot) == where)


def place(snapshot: dict[str, Any]) -> tuple[str, ...]:
    """Where a run calls: the host and path of a URL, or the name of a task."""
    if snapshot.get("type") != "http":
        return ("task", str(snapshot.get("name", "")))
    parts = urlsplit(str(snapshot.get("url", "")))
    return ("http", parts.scheme, parts.netloc, parts.path)
