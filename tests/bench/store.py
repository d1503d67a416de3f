"""A store of many jobs, written in bulk: every cadence from each minute to once a year."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from django.db import connection, models

from jobs import clock, editing, task_registry
from jobs.definitions import definitions
from jobs.definitions.definitions import Known
from jobs.models import Due, Job, JobVersion, Team

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
CADENCES = (  # of each twelve variants, by minute and zone
    "* * * * *",
    "*/5 * * * *",
    "{minute} * * * *",
    "{minute} 2 * * *",
    "{minute} 6 * * 1",
    "{minute} 0 1 * *",
    "{minute} 3 1 1 *",
)
VARIANTS = 12
FAR = "1 day"  # nothing but the burst falls due while it is measured


def register_patterns() -> None:
    """One job of each kind by the product's own rule; `fill` copies them."""
    team = Team.objects.create(slug="bench", name="Bench")
    known = Known(tasks=task_registry.names(), queues=["default"])
    for cadence in CADENCES:
        for variant in range(VARIANTS):
            cron = cadence.format(minute=variant * 5)
            data = {
                "name": f"{cron} {variant}",
                "schedule": {"cron": cron, "timezone": ZONES[variant % len(ZONES)]},
                "target": {"type": "http", "url": "https://ledger.example/settle"},
                "idempotent": True,
            }
            definition = definitions.read(data, now=clock.now(), known=known)
            editing.register(team, definition, by=None)
    Due.objects.all().delete()


def fill(until: int) -> None:
    """Copy the patterns until this many jobs are registered, each due in a day or later."""
    patterns = len(CADENCES) * VARIANTS
    copies, rest = divmod(until - Job.objects.count(), patterns)
    with connection.cursor() as cursor:
        cursor.execute(_copy_jobs(), {"start": Job.objects.count(), "copies": copies + bool(rest)})
        cursor.execute(_copy_versions())
        cursor.execute(_FIRST_DUE, [FAR])
        for table in ("jobs_job", "jobs_jobversion", "jobs_due"):
            cursor.execute(f"vacuum (analyze) {table}")


def make_due(count: int, at: datetime) -> None:
    """So many jobs share one due moment, a whole minute; it is a moment of each one's schedule,
    whatever its cadence."""
    kinds = [json.dumps([{"cron": cron, "timezone": "UTC", "dst": "once"}]) for cron in _at(at)]
    with connection.cursor() as cursor:
        cursor.execute(_SHARE_A_MOMENT, {"at": at, "count": count, "kinds": kinds})


def _at(moment: datetime) -> list[str]:
    """Each cadence from every minute to once a year, at this moment (UTC)."""
    minute, hour, day, month = moment.minute, moment.hour, moment.day, moment.month
    weekday = moment.isoweekday() % 7
    return [
        "* * * * *",
        f"{minute} * * * *",
        f"{minute} {hour} * * *",
        f"{minute} {hour} * * {weekday}",
        f"{minute} {hour} {day} * *",
        f"{minute} {hour} {day} {month} *",
    ]


def _columns(model: type[models.Model]) -> Sequence[str]:
    return [str(field.column) for field in model._meta.concrete_fields]


def _copy_jobs() -> str:
    own = {
        "id": "gen_random_uuid()",
        "name": "p.name || ' ' || n",
        "description": "p.id::text",  # tells a copy from a pattern
        "periodic_task_id": "null",
    }
    columns = _columns(Job)
    values = ", ".join(own.get(column, f"p.{column}") for column in columns)
    return f"""
insert into jobs_job ({", ".join(columns)})
select {values}
  from jobs_job p
 cross join generate_series(%(start)s + 1, %(start)s + %(copies)s) n
 where p.description = ''
"""


def _copy_versions() -> str:
    columns = [column for column in _columns(JobVersion) if column != "id"]
    values = ", ".join({"job_id": "j.id"}.get(column, f"v.{column}") for column in columns)
    return f"""
insert into jobs_jobversion ({", ".join(columns)})
select {values}
  from jobs_job j
  join jobs_jobversion v on v.job_id::text = j.description
 where not exists (select 1 from jobs_jobversion own where own.job_id = j.id)
"""


_FIRST_DUE = """
insert into jobs_due (job_id, shard, at)
select id, get_byte(uuid_send(id), 15), clock_timestamp() + %s::interval * (1 + random())
  from jobs_job
    on conflict do nothing
"""
_SHARE_A_MOMENT = """
with shared as (
  update jobs_due set at = %(at)s
   where job_id in (select job_id from jobs_due order by md5(job_id::text) limit %(count)s)
  returning job_id),
kinds as (
  select job_id, k[1 + get_byte(uuid_send(job_id), 1) %% cardinality(k)] as schedule
    from shared, (select %(kinds)s::jsonb[] as k) given),
versions as (
  update jobs_jobversion v set definition = jsonb_set(v.definition, '{schedule}', k.schedule)
    from kinds k where v.job_id = k.job_id)
update jobs_job j set schedule = k.schedule from kinds k where j.id = k.job_id
"""
