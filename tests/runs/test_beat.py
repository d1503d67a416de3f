"""One tick after the other: what is ahead is sent to nobody, and an error ends nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
import structlog
from django.db import OperationalError

from config.celery import app
from jobs import clock, editing
from jobs.models import Due, Hold, Job, JobVersion
from jobs.schedules.instants import canonical_instant
from jobs.shards import COUNT
from runs import claim, enqueue
from runs.beat import Every, Scheduler
from runs.bounds import EVER
from runs.models import Run
from runs.states import State
from tests import make
from tests.races import ROUNDS, at_once
from tests.runs.test_claim import overdue
from tests.story import many

ALL = list(range(COUNT))
AHEAD = 50_000 if os.environ.get("ONEBEAT_STORY") == "full" else 500


class Nobody:
    """Stands in for the broker, to whom nothing may be given."""

    def send(self, queue: str, run_ids: object, *, within: float) -> None:
        pytest.fail(f"{run_ids} were sent")


@pytest.mark.django_db
def test_what_is_due_tomorrow_is_with_no_broker_and_no_worker_k102() -> None:
    tomorrow = clock.now() + timedelta(days=1)
    many.jobs(make.team(), [tomorrow] * AHEAD, every=3600)
    make.run(make.job(make.team(), name="later"), State.RETRYING, send_at=tomorrow)
    now = clock.now()
    assert claim.due_jobs(now, shards=ALL, above=EVER) == claim.Claimed()
    nobody: Any = Nobody()
    assert enqueue.waiting_runs(now, nobody, above=EVER) == enqueue.Sent()
    assert Due.objects.count() >= AHEAD


@pytest.fixture
def scheduler(settings: Any, tmp_path: Path) -> Iterator[Scheduler]:
    settings.DATA = tmp_path
    beat = Scheduler(app=app)
    yield beat
    beat.close()


@pytest.mark.django_db(transaction=True)
def test_a_tick_that_meets_an_error_is_followed_by_the_next_k134(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make.job(make.team())
    overdue(job, 2)
    monkeypatch.setattr(scheduler, "_enqueue", lambda _: enqueue.Sent())
    real, errors = claim.due_jobs, [OperationalError("deadlock detected")]

    def failing_once(*args: Any, **kwargs: Any) -> Any:
        if errors:
            raise errors.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(claim, "due_jobs", failing_once)
    with structlog.testing.capture_logs() as told:
        assert scheduler.tick() >= 0
    assert [line["step"] for line in told if line["event"] == "beat.error"] == ["_work"]
    assert not Run.objects.exists()
    scheduler.tick()
    assert Run.objects.get().job == job


@pytest.mark.django_db(transaction=True)
def test_edits_in_another_order_and_claims_stand_in_nobodys_way_k133() -> None:
    """Somebody edits all jobs, the last one first, while beats claim them all."""
    jobs = [_due(number) for number in range(8)]
    for number in range(ROUNDS // 4):
        _make_due(jobs)
        backwards = [job.id for job in reversed(jobs)]
        shuffled = Random(number).sample(backwards, len(backwards))
        outcomes = at_once(
            _claim_all, _claim_all, partial(_edit, backwards, number), partial(_edit, shuffled, -1)
        )
        assert outcomes == [None] * 4
        _claim_all()
        assert Run.objects.count() == len(jobs) * (number + 1)


def _due(number: int) -> Job:
    anchor = canonical_instant(clock.now() - timedelta(days=1))
    return make.job(
        make.team(), name=f"job {number:03}", schedule={"every": 86_400, "anchor": anchor}
    )


def _make_due(jobs: list[Job]) -> None:
    """Each has a moment now that no version of it is younger than."""
    moment = clock.now()
    stored = [{"every": 86_400, "anchor": canonical_instant(moment)}]
    ids = [job.id for job in jobs]
    began = moment - timedelta(days=400)
    Due.objects.filter(job__in=ids).update(at=moment)
    Job.objects.filter(id__in=ids).update(schedule=stored, version_began_at=began)
    for version in JobVersion.objects.filter(job__in=ids):
        version.began_at, version.definition["schedule"] = began, stored
        version.save()


def _claim_all() -> None:
    while claim.due_jobs(clock.now(), shards=ALL, above=EVER).jobs:
        pass


def _edit(job_ids: list[Any], number: int) -> None:
    for job_id in job_ids:
        kept = Job.objects.get(id=job_id)
        definition = make.definition(
            name=kept.name, schedule=kept.schedule[0], description=f"edit {number}"
        )
        editing.edit(job_id, definition, by=None)


@pytest.mark.django_db(transaction=True)
def test_a_beat_that_comes_back_holds_before_it_claims_and_lets_go_at_the_end(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make.job(make.team(), catch_up={"policy": "last", "window": 86_400})
    overdue(job, 2)
    window = make.window(job.team, begins=-30, ends=30)
    monkeypatch.setattr(scheduler, "_enqueue", lambda _: enqueue.Sent())
    assert scheduler.tick() >= 0
    run = Run.objects.get(job=job)
    window.refresh_from_db()
    assert (run.state, run.hold_id) == ("WAITING", window.hold_id)
    past = clock.now() - timedelta(seconds=1)
    Hold.objects.filter(windows=window).update(until=past, began_at=past)
    scheduler._holds = Every(0)
    assert scheduler.tick() >= 0
    run.refresh_from_db()
    assert (run.state, run.hold_id) == ("CLAIMED", None)
