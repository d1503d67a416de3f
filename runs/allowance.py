"""How many more moments of a job may become runs: `skip_next` and `max_runs`.

Jobs that say neither cost nothing here. Of the others the claim writes the job itself, which no
other fire does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog

from runs.arrays import array
from runs.birth import Birth
from runs.claim_rows import DueJob
from runs.states import State

log = structlog.get_logger("onebeat.claim")


def limited(job: DueJob, births: Iterable[Birth]) -> list[Birth]:
    """The births of one job, oldest moment first: those to skip, and those beyond its last run,
    are recorded and not carried out."""
    skip, left = job.skip_next, job.runs_left
    settled = []
    for birth in sorted(births, key=lambda birth: birth.due_at):
        if birth.state is State.SKIPPED:
            skip -= min(skip, birth.skipped_count or 0)
        elif skip:
            skip -= 1
            birth = birth.skipped(f"Skipped as asked. {job.skip_reason}".strip())
        elif left == 0:
            birth = birth.skipped(f"Skipped: the job has had its {job.max_runs} runs.")
        elif left is not None:
            left -= 1
        settled.append(birth)
    return settled


_SPEND = """
update jobs_job j
   set skip_next = greatest(0, j.skip_next - s.moments),
       skip_reason = case when j.skip_next > s.moments then j.skip_reason else '' end,
       runs_begun = case when j.max_runs is null then 0 else j.runs_begun + s.runs end
  from unnest(%(jobs)s::uuid[], %(moments)s::int[], %(runs)s::int[]) as s(job_id, moments, runs)
 where j.id = s.job_id and j.id = any(%(jobs)s::uuid[])
returning j.id, coalesce(j.runs_begun >= j.max_runs and j.version_began_at <= %(now)s, false)
"""
_FINISH = """
with done as (
  update jobs_job set finished = true, version = version + 1, version_began_at = %(now)s
   where id = any(%(jobs)s::uuid[]) returning id, version)
insert into jobs_jobversion (job_id, number, began_at, definition, changes)
select d.id, d.version, %(now)s, v.definition || '{"finished": true}',
       '{"finished": {"from": false, "to": true}}'
  from done d join jobs_jobversion v on v.job_id = d.id and v.number = d.version - 1
"""


def spend(
    cursor: Any, jobs: Mapping[UUID, DueJob], births: Sequence[Birth], now: datetime
) -> set[UUID]:
    """Count what these births have used up; the jobs that have had their last run now, which
    have no next moment any more. `jobs`: those with an allowance."""
    if not jobs:
        return set()
    moments: Counter[UUID] = Counter()
    runs: Counter[UUID] = Counter()
    for birth in (birth for birth in births if birth.job_id in jobs):
        moments[birth.job_id] += birth.skipped_count or 1
        runs[birth.job_id] += birth.state is not State.SKIPPED
    ids = sorted(moments)
    cursor.execute(
        _SPEND,
        {
            "jobs": array(ids),
            "moments": [moments[job_id] for job_id in ids],
            "runs": [runs[job_id] for job_id in ids],
            "now": now,
        },
    )
    finished = {job_id for job_id, has_had_its_runs in cursor.fetchall() if has_had_its_runs}
    if finished:
        cursor.execute(_FINISH, {"jobs": array(finished), "now": now})
        for job_id in finished:
            log.info("job.finished", job=str(job_id))
    return finished
