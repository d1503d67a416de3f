"""The statements of the claim, each over a whole batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from jobs.calendars.days import Use
from runs.arrays import array
from runs.birth import UnderHold
from runs.holds import holding
from runs.overlap import Rule


class DueJob(NamedTuple):
    """What the claim needs of a job; `plan` is the JSON text of the stored parts of its plan. A
    deleted job and one that has had its runs are paused for good: what fell due before is still
    claimed, and of a deleted one cancelled at its start."""

    id: UUID
    version: int
    version_began_at: datetime
    plan: str
    paused: bool
    paused_until: datetime | None
    catch_up_policy: str
    catch_up_window: int
    catch_up_limit: int
    idempotent: bool
    overlap: str
    block_on_review: bool
    queue_limit: int
    max_runs: int | None
    runs_begun: int
    skip_next: int
    skip_reason: str
    start_delay: int
    templated: bool
    zone_data: str
    newest_zone_data: str
    calendar: str | None
    calendar_version: int
    any_hold: bool
    hold: UnderHold | None = None

    @property
    def calendar_use(self) -> Use | None:
        """The version of a calendar that its plan goes by (which holds the rule)."""
        return Use(self.calendar, "skip", self.calendar_version) if self.calendar else None

    @property
    def runs_left(self) -> int | None:
        """How many more moments may become runs; None: no bound."""
        return None if self.max_runs is None else max(0, self.max_runs - self.runs_begun)

    @property
    def has_allowance(self) -> bool:
        """Whether the claim has to count its moments."""
        return self.max_runs is not None or self.skip_next > 0

    def fills(self, version: int) -> bool:
        """Whether a birth of this version may have values to be filled in."""
        return self.templated or version != self.version

    @property
    def rule(self) -> Rule | None:
        """How its runs take turns; None where they never are in one another's way, or wait for
        a hold all alike."""
        if self.hold is not None or (self.overlap == "allow" and not self.block_on_review):
            return None
        return Rule(self.overlap, self.block_on_review, self.queue_limit)


# {only}: while rows are about that this beat may not claim, and which would fill every batch.
_LOCK_DUE = """
select job_id, at
  from jobs_due d
 where at >= %(above)s and at <= %(now)s
   and (shard = any(%(shards)s::int[]) or at <= %(now)s - interval '1 second')
 {only}
 order by at
 limit %(limit)s
   for update skip locked
"""
_ONLY_ZONE_DATA = """
   and exists (select 1 from jobs_job j where j.id = d.job_id
                  and (j.zone_data = any(%(zone_data)s) or j.deleted_at is not null))
"""


def lock_due(
    cursor: Any,
    now: datetime,
    *,
    shards: Sequence[int],
    above: datetime,
    limit: int,
    zone_data: Sequence[str] | None = None,
) -> dict[UUID, datetime]:
    """The due rows, locked for this transaction, oldest first: job id → moment. `zone_data`: only
    those that were worked out by one of these versions."""
    given = {"above": above, "now": now, "shards": array(shards), "limit": limit}
    only = "" if zone_data is None else _ONLY_ZONE_DATA
    cursor.execute(_LOCK_DUE.format(only=only), {**given, "zone_data": list(zone_data or ())})
    return dict(cursor.fetchall())


_READ_JOBS = """
select id, version, version_began_at,
       jsonb_build_object(
         'schedule', schedule, 'starts_at', starts_at, 'ends_at', ends_at,
         'calendar', case when calendar_id is not null then jsonb_build_object(
           'name', calendar_id, 'rule', calendar_rule, 'version', calendar_version) end)::text,
       paused or finished or deleted_at is not null,
       case when deleted_at is null then paused_until end,
       catch_up_policy, catch_up_window, catch_up_limit, idempotent,
       overlap, block_on_review, queue_limit, max_runs, runs_begun, skip_next, skip_reason,
       start_delay, templated,
       case when deleted_at is null then zone_data else '' end,
       (select coalesce(max(version collate "C"), '') from runs_zonedata),
       calendar_id, calendar_version,
       exists (select 1 from jobs_hold where ended_at is null)
  from jobs_job where id = any(%s::uuid[])
"""


def read_jobs(cursor: Any, job_ids: Iterable[UUID]) -> list[DueJob]:
    """The jobs of the locked rows, as they are now, each with the hold that it is under."""
    cursor.execute(_READ_JOBS, [array(job_ids)])
    found = [DueJob(*row) for row in cursor.fetchall()]
    if not any(job.any_hold for job in found):
        return found
    held = holding.of_jobs(cursor, [job.id for job in found])
    return [job._replace(hold=held.get(job.id)) for job in found]


_VERSIONS = """
select number, began_at,
       (definition->>'paused')::boolean or (definition->>'deleted')::boolean
         or coalesce((definition->>'finished')::boolean, false),
       jsonb_build_object(
         'schedule', definition->'schedule', 'starts_at', definition->'starts_at',
         'ends_at', definition->'ends_at', 'calendar', definition->'calendar')::text
  from jobs_jobversion
 where job_id = %(job)s
   and number >= coalesce(
         (select max(number) from jobs_jobversion where job_id = %(job)s and began_at < %(due)s), 0)
 order by number
"""


def versions_since(
    cursor: Any, job_id: UUID, due: datetime
) -> list[tuple[int, datetime, bool, str]]:
    """(number, began_at, idle, plan text) from the version in force at `due` on."""
    cursor.execute(_VERSIONS, {"job": job_id, "due": due})
    return list(cursor.fetchall())


_END_PAUSE = """
with resumed as (
  update jobs_job
     set paused = false, paused_until = null, paused_reason = '',
         version = version + 1, version_began_at = %(at)s
   where id = %(job)s returning id, version)
insert into jobs_jobversion (job_id, number, began_at, definition, changes)
select r.id, r.version, %(at)s,
       v.definition || '{"paused": false, "paused_until": null, "paused_reason": ""}',
       '{"paused": {"from": true, "to": false}}'
  from resumed r
  join jobs_jobversion v on v.job_id = r.id and v.number = r.version - 1
returning number
"""


def end_pause(cursor: Any, job: DueJob) -> DueJob:
    """The job resumed as of the end of its pause."""
    cursor.execute(_END_PAUSE, {"job": job.id, "at": job.paused_until})
    (version,) = cursor.fetchone()
    assert job.paused_until is not None
    return job._replace(
        version=version, version_began_at=job.paused_until, paused=False, paused_until=None
    )


_PAUSE_BROKEN = """
with parked as (
  update jobs_job
     set paused = true, paused_until = null, paused_reason = %(reason)s,
         version = version + 1, version_began_at = clock_timestamp()
   where id = %(job)s returning id, version, version_began_at),
gone as (delete from jobs_due where job_id = %(job)s)
insert into jobs_jobversion (job_id, number, began_at, definition, changes)
select p.id, p.version, p.version_began_at,
       v.definition || jsonb_build_object('paused', true, 'paused_reason', %(reason)s::text),
       '{"paused": {"from": false, "to": true}}'
  from parked p
  join jobs_jobversion v on v.job_id = p.id and v.number = p.version - 1
"""


def pause_broken(cursor: Any, job_id: UUID, reason: str) -> None:
    """The job paused with the reason, its due row gone."""
    cursor.execute(_PAUSE_BROKEN, {"job": job_id, "reason": reason[:1000]})


_MOVE = """
update jobs_due d set at = m.at
  from unnest(%(jobs)s::uuid[], %(moments)s::timestamptz[]) as m(job_id, at)
 where d.job_id = m.job_id and d.job_id = any(%(jobs)s::uuid[])
"""


def move(cursor: Any, moved: Sequence[tuple[UUID, datetime | None]]) -> None:
    """Each due row on to its job's next moment; a job without one loses its row."""
    onward = [(job_id, at) for job_id, at in moved if at is not None]
    if onward:
        jobs, moments = zip(*onward, strict=True)
        cursor.execute(_MOVE, {"jobs": array(jobs), "moments": array(moments)})
    if finished := [job_id for job_id, at in moved if at is None]:
        cursor.execute("delete from jobs_due where job_id = any(%s)", [finished])
