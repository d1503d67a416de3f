"""What a run is to call: the target of its job's version, its moment's values filled in.

It is filled in once, when the run is born, so that each attempt of it calls the same. Jobs whose
target holds no such values pay nothing: of them nothing is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from jobs import moment_values
from jobs.calendars import kept as kept_calendars
from jobs.definitions import definitions
from jobs.models import Job
from jobs.moment_values import Values
from jobs.schedules import local_times
from jobs.schedules.schedules import ScheduleError
from runs.arrays import array
from runs.birth import Birth
from runs.idempotency import key_of_moment
from runs.states import State

log = structlog.get_logger("onebeat.claim")

_READ = """
select b.job_id, b.version,
       coalesce(v.definition->'target', j.target)::text,
       case when v.id is not null then jsonb_build_object(
         'schedule', v.definition->'schedule', 'calendar', v.definition->'calendar')
       else jsonb_build_object(
         'schedule', j.schedule, 'calendar', case when j.calendar_id is not null then
           jsonb_build_object('name', j.calendar_id, 'rule', j.calendar_rule,
                              'version', j.calendar_version) end) end::text
  from unnest(%(jobs)s::uuid[], %(versions)s::int[]) as b(job_id, version)
  join jobs_job j on j.id = b.job_id
  left join jobs_jobversion v
    on v.job_id = b.job_id and v.number = b.version and b.version <> j.version
 where j.id = any(%(jobs)s::uuid[])
"""


def of_job(job: Job, *, moment: datetime, key: str) -> dict[str, Any]:
    """What a run of the job as it is now is to call."""
    if not job.templated:
        target: dict[str, Any] = job.target
        return target
    use = definitions.calendar_shape(job.calendar_use)
    plan = json.dumps({"schedule": job.schedule, "calendar": use})
    values = _values(plan, moment, key, job.id)
    return moment_values.fill(job.target, values)


def of_moment(job_id: UUID, version: int, *, moment: datetime, key: str) -> dict[str, Any]:
    """What a run of an earlier version of the job is to call: for one made for a moment later on,
    and for one that is given another key."""
    with connection.cursor() as cursor:
        ((target, plan),) = _read(cursor, [(job_id, version)]).values()
    return moment_values.fill(json.loads(target), _values(plan, moment, key, job_id))


def of_births(cursor: Any, births: Iterable[Birth]) -> dict[UUID, str]:
    """By the id of a birth, its snapshot as JSON text. To be asked for births of which something
    may have to be filled in: the others take the target of their version as it is."""
    wanted = [birth for birth in births if birth.state is not State.SKIPPED]
    if not wanted:
        return {}
    found = _read(cursor, {(birth.job_id, birth.version) for birth in wanted})
    return {birth.id: _filled(birth, *found[birth.job_id, birth.version]) for birth in wanted}


def _filled(birth: Birth, target: str, plan: str) -> str:
    key = key_of_moment(birth.job_id, birth.due_at)
    values = _values(plan, birth.due_at, key, birth.job_id)
    return json.dumps(moment_values.fill(json.loads(target), values))


def _read(
    cursor: Any, versions: Iterable[tuple[UUID, int]]
) -> dict[tuple[UUID, int], tuple[str, str]]:
    jobs, numbers = zip(*versions, strict=True)
    cursor.execute(_READ, {"jobs": array(jobs), "versions": array(numbers)})
    return {(job_id, number): (target, plan) for job_id, number, target, plan in cursor}


def _values(plan: str, moment: datetime, key: str, job_id: UUID) -> Values:
    try:
        return local_times.values(kept_calendars.plan(plan).schedules, moment, key)
    except ScheduleError:  # zone data may outrun what is stored; the run goes on all the same
        log.exception("snapshot.no_local_time", job=str(job_id))
        return local_times.values((), moment, key)
