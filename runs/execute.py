"""Carry out one run: start, prepare, intent, effect, result.

The order is the promise. What fails before the intent is known not to have been sent; the
intent is committed before the first byte of the effect; the result counts only under the token.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import transaction

from jobs import prepared
from jobs.json_values import json_text
from jobs.models import Job
from runs import persist, reports, settle, start
from runs.calls import prepare
from runs.faults import fault
from runs.lease import Grant, Lease
from runs.models import Attempt, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from runs.targets.prepared import NotSent, Prepared

log = structlog.get_logger("onebeat.execute")
_Value = TypeVar("_Value")


def run(run_id: UUID, *, worker: str) -> State | None:
    """The state the run went to, or None when there was nothing (more) to do here.

    Raises nothing for what the target does; database errors that outlast the lease do leave.
    """
    fault("work.received")
    grant = _start(run_id, worker)
    if grant is None:
        log.info("run.not_started", run=str(run_id), worker=worker)
        return None
    fault("start.after_commit")
    with Lease(grant, end=lambda ended: settle.attempt(run_id, grant.token, ended)) as lease:
        outcome = _carry_out(grant, lease)
    if outcome is None:
        return None
    tell = reports.wait_for if outcome.kind is Kind.ACCEPTED else settle.attempt
    state = _until_heard(lambda: tell(run_id, grant.token, outcome), outcome)
    fault("result.after_commit")
    return state


def _start(run_id: UUID, worker: str) -> Grant | None:
    lease_id = uuid4()
    return persist.read_back(
        lambda: start.run(run_id, worker=worker, lease_id=lease_id),
        lambda: start.granted(run_id, lease_id=lease_id),
        within=settings.LEASE / 3,
    )


def _carry_out(grant: Grant, lease: Lease) -> Outcome | None:
    """The outcome; None when the run was taken away before its effect was begun."""
    if not grant.key_is_free:
        return Outcome(Kind.REFUSED, Effect.MAYBE, "Its key is recorded as done already.")
    run = persist.again(lambda: _read(grant), within=settings.LEASE / 3)
    callback = reports.new_secret(grant.token) if run.completion == "callback" else ""
    try:
        fault("prepare.failed", NotSent)
        prepared = prepare(run, callback=callback)
    except NotSent as refused:
        kind = Kind.REFUSED if refused.for_good else Kind.NOT_SENT
        return Outcome(kind, Effect.NONE, refused.reason)
    with closing(prepared):
        if not lease.good or not _intended(grant, prepared.sent, reports.digest(callback)):
            log.warning("run.no_intent", run=str(grant.run_id), token=grant.token)
            return _STOPPED_IN_TIME if _asked_to_stop(grant) else None
        lease.when_asked_to_stop(prepared.stop)
        fault("intent.after_commit")
        if not lease.good:  # it stood still, or was long in hearing: another may have the run
            return _NOT_BEGUN
        outcome = _perform(prepared)
        fault("effect.answered")
    if lease.stop_asked and outcome.kind is Kind.UNKNOWN:  # our own doing
        return replace(outcome, kind=Kind.STOPPED, reason="It was asked to stop, and was cut off.")
    return outcome


_STOPPED_IN_TIME = Outcome(
    Kind.STOPPED, Effect.NONE, "It was asked to stop before its effect was begun."
)


_NOT_BEGUN = Outcome(Kind.NOT_SENT, Effect.NONE, "Its lease ran out before the first byte.")


# The columns that a call is prepared from, and no more: a run's row, and its job's, are wide.
_CALLED = (
    *("id", "job_id", "key", "due_at", "attempt", "snapshot", "timeout", "completion"),
    *("refusal_codes", "follow_redirects"),
)
_OF_ITS_JOB = ("id", "signing_secret", "periodic_task_id")
_READ = f"""
select {", ".join(f"r.{column}" for column in _CALLED)},
       {", ".join(f"j.{column}" for column in _OF_ITS_JOB)}
  from runs_run r join jobs_job j on j.id = r.job_id
 where r.id = %s
"""  # noqa: S608 — words of our own


def _read(grant: Grant) -> Run:
    (values,) = prepared.rows(_READ, [grant.run_id])
    own = dict(zip(_CALLED, values, strict=False))
    of_its_job = dict(zip(_OF_ITS_JOB, values[len(_CALLED) :], strict=True))
    read = {name: own[name] and json.loads(own[name]) for name in ("snapshot", "refusal_codes")}
    run = prepared.instance(Run, {**own, **read})
    run.job = prepared.instance(Job, of_its_job)
    return run


def _asked_to_stop(grant: Grant) -> bool:
    held = Run.objects.filter(id=grant.run_id, attempt=grant.token, lease_id=grant.lease_id)
    return held.filter(state=State.RUNNING, stop_asked_at__isnull=False).exists()


def _intended(grant: Grant, sent: dict[str, object], callback_digest: str) -> bool:
    """Whether the effect may be begun. Where nobody can tell in time it is not, and an intent that
    was written all the same is taken back: else the run would need a person for nothing."""
    try:
        return _intend(grant, sent, callback_digest)
    except Exception:
        log.warning("run.intent_unknown", run=str(grant.run_id), token=grant.token)
        persist.again(lambda: _withdraw(grant), within=settings.LEASE)
        raise


def _withdraw(grant: Grant) -> None:
    held = Run.objects.filter(id=grant.run_id, attempt=grant.token, lease_id=grant.lease_id)
    with transaction.atomic():
        if held.filter(state=State.RUNNING).update(intent_at=None):
            Attempt.objects.filter(run_id=grant.run_id, number=grant.token).update(intent_at=None)


_INTEND = """
with won as (
  update runs_run set intent_at = statement_timestamp()
   where id = %(run)s and attempt = %(token)s and lease_id = %(lease)s and state = 'RUNNING'
     and intent_at is null and stop_asked_at is null
     and lease_until > statement_timestamp() + %(margin)s * interval '1 second'
  returning id, attempt)
update runs_attempt a
   set intent_at = statement_timestamp(), sent = %(sent)s::jsonb, callback_digest = %(callback)s
  from won
 where a.run_id = won.id and a.number = won.attempt
returning a.id
"""


def _intend(grant: Grant, sent: dict[str, object], callback_digest: str = "") -> bool:
    def write() -> bool:
        given = {
            "run": grant.run_id,
            "token": grant.token,
            "lease": grant.lease_id,
            "margin": settings.LEASE / 3,
            "sent": json_text(sent),
            "callback": callback_digest,
        }
        with transaction.atomic():
            won = bool(prepared.rows(_INTEND, given))
        fault("intent.commit_unknown")
        return won

    def written() -> bool:
        return Run.objects.filter(
            id=grant.run_id,
            attempt=grant.token,
            lease_id=grant.lease_id,
            state=State.RUNNING,
            intent_at__isnull=False,
        ).exists()

    return bool(persist.read_back(write, written, within=settings.LEASE / 3))


def _perform(prepared: Prepared) -> Outcome:
    try:
        return prepared.perform()
    except BaseException as error:  # whatever it was, it came after the intent
        log.exception("run.effect_error")
        return Outcome(Kind.UNKNOWN, Effect.MAYBE, f"{type(error).__name__}: {error}"[:2000])


def _until_heard(write: Callable[[], _Value], outcome: Outcome) -> _Value:
    # The effect is done: worth waiting long for the database. When the lease is gone by then,
    # the result is kept as late evidence.
    try:
        return persist.again(write, within=max(60.0, settings.LEASE * 2))
    except Exception:
        log.exception("run.result_not_stored", outcome=outcome.kind, reason=outcome.reason)
        raise
