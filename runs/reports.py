"""A target reports on a run by a call of its own, after it has answered 202 to ours.

Each attempt has a secret, sent with the call in `Onebeat-Callback` and kept as a digest that is
committed with the intent: a report may come before the 202 was read. While the report is waited
for, nobody works on the run here; its lease reaches to its start and `deadline`, then rescue makes
the outcome unknown.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from uuid import UUID, uuid4

import structlog
from django.db import connection, transaction

from runs import evidence, settle
from runs.models import Attempt, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State

Word = Literal["succeeded", "failed", "refused"]
WORDS: tuple[Word, ...] = ("succeeded", "failed", "refused")
_MEANS = {
    "succeeded": (Kind.SUCCEEDED, Effect.DONE, "The target reported that it is done"),
    "failed": (Kind.FAILED, Effect.MAYBE, "The target reported that it failed"),
    "refused": (Kind.REFUSED, Effect.NONE, "The target reported that it refused and did nothing"),
}

log = structlog.get_logger("onebeat.run")


class NoSuchReport(Exception):
    """No attempt of this run has this secret, or there is no such run."""


class NotAwaited(Exception):
    """The run no longer waits for this report: it was told before, or decided meanwhile."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"This attempt is not waited for any more: the run is {run.state}.")
        self.run = run


@dataclass(frozen=True)
class Report:
    """What a target says about an attempt; `answer` is any JSON."""

    outcome: Word
    reason: str = ""
    answer: object = None


def new_secret(token: int) -> str:
    """A secret for this attempt: its number, which is none, and 256 random bits."""
    return f"{token}.{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """What is kept of a secret; of none, nothing."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest() if secret else ""


_WAIT = """
update runs_run
   set lease_id = %(nobody)s, accepted_at = clock_timestamp(),
       lease_until = started_at + deadline * interval '1 second'
 where id = %(run)s and attempt = %(token)s and state = 'RUNNING' and stop_asked_at is null
"""


def wait_for(run_id: UUID, token: int, accepted: Outcome) -> State | None:
    """The run, whose target has `accepted` the call, waits for the report: RUNNING under a lease
    that no heartbeat renews. One that was asked to stop ends here instead. None where the report,
    or somebody else, was faster."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WAIT, {"run": run_id, "token": token, "nobody": uuid4()})
        won = bool(cursor.rowcount)
        if won:
            mine = Attempt.objects.filter(run_id=run_id, number=token)
            mine.update(answer=accepted.answer)
    if won:
        log.info("run.accepted", run=str(run_id), token=token)
        return State.RUNNING
    if Attempt.objects.filter(run_id=run_id, number=token, reported_at__isnull=False).exists():
        return None
    return settle.attempt(run_id, token, _stopped(accepted))


def _stopped(accepted: Outcome) -> Outcome:
    reason = f"{accepted.reason} It was asked to stop: the report is not waited for."
    return Outcome(Kind.STOPPED, Effect.MAYBE, reason, accepted.status, accepted.answer)


def complete(run_id: UUID, secret: str, report: Report) -> Run:
    """The run settled by its target's report, under the token of the attempt that was sent the
    secret. A report that comes too late is kept as evidence. Raises NoSuchReport, NotAwaited."""
    token = attempt_of(run_id, secret)
    settled = settle.reported(run_id, token, _outcome(report, secret))
    run = Run.objects.select_related("job").get(id=run_id)
    if settled is None:
        raise NotAwaited(run)
    return run


def attempt_of(run_id: UUID, secret: str) -> int:
    """The number of the attempt that was sent this secret. Raises NoSuchReport."""
    number = secret.partition(".")[0]
    token = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0
    found = Attempt.objects.filter(run_id=run_id, number=token).values_list("callback_digest")
    kept = next((kept for (kept,) in found), "")
    # Compared whether or not there is one, so that the time tells nothing.
    if not hmac.compare_digest(kept or digest("none"), digest(secret)):
        raise NoSuchReport
    return token


def _outcome(report: Report, secret: str) -> Outcome:
    kind, effect, words = _MEANS[report.outcome]
    said = evidence.redact(report.reason, (secret,))
    reason = evidence.sentence(f"{words}: {said}" if said.strip() else f"{words}.")
    answer = evidence.of_value(report.answer, (secret,)) if report.answer is not None else {}
    return Outcome(kind, effect, reason, answer={"report": report.outcome, **answer})


def word(given: object) -> Word | None:
    """The word of an outcome, if it is one."""
    return next((word for word in WORDS if word == given), None)
