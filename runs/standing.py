"""The runs of a job that may be in one another's way, read in one statement for many jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Job
from runs.arrays import array
from runs.overlap import Situation, Standing

# One branch an index: the constraint on active runs of serial jobs, `runs_in_the_way`,
# `waiting_runs`, and the one on moments. History is never read.
_COLUMNS = """
select r.job_id, r.state, r.id, r.due_at, r.created_at, r.idempotent, r.blocked_by,
       coalesce(r.origin = 'schedule' and r.attempt = 0 and r.review_class = ''
                and r.let_past_at is null and r.due_at < %(expired)s, false),
       r.hold_id is not null
  from runs_run r"""
_READ = f"""
{_COLUMNS}
 where r.job_id = any(%(jobs)s::uuid[])
   and r.serial and r.state in ('CLAIMED', 'ENQUEUED', 'RETRYING', 'RUNNING')
union all {_COLUMNS}
 where r.job_id = any(%(jobs)s::uuid[])
   and (r.state = 'REVIEW'
        or not r.serial and r.state in ('CLAIMED', 'ENQUEUED', 'RETRYING', 'RUNNING'))
union all {_COLUMNS}
 where r.job_id = any(%(jobs)s::uuid[]) and r.state = 'WAITING'
"""
_TAKEN = """
union all
select r.job_id, 'TAKEN', r.id, r.due_at, r.created_at, r.idempotent, null, false, false
  from unnest(%(moment_jobs)s::uuid[], %(moments)s::timestamptz[]) as m(job_id, due_at)
  join runs_run r on r.job_id = m.job_id and r.due_at = m.due_at and r.state <> 'SKIPPED'
"""


def of_job(cursor: Any, job_id: UUID, *, expired: datetime | None) -> Situation:
    """The situation of one job, to be read under its lock. Waiting runs of moments before
    `expired` are too late, unless somebody asked for them."""
    found = _read(cursor, _READ, {"jobs": array([job_id]), "expired": expired})
    return found.get(job_id, Situation())


def of_locked(job: Job) -> Situation:
    """What may be in the way of a run that somebody has made wait for its turn; nothing is where
    the job's runs never take turns."""
    if not job.takes_turns:
        return Situation()
    with connection.cursor() as cursor:
        return of_job(cursor, job.id, expired=None)


def of_moments(cursor: Any, moments: Sequence[tuple[UUID, datetime]]) -> dict[UUID, Situation]:
    """The situation of each job that has one of these moments, with the moments that have a
    run already; to be read under the locks of their due rows."""
    jobs, due_at = zip(*moments, strict=True)
    given = {"jobs": array({*jobs}), "moment_jobs": array(jobs), "moments": array(due_at)}
    return _read(cursor, _READ + _TAKEN, {**given, "expired": None})


def _read(cursor: Any, statement: str, given: dict[str, Any]) -> dict[UUID, Situation]:
    cursor.execute(statement, given)
    rows: defaultdict[UUID, list[Any]] = defaultdict(list)
    for job_id, *row in cursor.fetchall():
        rows[job_id].append(row)
    return {job_id: _situation(found) for job_id, found in rows.items()}


def _situation(rows: Collection[Any]) -> Situation:
    groups: defaultdict[str, list[Standing]] = defaultdict(list)
    taken = set()
    for state, run_id, due_at, born, idempotent, blocked_by, too_late, held in rows:
        if state == "TAKEN":
            taken.add(due_at)
            continue
        by_hand = due_at is None
        run = Standing(run_id, due_at or born, by_hand, idempotent, too_late, held, blocked_by)
        groups[state if state in ("WAITING", "REVIEW") else "active"].append(run)
    return Situation(
        tuple(groups["active"]), tuple(groups["WAITING"]), tuple(groups["REVIEW"]), frozenset(taken)
    )
