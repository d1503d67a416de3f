"""What is the matter with a job: one rule for the Overview, the list of jobs and the API.

Each is a condition that the database works out. Runs that are under way or rest are found by the
partial indexes on them, the newest outcome of a job by `runs_of_a_job`; history is never read.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from jobs.models import Hold
from runs.arrays import array

Rows = TypeVar("Rows", bound=QuerySet[Any])


# The runs of everybody's jobs that need a person, in the words of the partial indexes.
BAD = """
select job_id, id from runs_run where state = 'REVIEW'
union all
select job_id, id from runs_run where state = 'DEAD'"""
# Those jobs of `bad` of which it is not known that they got over it (runs/models/tried.py).
SUSPECTS = """
select distinct bad.job_id as id
  from bad left join runs_tried t on t.job_id = bad.job_id
 where t.got_over is null or bad.id > t.got_over"""
# Of the job `j`: the newest run that tells how it is.
NEWEST = """
(select o.state from runs_run o
  where o.job_id = j.id and o.state in ('SUCCEEDED', 'CLOSED', 'DEAD', 'REVIEW')
  order by o.id desc limit 1)"""
NEWEST_IS_BAD = f"({NEWEST} in ('DEAD', 'REVIEW'))"
_FAILING = f"""
with bad as materialized ({BAD}),
     j as materialized ({SUSPECTS})
select id from j where {NEWEST_IS_BAD}
"""  # noqa: S608 (our own words)
# What has not started so long after its moment; what waits for a hold waits because somebody said
# so. The same as runs/channels/outbox.py tells of.
LATE_RUN = """
  from runs_run r join jobs_job j on j.id = r.job_id
 where (r.state in ('CLAIMED', 'ENQUEUED') or (r.state = 'WAITING' and r.hold_id is null))
   and r.attempt = 0 and r.due_at is not null and j.deleted_at is null
   and greatest(r.due_at, r.not_before) + j.late_after * interval '1 second'
       < statement_timestamp()"""
# A moment so long behind that no beat has claimed; the end of a pause is none.
OVERDUE = """
  from jobs_due d join jobs_job j on j.id = d.job_id
 where d.at < statement_timestamp() and not j.paused
   and d.at + j.late_after * interval '1 second' < statement_timestamp()"""
LATE = f"select r.job_id {LATE_RUN} union select d.job_id {OVERDUE}"

# Of the job `j`: a hold is on for it, by what `on_hold` gives.
IS_HELD = "(%(all_held)s or j.team_id = any(%(held)s::uuid[]))"


def on_hold() -> dict[str, Any]:
    """The parameters of IS_HELD as of now."""
    on = list(Hold.objects.filter(ended_at=None).values_list("team_id", flat=True))
    return {"held": array(team for team in on if team is not None), "all_held": None in on}


def failing(jobs: Rows) -> Rows:
    """The jobs whose newest run with an outcome died or is in review. What a person closed since,
    or what has succeeded since, tells otherwise."""
    found: Rows = jobs.filter(is_failing())
    return found


def is_failing() -> Q:
    """The same, of a job."""
    return Q(id__any_of=RawSQL(_FAILING, ()))  # noqa: S611 (our own words)


def late(jobs: Rows) -> Rows:
    """The jobs of which something is due and has not started within their `late_after`."""
    found: Rows = jobs.filter(is_late())
    return found


def is_late() -> Q:
    """Of a job: a run of it is late, or its moment is and has no run yet."""
    return Q(id__any_of=RawSQL(LATE, ()))  # noqa: S611 (our own words)
