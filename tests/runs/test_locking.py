"""Locks are taken in one order, also by who finds no due row at first."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction

from jobs import clock, editing, locking
from jobs.models import Due, Job
from tests import make
from tests.servers import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 10
_BLOCKED = "select count(*) from pg_locks where not granted and pid <> pg_backend_pid()"


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_BLOCKED)
        return bool(cursor.fetchone()[0])


def hold_due_then_job(job: Job) -> Due | None:
    with transaction.atomic():
        due = locking.lock(job.id)
        Job.objects.select_for_update(no_key=True).get(id=job.id)
    return due


def test_who_waited_for_a_job_without_a_due_row_stands_against_no_claim() -> None:
    found: list[Any] = []

    def wait_for(job: Job) -> None:
        try:
            found.append(hold_due_then_job(job))
        except Exception as error:
            found.append(error)
        finally:
            connection.close()

    for number in range(ROUNDS):
        job = make.job(make.team(), name=f"job {number}")
        editing.pause(job.id, editing.Pause("a move"), by=None)
        with transaction.atomic():
            Job.objects.select_for_update(no_key=True).get(id=job.id)
            other = threading.Thread(target=wait_for, args=(job,))
            other.start()
            wait_until(someone_waits, seconds=30, what="a wait for the lock")
            Due.objects.create(job=job, shard=0, at=clock.now())
        with transaction.atomic():  # what a claim does that writes its job
            Due.objects.select_for_update().get(job=job)
            Job.objects.filter(id=job.id).update(skip_next=0)
        other.join(timeout=30)
    assert [type(each) for each in found] == [Due] * ROUNDS


def test_a_job_that_is_gone_has_no_lock() -> None:
    job = make.job(make.team())
    job_id = job.id
    Due.objects.all().delete()
    Job.objects.all().delete()
    with transaction.atomic(), pytest.raises(Job.DoesNotExist):
        locking.lock(job_id)
