"""A backfill by real beats and workers, and a worker that comes back after hours. An hour takes a
second here."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jobs import clock
from jobs.models import Due, Job, JobVersion, Team
from jobs.schedules.instants import canonical_instant
from runs.backfills import backfill
from runs.backfills.span import Range
from runs.models import Backfill, Run
from tests.servers import wait_until
from tests.story.conftest import FULL, register
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

MINUTE = timedelta(minutes=1)
MOMENTS = 300 if FULL else 60
NOTE = {"type": "task", "name": "story.note"}


def with_a_past(team: Team, overlap: str) -> tuple[Job, datetime]:
    """A job of every minute since ten hours ago, none of whose moments is due just now, and the
    first moment of that past."""
    first = clock.now().replace(second=0, microsecond=0) - timedelta(hours=10)
    schedule = {"every": 60, "anchor": canonical_instant(first)}
    job = register(team, f"of the past, {overlap}", schedule, NOTE, overlap=overlap)
    Job.objects.filter(id=job.id).update(version_began_at=first - MINUTE)
    JobVersion.objects.filter(job=job).update(began_at=first - MINUTE)
    Due.objects.filter(job=job).update(at=clock.now() + timedelta(hours=1))
    return job, first


def ended(found: Backfill) -> bool:
    found.refresh_from_db()
    return not found.is_open


@pytest.mark.parametrize("overlap", ["allow", "queue"])
def test_beats_carry_a_backfill_on_though_one_of_them_dies(
    product: Product, team: Team, tmp_path: Path, overlap: str
) -> None:
    one = product.beat()
    product.beat()
    product.worker()
    product.up()
    job, first = with_a_past(team, overlap)
    until = first + (MOMENTS - 1) * MINUTE
    of = backfill.begin(job.id, Range(first, until), by=None, max_active=8)
    half = Run.objects.filter(backfill=of, state="SUCCEEDED")
    wait_until(lambda: half.count() >= MOMENTS / 2, seconds=90, what="half of it is done")
    one.kill()
    wait_until(lambda: ended(of), seconds=90, what="the backfill has ended")
    assert (of.state, of.made, of.passed) == ("done", MOMENTS, 0)
    assert backfill.counts(of) == {"SUCCEEDED": MOMENTS}
    runs = Run.objects.filter(job=job).order_by("due_at")
    assert [run.due_at for run in runs] == [first + n * MINUTE for n in range(MOMENTS)]
    notes = (tmp_path / "notes").read_text().split()
    assert sorted(notes) == sorted(run.key for run in runs), "each effect once, with its key"


def test_a_worker_that_comes_back_after_hours_starts_what_is_young_enough(
    product: Product, team: Team
) -> None:
    product.beat()
    product.up()
    window = timedelta(seconds=10)  # ten hours; a job of every hour
    first = clock.now().replace(microsecond=0) + timedelta(seconds=2)
    schedule = {"every": 1, "anchor": canonical_instant(first)}
    catch_up = {"policy": "last", "window": int(window.total_seconds())}
    job = register(team, "hourly", schedule, NOTE, overlap="allow", catch_up=catch_up)
    old = [first + timedelta(seconds=n) for n in range(3)]
    wait_until(
        lambda: clock.now() > old[-1] + window + timedelta(seconds=1),
        seconds=30,
        what="three moments are older than the window",
    )
    product.worker()
    product.up()
    runs = Run.objects.filter(job=job)
    wait_until(
        lambda: (
            runs.filter(state="SUCCEEDED").exists()
            and not runs.filter(due_at__in=old, state__in=["CLAIMED", "ENQUEUED"]).exists()
        ),
        seconds=60,
        what="the worker has been through the queue",
    )
    for run in runs.filter(due_at__in=old):
        assert (run.state, run.attempt) == ("SKIPPED", 0)
        assert "within its catch-up window" in run.reason
    for run in runs.filter(state="SUCCEEDED"):
        assert run.started_at is not None and run.due_at is not None
        assert run.started_at - run.due_at <= window
