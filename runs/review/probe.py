"""Ask a job's outcome probe whether the effect of a key happened.

In the request of the person who decides, with a short time-out: the answer is for their eyes, is
asked once more at the very decision, and must not wait behind whatever the queue holds. Never
under a lock nor in a transaction, and never by a beat.
"""

from __future__ import annotations

import json
import queue
import threading
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from jobs import events, sealing, task_registry
from jobs.models import User
from jobs.targets.addresses import AllowList
from jobs.targets.shapes import HttpTarget
from runs import evidence, subjects
from runs.models import ProbeAnswer, Run
from runs.models.review import ANSWERS
from runs.outcomes import Kind, Outcome
from runs.targets import http
from runs.targets.prepared import NotSent

HAPPENED, DID_NOT, CANNOT_TELL = ANSWERS
WORDS = {
    HAPPENED: "It happened.",
    DID_NOT: "It did not happen.",
    CANNOT_TELL: "It cannot tell.",
}
TIMEOUT = 5.0  # seconds
_NO_ANSWER = 'Its answer is none: write {"answer": "happened" | "did_not" | "cannot_tell"}.'

log = structlog.get_logger("onebeat.review")


@dataclass(frozen=True)
class _Said:
    answer: str
    detail: str


def ask(run: Run, *, by: User) -> ProbeAnswer | None:
    """What the probe of the run's job says about its key just now, on record; None where the job
    has none. A probe that fails or is silent cannot tell, and says why."""
    probe = run.job.probe
    if not probe:
        return None
    said = _by_url(run, probe["url"]) if "url" in probe else _by_task(run, probe["task"])
    with transaction.atomic():
        found = ProbeAnswer.objects.create(
            run=run, key=run.key, at=Now(), answer=said.answer, detail=said.detail, by=by
        )
        events.record("review.probed", subjects.of_run(run), by=by, reason=WORDS[said.answer])
    found.refresh_from_db()
    log.info("review.probed", run=str(run.id), answer=said.answer)
    return found


def last(run: Run) -> ProbeAnswer | None:
    """What it said last about the key that the run has now."""
    answers = ProbeAnswer.objects.filter(run=run, key=run.key)
    return answers.order_by("-id").first()


def _by_url(run: Run, url: str) -> _Said:
    joint = "&" if "?" in url else "?"
    target = HttpTarget("GET", f"{url}{joint}key={quote(run.key, safe='')}")
    try:
        secret = sealing.unseal(run.job.signing_secret, settings.SEALING_KEYS)
        call = http.Call(
            target=target,
            key=run.key,
            job_id=str(run.job_id),
            run_id=str(run.id),
            due_at=run.due_at,
            attempt=run.attempt,
            timeout=TIMEOUT,
            signing_secret=secret,
        )
        with closing(http.prepare(call, allow=AllowList.parse(settings.EGRESS_ALLOW))) as line:
            return _of_outcome(line.perform())
    except NotSent as failed:
        return _Said(CANNOT_TELL, evidence.sentence(failed.reason))
    except sealing.SealingError as error:
        return _Said(CANNOT_TELL, f"The job’s signing secret cannot be opened: {error}")


def _of_outcome(outcome: Outcome) -> _Said:
    body = outcome.answer.get("body")
    if outcome.kind is not Kind.SUCCEEDED or not isinstance(body, str):
        return _Said(CANNOT_TELL, outcome.reason)
    try:
        return _read(json.loads(body))
    except (ValueError, RecursionError):
        return _Said(CANNOT_TELL, _NO_ANSWER)


def _by_task(run: Run, name: str) -> _Said:
    """In a thread of its own: a function cannot be cut off, only left to itself."""
    handler = task_registry.registered(name)
    if handler is None:
        return _Said(CANNOT_TELL, f"No task named {name} may be called by jobs here.")
    box: queue.SimpleQueue[_Said] = queue.SimpleQueue()

    def call() -> None:
        try:
            box.put(_read(handler(key=run.key)))
        except BaseException as error:
            text = evidence.sentence(f"The task ended with {type(error).__name__}: {error}")
            box.put(_Said(CANNOT_TELL, evidence.redact_named(text)))
        finally:
            connection.close()

    threading.Thread(target=call, daemon=True, name="probe").start()
    try:
        return box.get(timeout=TIMEOUT)
    except queue.Empty:
        return _Said(CANNOT_TELL, f"The task did not answer within {TIMEOUT:.0f} s.")


def _read(given: object) -> _Said:
    """`{"answer", "detail"}`, or the answer alone."""
    answer = given.get("answer") if isinstance(given, dict) else given
    if not isinstance(answer, str) or answer not in ANSWERS:
        return _Said(CANNOT_TELL, _NO_ANSWER)
    detail = given.get("detail", "") if isinstance(given, dict) else ""
    return _Said(answer, evidence.sentence(detail) if isinstance(detail, str) else "")
