"""Waiting runs get their turn: after every exit from the active states and every decision, in
the same transaction and under the lock of their job; rescue by the same rule.

The lock (jobs/locking.py) is one that the claim holds as well while it decides who waits. Without
it a run could end in the instant in which the next one is claimed to wait, and neither would see
the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs import clock, holds, locking
from jobs.models import Hold, Job
from jobs.schedules.catch_up import Policy
from runs import overlap, standing, transitions
from runs.models import Run
from runs.overlap import Rule, Situation, Standing, Wait
from runs.states import State

log = structlog.get_logger("onebeat.release")


class Busy(Exception):
    """Only one run of the job may be active at a time, and `run` is."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(
            f"Run {run.id} of this job is {run.state.lower()}, and the job runs one at a time. "
            "Wait until it has ended, or cancel it."
        )


def lock(job_id: UUID) -> Job:
    """The job, with the lock under which its runs take turns, until the transaction ends. To be
    taken before any lock on a run. Raises Job.DoesNotExist."""
    locking.lock(job_id)
    return Job.objects.get(id=job_id)


def try_lock(job_id: UUID) -> Job | None:
    """The same without waiting; None where somebody else has the lock."""
    return Job.objects.get(id=job_id) if locking.try_lock(job_id) else None


def rule_of(job: Job) -> Rule:
    """What the job says about runs that overlap."""
    asks = job.catch_up_policy == "ask"
    return Rule(job.overlap, job.block_on_review, job.queue_limit, asks)


def policy_of(job: Job) -> Policy:
    """What the job says about missed moments. A one-off has no window."""
    one_off = all("at" in schedule for schedule in job.schedule)
    window = None if one_off else timedelta(seconds=job.catch_up_window)
    return Policy(job.catch_up_policy, window, job.catch_up_limit)


def active_run(job: Job) -> Run | None:
    """The oldest active run of a locked job."""
    active = min(_situation(job).active, key=lambda run: run.rank, default=None)
    return Run.objects.get(id=active.id) if active else None


def in_the_way(job: Job, run: Run) -> Wait | Hold | None:
    """What this run, which rests, would have to wait for; None: it may go at once."""
    if hold := holds.over(job.team_id):
        return hold
    return overlap.in_the_way(run.due_at or run.created_at, rule_of(job), _situation(job))


def waiting(job: Job) -> list[UUID]:
    """Let go the waiting runs of a locked job whose turn has come, oldest moment first: one of
    a serial job, each of any other; none under a hold, nor what waits for one to let it go.
    Returns those that are CLAIMED now."""
    found, rule = _situation(job), rule_of(job)
    if not found.waiting:
        return []
    woken = dict(overlap.woken(rule, found))
    if woken and (hold := holds.over(job.team_id)):
        _say([run.id for run in woken], reason=hold.words, blocked_by=None)
        return []
    moved = {state: [run.id for run, to in woken.items() if to is state] for state in State}
    transitions.move_all(
        moved[State.CLAIMED], State.CLAIMED, serial=rule.serial, reason="", blocked_by=None
    )
    late = {"reason": overlap.TOO_LATE, "blocked_by": None}
    transitions.move_all(moved[State.SKIPPED], State.SKIPPED, skipped_count=1, **late)
    transitions.move_all(
        moved[State.REVIEW], State.REVIEW, review_class=overlap.TOO_LATE_CLASS, **late
    )
    _tell_the_others(rule, found, woken)
    return moved[State.CLAIMED]


# WAITING runs that, as far as one look without a lock can tell, nothing holds back.
_MISSED_WAKE_UPS = """
select distinct w.job_id
  from runs_run w join jobs_job j on j.id = w.job_id
 where w.state = 'WAITING' and w.hold_id is null
   and not exists (select 1 from jobs_hold h where h.ended_at is null
                      and (h.team_id is null or h.team_id = j.team_id))
   and (j.overlap = 'allow' or not (
     exists (select 1 from runs_run a where a.job_id = w.job_id and a.serial
               and a.state in ('CLAIMED', 'ENQUEUED', 'RETRYING', 'RUNNING'))
     or exists (select 1 from runs_run a where a.job_id = w.job_id and not a.serial
               and a.state in ('CLAIMED', 'ENQUEUED', 'RETRYING', 'RUNNING'))))
   and not (j.block_on_review and exists (
     select 1 from runs_run v where v.job_id = w.job_id and v.state = 'REVIEW'
        and coalesce(v.due_at, v.created_at) < coalesce(w.due_at, w.created_at)))
 limit 500
"""


def missed_wake_ups() -> int:
    """Let go what should have been let go: how many runs. There are some only where an edit
    changed how a job's runs take turns, for that wakes nobody by itself."""
    with connection.cursor() as cursor:
        cursor.execute(_MISSED_WAKE_UPS)
        job_ids = sorted(job_id for (job_id,) in cursor.fetchall())
    released = 0
    for job_id in job_ids:
        with transaction.atomic():
            released += len(waiting(lock(job_id)))
    if released:
        log.info("release.by_rescue", runs=released)
    return released


def _situation(job: Job) -> Situation:
    with connection.cursor() as cursor:
        return standing.of_job(cursor, job.id, expired=_expired(job))


def _expired(job: Job) -> datetime | None:
    """The moments before it are too late to start; None: none is."""
    window = policy_of(job).window
    if window is None:
        return None
    return clock.now() - window - timedelta(seconds=job.start_delay)


def _tell_the_others(rule: Rule, found: Situation, woken: dict[Standing, State]) -> None:
    """Whoever still waits says what for, which may be another run than before."""
    by_state: defaultdict[State, list[Standing]] = defaultdict(list)
    for run, state in woken.items():
        by_state[state].append(run)
    now = Situation(
        (*found.active, *by_state[State.CLAIMED]), (), (*found.review, *by_state[State.REVIEW])
    )
    said: defaultdict[Wait, list[UUID]] = defaultdict(list)
    for run in (run for run in found.waiting if run not in woken and not run.held):
        waits = overlap.in_the_way(run.order, rule, now)
        if waits is not None and waits.blocked_by != run.blocked_by:
            said[waits].append(run.id)
    for waits, run_ids in said.items():
        _say(run_ids, reason=waits.reason, blocked_by=waits.blocked_by)


def _say(run_ids: Iterable[UUID], **words: Any) -> None:
    Run.objects.filter(id__in=run_ids, state=State.WAITING).update(**words)
