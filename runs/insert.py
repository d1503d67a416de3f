"""Write the runs that a claim, a person or a backfill brings forth: one statement for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from runs import replica
from runs.arrays import array
from runs.birth import Birth
from runs.idempotency import key_of_moment

# `= any(…)` says again what the join says: without it the planner reads the whole of a wide
# table to find a batch, and a fire would cost by what is registered, not by what is due.
_SNAPSHOT_OF_JOB = """
       coalesce(b.snapshot, j.target), j.idempotent, j.max_attempts, j.backoff, j.cap,
       j.retry_unsent, j.timeout, j.queue, j.completion, j.deadline,
       nullif(j.refusal_codes, '[]'), j.follow_redirects
  from born b join jobs_job j on j.id = b.job_id and j.version = b.version
 where j.id = any(%(jobs)s::uuid[])
"""
_SNAPSHOT_OF_VERSION = """
       coalesce(b.snapshot, v.definition->'target'), (v.definition->>'idempotent')::boolean,
       (v.definition->'retries'->>'max_attempts')::int, (v.definition->'retries'->>'backoff')::int,
       (v.definition->'retries'->>'cap')::int, (v.definition->>'retry_unsent')::boolean,
       (v.definition->>'timeout')::int, v.definition->>'queue',
       coalesce(v.definition->>'completion', 'answer'),
       coalesce((v.definition->>'deadline')::int, 86400),
       nullif(v.definition->'refusal_codes', '[]'),
       coalesce((v.definition->>'follow_redirects')::int, 0)
  from born b
  join jobs_job j on j.id = b.job_id and j.version <> b.version
  join jobs_jobversion v on v.job_id = b.job_id and v.number = b.version
 where j.id = any(%(jobs)s::uuid[])
"""
_INSERT = """
with born as (
  select * from unnest(
    %(ids)s::uuid[], %(jobs)s::uuid[], %(versions)s::int[], %(keys)s::text[],
    %(dues)s::timestamptz[], %(states)s::text[], %(classes)s::text[], %(reasons)s::text[],
    %(untils)s::timestamptz[], %(counts)s::int[], %(blockers)s::uuid[],
    %(starts)s::timestamptz[], %(origins)s::text[], %(backfills)s::uuid[],
    %(snapshots)s::jsonb[], %(offsets)s::smallint[], %(holds)s::uuid[])
  as b(id, job_id, version, key, due_at, state, review_class, reason, skipped_until,
       skipped_count, blocked_by, not_before, origin, backfill_id, snapshot, utc_offset, hold_id))
insert into runs_run
       (id, job_id, job_version, key, origin, backfill_id, hold_id, due_at, state, review_class,
        reason, skipped_until, skipped_count, blocked_by, utc_offset, serial, effect, attempt,
        failures, sends, passed, created_at, not_before, send_at, finished_at, review_at, snapshot,
        idempotent, max_attempts, backoff, cap, retry_unsent, timeout, queue, completion, deadline,
        refusal_codes, follow_redirects)
select b.id, b.job_id, b.version, b.key, b.origin, b.backfill_id, b.hold_id, b.due_at, b.state,
       b.review_class, b.reason,
       b.skipped_until, b.skipped_count, b.blocked_by, b.utc_offset,
       b.state = 'CLAIMED' and j.overlap <> 'allow', 'none', 0, 0, 0,
       runs_passed('[]', b.state, %(now)s, %(who)s), %(now)s,
       b.not_before,
       case when b.state = 'CLAIMED' then greatest(%(now)s::timestamptz, b.not_before) end,
       case when b.state = 'SKIPPED' then %(now)s::timestamptz end,
       case when b.state = 'REVIEW' then %(now)s::timestamptz end,
{snapshot}
on conflict (job_id, due_at) where due_at is not null and state <> 'SKIPPED' do nothing
"""


NONE_KNOWN: Mapping[UUID, int] = MappingProxyType({})


def births(
    cursor: Any,
    born: Sequence[Birth],
    now: datetime,
    *,
    snapshots: Mapping[UUID, str],
    offsets: Mapping[UUID, int] = NONE_KNOWN,
    who: str | None = None,
) -> int:
    """Write the runs, each with its own snapshot (JSON text) or that of its version, and the
    offset of its zone (minutes) where it has one; a moment that has a run already gets no second
    one. `who` asked for them; None: this process did. Returns how many were written."""
    if not born:
        return 0
    rows = {
        "ids": array(birth.id for birth in born),
        "jobs": array(birth.job_id for birth in born),
        "versions": array(birth.version for birth in born),
        "keys": array(key_of_moment(birth.job_id, birth.due_at) for birth in born),
        "dues": array(birth.due_at for birth in born),
        "states": [birth.state.value for birth in born],
        "classes": [str(birth.review_class) for birth in born],
        "reasons": [birth.reason for birth in born],
        "untils": array(birth.skipped_until for birth in born),
        "blockers": array(birth.blocked_by for birth in born),
        "starts": array(birth.not_before for birth in born),
        "holds": array(birth.hold_id for birth in born),
        "counts": array(birth.skipped_count for birth in born),
        "origins": [birth.origin.value for birth in born],
        "backfills": array(birth.backfill_id for birth in born),
        "offsets": array(offsets.get(birth.id) for birth in born),
        "snapshots": [snapshots.get(birth.id) for birth in born],
        "now": now,
        "who": replica.name() if who is None else who,
    }
    cursor.execute(_INSERT.format(snapshot=_SNAPSHOT_OF_JOB), rows)
    written: int = cursor.rowcount
    if written < len(born):  # some are of an earlier version, or had a run
        cursor.execute(_INSERT.format(snapshot=_SNAPSHOT_OF_VERSION), rows)
        written += cursor.rowcount
    return written
