"""A past in bulk: many runs of many jobs, written by the database itself."""

from __future__ import annotations

from typing import Any

from django.db import connection

from jobs.models import Job, Team
from tests import make

# Each job has a run each hour, the newest just now, spread over the hour; of a thousand runs two
# are dead, two skipped, one in review, one cancelled, and the newest few of some are in flight.
_RUNS = """
insert into runs_run (id, job_id, job_version, key, origin, due_at, state, serial, effect,
       review_class, reason, error_group, died_at, snapshot, idempotent, max_attempts, backoff, cap,
       retry_unsent, timeout, queue, attempt, failures, sends, passed, created_at, started_at,
       finished_at, review_at, skipped_count, send_at)
select overlay(overlay(gen_random_uuid()::text placing
                 lpad(to_hex((extract(epoch from at) * 1000)::bigint >> 16), 8, '0') from 1 for 8)
               placing lpad(to_hex((extract(epoch from at) * 1000)::bigint & 65535), 4, '0') || '-7'
               from 10 for 6)::uuid,
       job_id, 1, job_id || ':' || place, 'schedule', at, state, false, 'done',
       case state when 'REVIEW' then 'unknown' else '' end,
       case state when 'SUCCEEDED' then '' else 'Said for a measurement.' end,
       case state when 'DEAD' then job_id end, case state when 'DEAD' then at end,
       '{"type": "http", "url": "https://ledger.example/settle"}', state <> 'REVIEW', 5, 10, 3600,
       false, 300, 'default', 1, 0, 1, '[]', at, at,
       case when state in ('SUCCEEDED', 'SKIPPED', 'CANCELLED') then at end,
       case state when 'REVIEW' then at end, case state when 'SKIPPED' then 1 end,
       case state when 'CLAIMED' then at end
  from (
    select j.id as job_id, n as place, clock_timestamp() - n * interval '1 hour'
             - (get_byte(uuid_send(j.id), 3) * 14) * interval '1 second' as at,
           case when n = 0 and get_byte(uuid_send(j.id), 5) < 3 then 'CLAIMED'
                else coalesce((array['DEAD', 'DEAD', 'SKIPPED', 'SKIPPED', 'REVIEW', 'CANCELLED'])
                              [1 + (get_byte(uuid_send(j.id), 1) * 7 + n * 31) %% 1000],
                              'SUCCEEDED') end as state
      from jobs_job j cross join generate_series(0, %(each)s - 1) n
     where j.team_id = %(team)s) runs
"""
_JOBS = """
insert into jobs_job ({columns})
select {values} from jobs_job p cross join generate_series(1, %(copies)s) n where p.id = %(of)s
"""


def jobs(team: Team, count: int, **changes: Any) -> Job:
    """So many jobs of the team, copies of one that the rule registered, which is returned; all
    but that one are due within a month."""
    pattern = make.job(team, name="pattern", **changes)
    own = {"id": "gen_random_uuid()", "name": "p.name || ' ' || n", "periodic_task_id": "null"}
    columns = [str(field.column) for field in Job._meta.concrete_fields]
    values = [own.get(column, f"p.{column}") for column in columns]
    statement = _JOBS.format(columns=", ".join(columns), values=", ".join(values))
    with connection.cursor() as cursor:
        cursor.execute(statement, {"copies": count - 1, "of": pattern.id})
        cursor.execute(
            "insert into jobs_due (job_id, shard, at) select id, get_byte(uuid_send(id), 15),"
            " clock_timestamp() + random() * interval '30 days' from jobs_job"
            " where team_id = %s on conflict do nothing",
            [team.id],
        )
    return pattern


def runs(team: Team, each: int) -> None:
    """So many runs for each job of the team, an hour apart."""
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, {"each": each, "team": team.id})


def analyzed() -> None:
    """The planner knows what is there."""
    with connection.cursor() as cursor:
        for table in ("jobs_job", "jobs_due", "runs_run", "jobs_team"):
            cursor.execute(f"analyze {table}")
