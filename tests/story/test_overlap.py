"""An every-minute job whose runs take two and a half minutes, under each overlap, by the product's
real processes. A minute takes four seconds here."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs import by_hand
from runs.models import Attempt, Run
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product, wait_for

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

MINUTE = timedelta(seconds=4)
LONG = 2.5 * MINUTE.total_seconds()
AT_ONCE = timedelta(seconds=2)  # what a beat and a worker may take


class Story:
    """A job of the product, and its moments from the first on."""

    def __init__(self, team: Team, overlap: str, seconds: float, **more: Any) -> None:
        self.first = clock.now().replace(microsecond=0) + timedelta(seconds=3)
        schedule = {
            "every": int(MINUTE.total_seconds()),
            "anchor": canonical_instant(self.first),
        }
        work = {"type": "task", "name": "story.work", "kwargs": {"seconds": seconds}}
        self.job: Job = register(team, overlap, schedule, work, overlap=overlap, **more)

    def moment(self, minute: int) -> datetime:
        return self.first + minute * MINUTE

    def run(self, minute: int) -> Run | None:
        return Run.objects.filter(job=self.job, due_at=self.moment(minute)).first()

    def until(self, minute: int, *states: str) -> Run:
        seconds = (self.moment(minute) - clock.now()).total_seconds() + 30
        return wait_for(lambda: self.run(minute), *states, seconds=max(seconds, 30))


def up(product: Product, concurrency: int = 2) -> None:
    product.beat()
    product.beat()
    product.worker(concurrency=concurrency)
    product.up()


def never_two_at_a_time(job: Job) -> None:
    attempts = Attempt.objects.filter(run__job=job).order_by("started_at")
    for one, next_one in pairwise(attempts):
        assert one.ended_at is not None
        assert one.ended_at <= next_one.started_at


def test_under_skip_each_moment_that_comes_too_soon_is_recorded_with_the_run_in_its_way(
    product: Product, team: Team
) -> None:  # K114
    up(product)
    story = Story(team, "skip", LONG)
    story.until(9, "RUNNING")
    for minute in range(9):
        run = story.run(minute)
        assert run is not None
        if minute % 3 == 0:
            assert run.state == "SUCCEEDED"
            assert run.started_at is not None
            assert run.started_at - story.moment(minute) < AT_ONCE
        else:
            before = story.run(minute - minute % 3)
            assert (run.state, run.blocked_by) == ("SKIPPED", before and before.id)
            assert str(run.blocked_by) in run.reason
    assert product.errors() == []


def test_under_queue_the_first_waits_and_starts_as_soon_as_the_one_before_has_ended(
    product: Product, team: Team
) -> None:  # K115
    up(product)
    story = Story(team, "queue", LONG)
    waiting = story.until(1, "WAITING")
    skipped = story.until(2, "SKIPPED")
    assert str(waiting.id) in skipped.reason
    started = story.until(1, "RUNNING")
    before = story.run(0)
    assert before is not None
    assert before.finished_at is not None
    assert started.started_at is not None
    assert timedelta(0) <= started.started_at - before.finished_at < AT_ONCE
    story.until(4, "SKIPPED")
    never_two_at_a_time(story.job)
    assert product.errors() == []


def test_under_queue_all_every_moment_runs_one_after_the_other(
    product: Product, team: Team
) -> None:
    up(product)
    story = Story(team, "queue_all", 1.5 * MINUTE.total_seconds())
    for minute in range(4):
        story.until(minute, "SUCCEEDED")
    never_two_at_a_time(story.job)


def test_under_allow_they_run_side_by_side(product: Product, team: Team) -> None:
    up(product)
    story = Story(team, "allow", LONG)
    second = story.until(1, "RUNNING")
    first = story.run(0)
    assert first is not None
    assert (first.state, second.blocked_by) == ("RUNNING", None)


def test_a_run_whose_worker_and_beat_were_killed_is_in_nobodys_way_for_long(
    product: Product, team: Team
) -> None:  # K116
    beat, worker = product.beat(), product.worker(concurrency=1)
    product.up()
    story = Story(team, "skip", 60, retries={"max_attempts": 1})
    story.until(0, "RUNNING")
    for child in (worker, beat):
        child.kill()
        product.children.remove(child)
    up(product)
    lost = story.until(0, "DEAD")
    assert lost.attempts.get().outcome == "lost"
    later = Run.objects.filter(job=story.job, due_at__gt=story.moment(0))
    soon = wait_for(lambda: later.filter(state="RUNNING").first(), "RUNNING", seconds=20)
    assert lost.attempts.get().ended_at is not None
    assert soon.due_at is not None


def test_starts_by_hand_and_by_schedule_are_never_two_at_a_time(
    product: Product, team: Team
) -> None:  # K117
    up(product)
    story = Story(team, "skip", 0.2)
    pressed: list[bool] = []

    def press() -> bool:
        try:
            by_hand.run_now(story.job.id, by=None)
        except by_hand.Busy:
            pressed.append(False)
        else:
            pressed.append(True)
        return clock.now() > story.moment(6)

    wait_until(press, seconds=60, what="six minutes are over")
    wait_until(
        lambda: not Run.objects.filter(state__in=("CLAIMED", "ENQUEUED", "RUNNING")).exists(),
        seconds=30,
        what="all have ended",
    )
    assert set(pressed) == {True, False}
    assert Run.objects.filter(due_at__isnull=False).count() >= 6
    never_two_at_a_time(story.job)
    assert product.errors() == []


def test_under_cancel_a_run_that_pays_no_heed_is_ended_by_force_before_the_next_starts(
    product: Product, team: Team
) -> None:  # K118
    # Celery gives a process that was killed ten seconds before it takes a message in its place.
    up(product, concurrency=6)
    story = Story(team, "cancel", LONG)
    story.until(0, "RUNNING")
    second = story.until(1, "RUNNING")
    first = story.run(0)
    assert first is not None
    assert first.state == "CANCELLED"
    assert first.reason.startswith("Stopped as asked.")
    assert first.stop_asked_at is not None
    assert first.finished_at is not None
    assert first.finished_at - first.stop_asked_at < timedelta(seconds=10)  # L/3, and the grace
    assert second.started_at is not None
    third = story.until(2, "RUNNING")
    assert third.attempt == 1
    written = product.folder / "work"
    wait_until(lambda: written.read_text().count("\n") >= 3, seconds=30, what="the third begins")
    lines = written.read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["begins"] * 3  # none came to its end
    done = Attempt.objects.filter(run__job=story.job, ended_at__isnull=False)
    assert set(done.values_list("outcome", flat=True)) == {"stopped"}
    begun = [float(line.split()[2]) for line in lines]
    assert first.finished_at.timestamp() < begun[1]
