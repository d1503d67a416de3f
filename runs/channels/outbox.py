"""The outbox: what is to be told, written in the transaction that made it so.

One statement for however many runs: those of one job that came to the same at once are one message
with a count. Where no channel hears it, nothing is written, and the runs are not even read. A
message's event (kind, first run, token) is unique for a channel: done again, it is told once.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import connection

from runs.channels.messages import Kind
from runs.faults import fault
from runs.states import State

TOLD = frozenset({State.REVIEW, State.DEAD, State.SKIPPED})  # the states that are told of
_LATE_BATCH = 500
_REASON = 1_000

log = structlog.get_logger("onebeat.outbox")

# The rows of `what` (run_id, job_id, attempt, kind, cause, moments, first_at, last_at, reason) go
# to the channels of the jobs' teams.
_TELL = f"""
insert into runs_message (channel_id, event, kind, job_id, run_id, count, first_at, last_at, reason)
select c.id, format('%%s:%%s:%%s', w.kind, w.run_id, w.attempt), w.kind, w.job_id, w.run_id,
       w.moments, w.first_at, w.last_at, left(w.reason, {_REASON})
  from (select kind, job_id, (array_agg(run_id order by run_id))[1] as run_id,
               (array_agg(attempt order by run_id))[1] as attempt, sum(moments) as moments,
               min(first_at) as first_at, max(last_at) as last_at,
               (array_agg(reason order by run_id))[1] as reason
          from what group by kind, job_id, cause) w
  join jobs_job j on j.id = w.job_id
  join runs_channel c on c.team_id = j.team_id and c.kinds ? w.kind
on conflict (channel_id, event) do nothing
"""  # noqa: S608 (our own words)

# What a person has asked for is not told: a backfill that was taken back.
_OF_RUNS = f"""
with what as (
  select r.id as run_id, r.job_id, r.attempt,
         case when r.state = 'DEAD' then 'dead'
              when r.state = 'SKIPPED' then %(skipped_as)s
              when r.review_class = 'missed' then 'missed'
              else 'review' end as kind,
         r.review_class as cause, coalesce(r.skipped_count, 1) as moments,
         r.due_at as first_at, coalesce(r.skipped_until, r.due_at) as last_at, r.reason
    from runs_run r
   where r.id = any(%(runs)s::uuid[]) and r.state in ('DEAD', 'REVIEW', 'SKIPPED')
     and not (r.state = 'SKIPPED' and r.origin = 'backfill')
     and exists (select 1 from runs_channel where team_id is not null))
{_TELL}
"""  # noqa: S608 (our own words)


def of_runs(run_ids: Collection[UUID], *, skipped_as: Kind = Kind.DROPPED) -> None:
    """Tell of these runs as they stand now: in review, dead, missed or dropped. To be called in
    the transaction that moved them."""
    if not run_ids:
        return
    fault("dead.before_notify")
    with connection.cursor() as cursor:
        cursor.execute(_OF_RUNS, {"runs": list(run_ids), "skipped_as": str(skipped_as)})


_HEARD = "select exists (select 1 from runs_channel where team_id is not null and kinds ? 'late')"
# Each run is late once: the mark on the run and the message are one commit. What waits for a hold
# waits because somebody said so.
_LATE = f"""
with heard as materialized (
  select team_id from runs_channel where team_id is not null and kinds ? 'late'),
unstarted as (
  (select id, job_id, due_at, not_before from runs_run
    where state in ('CLAIMED', 'ENQUEUED') and attempt = 0 and late_at is null)
  union all
  (select id, job_id, due_at, not_before from runs_run
    where state = 'WAITING' and hold_id is null and attempt = 0 and late_at is null)),
due as (
  select u.id from unstarted u join jobs_job j on j.id = u.job_id
   where j.team_id in (select team_id from heard) and u.due_at is not null
     and greatest(u.due_at, u.not_before)
         < statement_timestamp() - j.late_after * interval '1 second'
   limit {_LATE_BATCH}),
seen as (
  select id from runs_run
   where id in (select id from due) and attempt = 0 and late_at is null
     and state in ('CLAIMED', 'ENQUEUED', 'WAITING')
     for update skip locked),
late as (
  update runs_run set late_at = statement_timestamp() where id in (select id from seen)
  returning id, job_id, due_at, reason),
what as (
  select id as run_id, job_id, 0 as attempt, 'late' as kind, '' as cause, 1 as moments,
         due_at as first_at, due_at as last_at, reason from late)
{_TELL}
"""  # noqa: S608 (our own words)


def late() -> None:
    """Tell of runs that have not started within `late_after` seconds of their moment. Any beat
    looks, all the time; where nobody hears it the look is one small statement."""
    with connection.cursor() as cursor:
        cursor.execute(_HEARD)
        if cursor.fetchone()[0]:
            cursor.execute(_LATE)


_OF_JOB = """
insert into runs_message (channel_id, event, kind, job_id, run_id, count, first_at, last_at, reason)
select c.id, %(event)s, %(kind)s, %(job)s::uuid, %(run)s::uuid, %(count)s,
       %(first)s::timestamptz, %(last)s::timestamptz, %(reason)s
  from runs_channel c
 where c.kinds ? %(kind)s
   and c.team_id is not distinct from (select team_id from jobs_job where id = %(job)s::uuid)
on conflict (channel_id, event) do nothing
"""


def escalated(run_id: UUID, job_id: UUID, *, decision: object, by: str, note: str) -> None:
    """Tell that a review was passed on. `decision` names the escalation, told once."""
    _write(
        Kind.ESCALATED,
        f"{run_id}:{decision}",
        f"{by} wrote: {note}",
        job=job_id,
        run=run_id,
    )


def disagreement(
    job_id: UUID, *, of: str, count: int, first: datetime | None, last: datetime | None
) -> None:
    """Tell the job's team and the platform's staff what the audit found of a job: `count` moments
    that are `of` this kind of gap. The same gap, found again, is told once."""
    event = f"{job_id}:{of}:{first.isoformat() if first else ''}"
    about: dict[str, Any] = {"count": count, "first": first, "last": last}
    _write(Kind.AUDIT, event, f"They are {of}.", job=job_id, **about)
    _write(Kind.AUDIT, event, f"Job {job_id}: {count} moments are {of}.", **about)


def of_installation(kind: Kind, about: str, reason: str) -> None:
    """Tell the platform's staff. `about` names the incident: told once, however often it is
    seen."""
    _write(kind, about, reason)


# What waits for its next try stays. Of a channel that is gone there may be a message left, written
# in the instant in which it was deleted.
_FORGET = """
with old as (
  select m.id, m.delivery_id from runs_message m left join runs_delivery d on d.id = m.delivery_id
   where m.at < statement_timestamp() - interval '30 days' and d.next_at is null
   order by m.id limit %(limit)s),
gone as (delete from runs_message where id in (select id from old) returning delivery_id)
select count(*) from gone
"""
_FORGET_SENDINGS = """
delete from runs_delivery d
 where d.created_at < statement_timestamp() - interval '30 days' and d.next_at is null
   and not exists (select 1 from runs_message where delivery_id = d.id)
"""


def forget(limit: int) -> int:
    """Delete at most so many messages of more than 30 days ago, and the sendings that are left
    without any; how many messages."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"limit": limit})
        (deleted,) = cursor.fetchone()
        cursor.execute(_FORGET_SENDINGS)
    return int(deleted)


_RESTORED = "Not sent: the database was restored from a copy, so this may have been told before."
_WITHHOLD = """
with held as (
  insert into runs_delivery (id, channel_id, is_test, created_at, tries, given_up_at, answer)
  select gen_random_uuid(), c.id, false, statement_timestamp(), 0, statement_timestamp(), %(why)s
    from runs_channel c
   where exists (select 1 from runs_message where channel_id = c.id and delivery_id is null)
  returning id, channel_id),
packed as (
  update runs_message m set delivery_id = h.id from held h
   where m.channel_id = h.channel_id and m.delivery_id is null)
update runs_delivery
   set given_up_at = statement_timestamp(), next_at = null, answer = %(why)s
 where next_at is not null
"""


def withhold() -> None:
    """Give up all that waits, with the reason: in a restored copy it may be told already, and a
    copy on a test system is not to tell anybody. A channel's page can send it all the same."""
    with connection.cursor() as cursor:
        cursor.execute(_WITHHOLD, {"why": _RESTORED})


def _write(
    kind: Kind,
    event: str,
    reason: str,
    *,
    job: UUID | None = None,
    run: UUID | None = None,
    count: int = 1,
    first: datetime | None = None,
    last: datetime | None = None,
) -> None:
    row = {
        "event": f"{kind}:{event}"[:200],
        "kind": str(kind),
        "job": job,
        "run": run,
        "count": count,
        "first": first,
        "last": last,
        "reason": reason[:_REASON],
    }
    with connection.cursor() as cursor:
        cursor.execute(_OF_JOB, row)
