"""A past in bulk: many runs of many jobs, written by the database itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from jobs import clock
from jobs.models import Job, Team
from runs.ages import first_id
from runs.arrays import array
from tests import make

# Each job has a run each hour, the newest just now, spread over the hour; of a thousand runs two
# are dead, two skipped, one in review, one cancelled, and the newest few of some are in flight.
# What was dead or in review for a week has been decided: it is closed.
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
       case when state in ('SUCCEEDED', 'SKIPPED', 'CANCELLED', 'CLOSED') then at end,
       case state when 'REVIEW' then at end, case state when 'SKIPPED' then 1 end,
       case state when 'CLAIMED' then at end
  from (
    select j.id as job_id, n as place, %(now)s - n * interval '1 hour'
             - (get_byte(uuid_send(j.id), 3) * 14) * interval '1 second' as at,
           case when n = 0 and get_byte(uuid_send(j.id), 5) < 3 then 'CLAIMED'
                else coalesce((case when n < 168
                                    then array['DEAD', 'DEAD', 'SKIPPED', 'SKIPPED', 'REVIEW',
                                               'CANCELLED']
                                    else array['CLOSED', 'CLOSED', 'SKIPPED', 'SKIPPED', 'CLOSED',
                                               'CANCELLED'] end)
                              [1 + (get_byte(uuid_send(j.id), 1) * 7 + n * 31) %% 1000],
                              'SUCCEEDED') end as state
      from jobs_job j cross join generate_series(%(first)s, %(last)s) n
     where j.team_id = any(%(teams)s::uuid[])) runs
 order by at
"""
_ATTEMPTS = """
insert into runs_attempt (run_id, number, lease_id, worker, started_at, ended_at, outcome, effect,
       reason, sent, answer)
select id, 1, id, 'worker@' || get_byte(uuid_send(job_id), 2) %% 8, started_at,
       started_at + (1 + get_byte(uuid_send(id), 14)) * interval '0.1 seconds',
       case state when 'SUCCEEDED' then 'succeeded' else 'failed' end, effect, reason, '{}', '{}'
  from runs_run where id >= %(first)s and state in ('SUCCEEDED', 'DEAD', 'REVIEW', 'CLOSED')
"""
_JOBS = """
insert into jobs_job ({columns})
select {values} from jobs_job p cross join generate_series(1, %(copies)s) n where p.id = %(of)s
"""
_DUE = """
insert into jobs_due (job_id, shard, at)
select id, get_byte(uuid_send(id), 15), clock_timestamp() + random() * interval '30 days'
  from jobs_job where team_id = %(team)s
    on conflict do nothing
"""
_PATIENT = """
set statement_timeout = 0; set work_mem = '128MB'; set maintenance_work_mem = '512MB'
"""
_HASTY = "reset statement_timeout; reset work_mem; reset maintenance_work_mem"
# Each hour, each few hours, once a day or once a week, at every minute, in four zones: of ten
# thousand hardly two are alike.
_VARIED = """
update jobs_job j
   set schedule = jsonb_build_array(jsonb_build_object(
         'cron', (n %% 60) || case n %% 10 %% 4
                              when 0 then ' ' || n / 60 %% 24 || ' * * *'
                              when 1 then ' ' || n / 60 %% 24 || ' * * ' || n / 13 %% 7
                              when 2 then ' ' || n / 60 %% 3 || '-23/' || 1 + n / 99 %% 11
                                          || ' * * *'
                              else ' * * * *' end,
         'timezone', (array['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])
                     [1 + n / 11 %% 4],
         'dst', 'once')),
       tags = case when n %% 2000 = 7 then '["prod", "rare"]'::jsonb
                   when n %% 2 = 0 then '["prod"]' else '[]' end,
       owner = 'squad ' || n %% 50
  from (select id, row_number() over (order by id) as n from jobs_job
         where team_id = any(%(teams)s::uuid[])) numbered
 where numbered.id = j.id
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
        cursor.execute(_DUE, {"team": team.id})
    return pattern


def varied(teams: Collection[Team]) -> None:
    """Their jobs get schedules, tags and owners that differ as those of a whole organisation do."""
    with connection.cursor() as cursor:
        cursor.execute(_VARIED, {"teams": array([team.id for team in teams])})


def runs(team: Team, each: int, until: datetime | None = None) -> None:
    """So many runs for each job of the team, an hour apart, up to now or until then."""
    _runs([team], 0, each - 1, until or clock.now())


def long(teams: Collection[Team], each: int, *, at_once: int, tried: int = 60) -> None:
    """The same for many teams and millions of runs, in the order in which they would have been
    written, so many hours of all jobs in one statement; the newest `tried` of each job have an
    attempt. Indexes are made at the end: that is several times as fast."""
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_PATIENT)
    with _indexed_afterwards("runs_run"):
        for last in range(each - 1, -1, -at_once):
            _runs(teams, max(0, last - at_once + 1), last, now)
    with connection.cursor() as cursor:
        since = now - timedelta(hours=tried)
        cursor.execute(_ATTEMPTS, {"first": first_id(since)})
        cursor.execute(_HASTY)


def _runs(teams: Collection[Team], first: int, last: int, now: datetime) -> None:
    given: dict[str, Any] = {
        "teams": array([team.id for team in teams]),
        "first": first,
        "last": last,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, given)


@contextmanager
def _indexed_afterwards(table: str) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select indexname, indexdef from pg_indexes where tablename = %s"
            " and indexname not in (select conname from pg_constraint)",
            [table],
        )
        found = cursor.fetchall()
        cursor.execute("".join(f"drop index {name};" for name, _ in found))
        yield
        for _, statement in found:
            cursor.execute(statement)


def analyzed() -> None:
    """The planner knows what is there."""
    with connection.cursor() as cursor:
        for table in ("jobs_job", "jobs_due", "runs_run", "jobs_team"):
            cursor.execute(f"analyze {table}")
