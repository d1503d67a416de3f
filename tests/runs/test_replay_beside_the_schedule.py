"""A dead run and the moments after it: neither is in the other's way, and keys hold the moment."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from jobs import clock
from jobs.models import Due, User
from jobs.shards import COUNT
from runs import claim, error_groups, release, start
from runs.bounds import EVER
from runs.letters import replay
from runs.models import Attempt, Run
from runs.states import State
from tests import make
from tests.runs.histories import MINUTE, fired, minutely, noon

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def claimed() -> None:
    claim.due_jobs(clock.now(), shards=list(range(COUNT)), above=EVER)


def test_a_dead_moment_blocks_no_other_and_is_tried_again_under_its_key(operator: User) -> None:
    """K124: a dead run keeps its key, which no later moment has; its replay is one more attempt of
    the same run, behind what is under way."""
    job = minutely(overlap="queue")
    moment = clock.now().replace(second=0, microsecond=0)
    dead = fired(job, moment - MINUTE, State.DEAD, key=f"{job.id}:T")
    Due.objects.filter(job=job).update(at=moment)
    claimed()
    later = Run.objects.get(job=job, due_at=moment)
    assert (later.state, later.key == dead.key) == ("CLAIMED", False)
    waits = replay.replay(dead.id, token=dead.attempt, note="", by=operator)
    assert (waits.state, waits.blocked_by) == ("WAITING", later.id)
    Run.objects.filter(id=later.id).update(
        state=State.SUCCEEDED, finished_at=clock.now(), send_at=None
    )
    release.waiting(release.lock(job.id))
    granted = start.run(dead.id, worker="w")
    assert granted is not None
    again = Run.objects.get(id=dead.id)
    assert (again.state, again.key, again.attempt) == ("RUNNING", dead.key, dead.attempt + 1)
    assert Run.objects.filter(job=job).count() == 2, "no run is made anew"


def test_what_was_dead_before_there_were_groups_is_put_in_its_group() -> None:
    fill = import_module("runs.migrations.0010_what_runs_died_of").fill
    job, at = make.job(make.team()), noon()
    with_attempt = make.run(job, State.DEAD, reason="Order 7 failed")
    without = make.run(job, State.DEAD, reason="Order 8 failed")
    for number in (1, 2):
        Attempt.objects.create(
            run=with_attempt,
            number=number,
            lease_id=with_attempt.id,
            worker="w",
            started_at=at,
            ended_at=at + timedelta(minutes=number),
            outcome="failed",
        )
    with connection.cursor() as cursor:
        cursor.execute("alter table runs_run drop constraint dead_run_belongs_to_a_group")
    Run.objects.update(error_group=None, died_at=None)
    fill(apps, SimpleNamespace())
    found = {run.id: run for run in Run.objects.all()}
    group = error_groups.group_of(job.id, "Order 1 failed")
    assert {run.error_group for run in found.values()} == {group}
    assert found[with_attempt.id].died_at == at + timedelta(minutes=2)
    assert found[without.id].died_at == without.created_at
