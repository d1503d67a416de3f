"""A hold is over: what waited for it is let go, job by job, by any beat.

Nothing but this leads a run out of its wait for a hold. Which holds are over is read from the
runs that wait: one that is written down in the instant in which its hold ends is found as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Now

from jobs import clock, holds
from jobs.models import Hold, Job, User
from jobs.models.hold import BY_POLICY
from runs import decisions, release, transitions
from runs.decisions import Move, Stale
from runs.holds import owed
from runs.holds.owed import Owed, Parting
from runs.models import Run
from runs.states import Origin, ReviewClass, State

log = structlog.get_logger("onebeat.hold")

_RELEASED = "Let go by the hold; waits for its turn."
_ASKED = "It waited for a hold and was missed. Run it, or let it go."

# The holds that runs wait for, one probe of the index each, and of them those that are over.
_OVER = """
with recursive held(id) as (
  (select hold_id from runs_run
    where state = 'WAITING' and hold_id is not null order by hold_id limit 1)
  union all
  select (select r.hold_id from runs_run r
           where r.state = 'WAITING' and r.hold_id > held.id order by r.hold_id limit 1)
    from held where held.id is not null)
select id from jobs_hold join held using (id) where ended_at is not null
"""
_JOBS = """
select distinct r.job_id
  from runs_run r join jobs_job j on j.id = r.job_id
 where r.state = 'WAITING' and r.hold_id = any(%s)
   and not exists (select 1 from jobs_hold h where h.ended_at is null
                      and (h.team_id is null or h.team_id = j.team_id))
 limit 500
"""


def due(*, within: float = 1.0) -> int:
    """End the holds whose end has come and let go, for about so many seconds, the jobs that are
    held no more; how many jobs. Several beats share them."""
    holds.end_due()
    until, gone = time.monotonic() + within, 0
    for job_id in _jobs():
        gone += job(job_id)
        if time.monotonic() > until:
            break
    return gone


def job(job_id: UUID) -> bool:
    """Let go what waits for a hold in this job; False where nothing does, the job is held still,
    or somebody else is at it."""
    with transaction.atomic():
        found = release.try_lock(job_id)
        if found is None or holds.over(found.team_id) is not None:
            return False
        runs = list(_held().filter(job=found))
        if not runs:
            return False
        said = parting(found, runs, _choice(found, runs), clock.now())
        _part(said)
        release.waiting(found)
    counts = {"go": len(said.go), "ask": len(said.ask), "skipped": said.skipped}
    log.info("hold.let_go", job=str(job_id), **counts)
    return True


def one(run_id: UUID, *, by: User | None, note: str = "") -> Run:
    """This run alone let past the holds that are on, by a person. Raises Stale where it waits for
    none by now, release.Busy where a run of its serial job is active."""

    def plan(job: Job, run: Run) -> Move:
        if run.hold_id is None:
            raise Stale(run)
        if job.serial and (busy := release.active_run(job)):
            raise release.Busy(busy)
        past = {"let_past_at": Now(), "serial": job.serial, "reason": "", "blocked_by": None}
        return Move(State.CLAIMED, past)

    return decisions.move(
        run_id, plan, of={State.WAITING}, token=None, decision="let_past", note=note, by=by
    )


@dataclass(frozen=True)
class Waiting:
    """What a job has waiting for a hold: moments that letting go decides about, the first and the
    last of them, and how many other runs. `by_policy`: what would become of all of it just now."""

    moments: int
    first: datetime | None
    last: datetime | None
    others: int
    by_policy: Parting


def owing(jobs: QuerySet[Job], hold: Hold) -> QuerySet[Job]:
    """Those of the jobs under this hold of which runs wait, each with them as `held`."""
    scope = jobs.filter(team=hold.team_id) if hold.team_id else jobs
    waits = scope.filter(Exists(_held().filter(job=OuterRef("pk"))))
    return waits.prefetch_related(Prefetch("run_set", queryset=_held(), to_attr="held"))


def waiting(of: Job, now: datetime) -> Waiting:
    """Of a job that `owing` has found."""
    runs: list[Run] = of.held  # type: ignore[attr-defined]
    moments = sorted(moment for run in runs if (moment := _undecided(run)) is not None)
    first, last = (moments[0], moments[-1]) if moments else (None, None)
    others = len(runs) - len(moments)
    return Waiting(len(moments), first, last, others, parting(of, runs, BY_POLICY, now))


def parting(of: Job, runs: Iterable[Run], choice: str, now: datetime) -> Parting:
    """What becomes of these held runs of the job."""
    waits = [Owed(run.id, _undecided(run)) for run in runs]
    return owed.parting(waits, choice=choice, policy=release.policy_of(of), now=now)


def _jobs() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_OVER)
        over = [hold_id for (hold_id,) in cursor.fetchall()]
        if not over:
            return []
        cursor.execute(_JOBS, [over])
        return [job_id for (job_id,) in cursor.fetchall()]


def _held() -> QuerySet[Run]:
    rows = Run.objects.filter(state=State.WAITING, hold__isnull=False)
    return rows.defer("snapshot").order_by("due_at", "id")


def _undecided(run: Run) -> datetime | None:
    """The moment of a run that was never started and that nobody has asked for."""
    asked_for = run.origin != Origin.SCHEDULE or run.review_class or run.let_past_at is not None
    return None if asked_for or run.attempt else run.due_at


def _choice(of: Job, runs: Iterable[Run]) -> str:
    """What was said when the holds ended under which the runs have waited: the last word counts."""
    waited_for = {run.hold_id for run in runs if run.hold_id is not None}
    first = Hold.objects.filter(id__in=waited_for).order_by("ended_at")
    scope = Q(team=None) | Q(team=of.team_id)
    ended = Hold.objects.filter(scope, ended_at__gte=Subquery(first.values("ended_at")[:1]))
    said = (hold.choice_for(of.id) for hold in ended.order_by("-ended_at"))
    return next((choice for choice in said if choice), BY_POLICY)


def _part(said: Parting) -> None:
    chosen: dict[str, Any] = {"let_past_at": Now()} if said.chosen else {}
    going = Run.objects.filter(id__in=said.go, state=State.WAITING)
    going.update(hold=None, reason=_RELEASED, blocked_by=None, **chosen)
    asked = {"review_class": ReviewClass.MISSED, "reason": _ASKED}
    transitions.move_all(said.ask, State.REVIEW, blocked_by=None, **asked)
    for reason, run_ids in said.skip.items():
        words = {"reason": f"Skipped after a hold: {reason}.", "blocked_by": None}
        transitions.move_all(run_ids, State.SKIPPED, skipped_count=1, **words)
