"""Run a job because a person or a program asks for it: now, or for a moment that lies behind."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs import clock, editing, events, holds, moment_values
from jobs.models import Hold, Job, User
from jobs.schedules.instants import canonical_instant
from runs import changed, idempotency, insert, moments, passages, release, snapshots, subjects
from runs.birth import Birth
from runs.changed import Changes
from runs.holds import letting_go
from runs.models import Run
from runs.moments import There
from runs.release import Busy as Busy
from runs.states import Origin, ReviewClass, State

log = structlog.get_logger("onebeat.run")


class Held(Exception):
    """Nothing of the job starts while `hold` is on."""

    def __init__(self, hold: Hold) -> None:
        self.hold = hold
        super().__init__(
            f"{hold.words} Nothing starts until the hold ends; a moment that waits for it may be "
            "let past by itself."
        )


class NotDue(Exception):
    """The job never was due at this moment. `hint` says which of its moments lie next to it."""

    def __init__(self, problem: str, hint: str) -> None:
        self.problem, self.hint = problem, hint
        super().__init__(f"{problem} {hint}")


class HasRun(Exception):
    """The moment has a run already: `run`, or None where it is kept no more."""

    def __init__(self, said: str, run: Run | None) -> None:
        self.run = run
        super().__init__(said)


def run(
    job_id: UUID, moment: datetime | None, *, by: User | None, changes: Changes | None = None
) -> Run:
    """The run of this moment, or one of the job as it is now, with changes where no moment is
    given. Raises what those two raise."""
    if moment is None:
        return run_now(job_id, by=by, changes=changes)
    return run_for(job_id, moment, by=by)


def run_now(job_id: UUID, *, by: User | None, changes: Changes | None = None) -> Run:
    """A run of the job as it is now, with a key of its own: never that of a due moment, which
    fires as if nothing had been asked. `changes`: what it calls otherwise. A paused job runs too:
    a person asked for it. Raises editing.Gone, Held under a hold, Busy for a serial job with an
    active run, and TargetError for changes that cannot be called."""
    with transaction.atomic():
        job = _locked(job_id)
        _check_free(job)
        said, differs = _change(job, changes) if changes else ("", None)
        now = clock.now()
        key = idempotency.key_by_hand(job.id)
        who = by.get_username() if by else ""
        run = Run.objects.create(
            job=job,
            job_version=job.version,
            key=key,
            origin=Origin.HAND,
            state=State.CLAIMED,
            serial=job.serial,
            snapshot=snapshots.of_job(job, moment=now, key=key),
            idempotent=job.idempotent,
            max_attempts=job.max_attempts,
            backoff=job.backoff,
            cap=job.cap,
            retry_unsent=job.retry_unsent,
            timeout=job.timeout,
            completion=job.completion,
            deadline=job.deadline,
            refusal_codes=job.refusal_codes or None,
            follow_redirects=job.follow_redirects,
            queue=job.queue,
            created_at=now,
            passed=passages.born(State.CLAIMED, now, who),
            send_at=now,
        )
        subject = subjects.of_run(run, job)
        events.record("run.by_hand", subject, by=by, reason=said, changes=differs)
    log.info("run.by_hand", run=str(run.id), job=str(job.id), by=who)
    return run


def run_for(job_id: UUID, moment: datetime, *, by: User | None) -> Run:
    """The run of a moment that was missed or skipped, with the key of that moment and the job as
    it was then; that of one that waits for a hold is let past it. Raises editing.Gone, NotDue,
    HasRun, Held under a hold, and Busy for a serial job with an active run."""
    with transaction.atomic():
        job = _locked(job_id)
        if there := moments.there(job.id, [moment]).get(moment):
            return _had(there, moment, by)
        version = _version_at(job, moment)
        _check_free(job)
        birth = Birth(job.id, version, moment, State.CLAIMED, origin=Origin.HAND)
        with connection.cursor() as cursor:
            filled = snapshots.of_births(cursor, [birth])
            now, who = clock.now(), by.get_username() if by else ""
            written = insert.births(cursor, [birth], now, snapshots=filled, who=who)
        if not written:  # against the lock: the unique index is the last line
            return _had(moments.there(job.id, [moment])[moment], moment, by)
        run = Run.objects.get(id=birth.id)
        events.record("run.by_hand", subjects.of_run(run, job), by=by)
    log.info("run.by_hand", run=str(run.id), job=str(job.id), moment=str(moment), by=who)
    return run


def _change(job: Job, changes: Changes) -> tuple[str, events.Changes]:
    """Have this run of the job, which is not saved, call what is wanted; for the record the words
    and what differs."""
    before = job.target
    job.target = changed.target_of(job, changes)
    job.templated = moment_values.used(job.target)
    return changes.said, events.differences({"target": before}, {"target": job.target})


def _check_free(job: Job) -> None:
    """Raises Held, Busy: what keeps a locked job from starting a run."""
    if hold := holds.over(job.team_id):
        raise Held(hold)
    if job.serial and (busy := release.active_run(job)):
        raise Busy(busy)


def _had(there: There, moment: datetime, by: User | None) -> Run:
    """What becomes of a moment that has a run. Raises HasRun, unless that run may be let go."""
    run = Run.objects.filter(id=there.run_id).first() if there.run_id else None
    named = canonical_instant(moment)
    if run is None:
        ended = f"The run of {named} ended as {there.state}. It is too old to be kept."
        raise HasRun(ended, None)
    if run.state == State.WAITING:
        return _release_held(run, by)
    if run.state == State.REVIEW and run.review_class == ReviewClass.MISSED:
        raise HasRun(f"The moment {named} was missed and is in review: decide it there.", run)
    raise HasRun(f"The moment {named} has a run: {run.id}, which is {run.state}.", run)


def _release_held(run: Run, by: User | None) -> Run:
    """The run that waits for a hold, let past it. Raises HasRun for one that waits for another
    run, which is in its way."""
    if run.hold_id is not None:
        return letting_go.one(run.id, by=by)
    raise HasRun(f"The run of this moment waits: {run.reason}", run)


def _version_at(job: Job, moment: datetime) -> int:
    """The version of the job that was in force at one of its moments. Raises NotDue."""
    named = canonical_instant(moment)
    if moment > clock.now():
        raise NotDue(f"{named} is yet to come.", "It fires by itself when it is due.")
    history = moments.of_job(job.id, moment)
    if not history.between(moment, moment, 1) and not moments.recorded(job.id, moment):
        near = [canonical_instant(at) for at in history.around(moment) if at is not None]
        hint = f"Its nearest moments: {', '.join(near)}." if near else "It had no moment near it."
        raise NotDue(f"The job was not due at {named}.", hint)
    return history.line.version_at(moment)


def _locked(job_id: UUID) -> Job:
    try:
        job = release.lock(job_id)
    except Job.DoesNotExist:
        raise editing.Gone from None
    if job.deleted_at is not None:
        raise editing.Gone
    return job
