"""A job pauses itself when too many of its runs wait in review.

The beats look, with one statement that reads only the jobs that ask for it. A crash between a
review and the pause leaves nothing undone, and whatever settles a run need not know of this.
"""

from __future__ import annotations

from uuid import UUID

import structlog
from django.db import connection, transaction

from jobs import editing, locking

log = structlog.get_logger("onebeat.job")

# Those that came since somebody last resumed the job or set the number: who resumes it knows of
# the others.
_TOO_MANY = """
select j.id, j.pause_after_reviews, count(*)
  from jobs_job j join runs_run r on r.job_id = j.id and r.state = 'REVIEW'
 where j.pause_after_reviews is not null and not j.paused and j.deleted_at is null
   and j.periodic_task_id is null and (%(job)s::uuid is null or j.id = %(job)s)
   and r.review_at > (select max(v.began_at) from jobs_jobversion v
                       where v.job_id = j.id
                         and (v.changes ? 'paused' or v.changes ? 'pause_after_reviews'))
 group by j.id having count(*) >= j.pause_after_reviews
 limit 100
"""


def after_reviews() -> int:
    """Pause the jobs with too many runs in review, each with the reason; how many."""
    return sum(_pause(job_id) for job_id, _, _ in _too_many())


def _pause(job_id: UUID) -> bool:
    """Under the job's lock once more: another beat, or a person, may have been faster."""
    with transaction.atomic():
        locking.lock(job_id)
        for _, most, waiting in _too_many(job_id):
            reason = f"Paused by itself: {waiting} of its runs wait in review (limit {most})."
            editing.pause(job_id, editing.Pause(reason=reason), by=None)
            log.warning("job.paused_itself", job=str(job_id), reviews=waiting)
            return True
    return False


def _too_many(job_id: UUID | None = None) -> list[tuple[UUID, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MANY, {"job": job_id})
        found: list[tuple[UUID, int, int]] = cursor.fetchall()
        return found
