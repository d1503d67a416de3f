"""The lock under which a job changes and its runs take turns.

Everybody takes it in one order: the `Due` row, which a claim holds as well, then `Job`, then runs
by id. A job without a `Due` row has its `Job` row for a lock, and keeps it only while there still
is no `Due` row: who held `Job` and waited for `Due` would stand against a claim that holds `Due`
and writes `Job`.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from jobs.models import Due, Job


def lock(job_id: UUID) -> Due | None:
    """Hold the job's `Due` row, or its `Job` row where it has none, until the transaction ends.
    Raises Job.DoesNotExist."""
    while True:
        due = Due.objects.select_for_update().filter(job_id=job_id).first()
        if due is not None or _lock_job_without_due(job_id):
            return due


def try_lock(job_id: UUID) -> bool:
    """The same without waiting; False where somebody else has the lock."""
    rows = Due.objects.filter(job_id=job_id)
    if rows.select_for_update(skip_locked=True).first() is not None:
        return True
    with transaction.atomic():
        free = Job.objects.select_for_update(no_key=True, skip_locked=True).filter(id=job_id)
        ours = not rows.exists() and free.only("id").first() is not None and not rows.exists()
        if not ours:  # as above: who has no right to the row lets go of it
            transaction.set_rollback(True)
    return ours


def _lock_job_without_due(job_id: UUID) -> bool:
    with transaction.atomic():  # a savepoint: rolled back, it lets go of the row
        Job.objects.select_for_update(no_key=True).only("id").get(id=job_id)
        has_none = not Due.objects.filter(job_id=job_id).exists()
        if not has_none:  # an edit has written one while this waited
            transaction.set_rollback(True)
        return has_none
