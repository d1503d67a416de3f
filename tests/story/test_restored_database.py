"""A copy from eleven days ago is started: it holds everything, calls nobody, and asks a person
(C33)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs import clock, holds
from jobs.models import Due, Hold, Job, Team
from runs.models import Attempt, Installation, Run
from runs.states import State
from tests import make
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(240)]

_ELEVEN_DAYS_AGO = """
update jobs_due set at = at - interval '11 days';
update jobs_job set version_began_at = version_began_at - interval '12 days';
update jobs_jobversion set began_at = began_at - interval '12 days';
update runs_run set send_at = send_at - interval '11 days',
                    created_at = created_at - interval '11 days';
update runs_installation set seen_at = seen_at - interval '11 days';
"""


@pytest.fixture
def jobs(product: Product, team: Team) -> list[Job]:
    """Of every kind: each policy, and what the copy had under way."""
    note = {"type": "task", "name": "story.note"}
    often = {"cron": "*/5 * * * *"}
    made = [
        register(team, policy, often, note, catch_up={"policy": policy, "limit": 20})
        for policy in ("last", "all", "none")
    ]
    made.append(register(team, "ask", often, note, idempotent=False, catch_up={"limit": 20}))
    for state in (State.CLAIMED, State.RETRYING):
        make.run(register(team, f"was {state}", often, note), state)
    return made


def test_a_restored_copy_holds_itself_sends_nothing_and_is_let_go_by_a_person(
    product: Product, team: Team, jobs: list[Job]
) -> None:
    _worked_once(product)
    with connection.cursor() as cursor:
        cursor.execute(_ELEVEN_DAYS_AGO)
    began = clock.now()
    product.beat()
    product.beat()
    product.worker()
    product.up()
    wait_until(lambda: not _overdue(), seconds=30, what="every due row is claimed")
    wait_until(lambda: _all_wait(jobs), seconds=30, what="what was under way is parked")
    (hold,) = Hold.objects.filter(ended_at=None)
    assert hold.team is None
    assert "restored from a copy" in hold.reason
    assert not Attempt.objects.exists()
    assert not (product.folder / "notes").exists()
    assert _owed(jobs) == {"last": 1, "all": 20, "none": 20, "ask": 20}

    holds.end(hold.id, by=None, others="drop")
    wait_until(lambda: not _held(), seconds=30, what="everything is let go")
    assert not Run.objects.filter(job__in=jobs, created_at__lt=began, attempt__gt=0).exists()
    soon = register(team, "soon", {"every": 1}, {"type": "task", "name": "story.note"})
    done = Run.objects.filter(job=soon, state=State.SUCCEEDED)
    wait_until(done.exists, seconds=30, what="the day's work goes on")
    assert Hold.objects.filter(ended_at=None).count() == 0


def _worked_once(product: Product) -> None:
    """A beat has been at work here, without anything due."""
    Due.objects.update(at=clock.now() + timedelta(minutes=5))
    Run.objects.exclude(send_at=None).update(send_at=clock.now() + timedelta(minutes=5))
    beat = product.beat()
    product.up()  # its sign is looked for again when others come up
    wait_until(lambda: Installation.objects.exists(), seconds=60, what="a beat is at work")
    beat.kill()
    with connection.cursor() as cursor:  # back to a moment of the schedule
        cursor.execute("update jobs_due set at = date_bin('5 minutes', now(), 'epoch')")
    Run.objects.exclude(send_at=None).update(send_at=clock.now())


def _overdue() -> bool:
    return Due.objects.filter(at__lt=clock.now() - timedelta(minutes=6)).exists()


def _held() -> bool:
    return Run.objects.filter(state=State.WAITING, hold__isnull=False).exists()


def _all_wait(jobs: list[Job]) -> bool:
    others = Run.objects.exclude(job__in=jobs).exclude(state=State.SKIPPED)
    return set(others.values_list("state", flat=True)) == {"WAITING"}


def _owed(jobs: list[Job]) -> dict[str, int]:
    """How many moments of each job wait."""
    rows = Run.objects.filter(job__in=jobs, state=State.WAITING, hold__isnull=False)
    return {job.name: rows.filter(job=job).count() for job in jobs}
