"""The claim of a job whose runs take turns: who fires, waits, is skipped or is stopped."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from jobs import clock, editing
from jobs.models import Due, Job, JobVersion
from jobs.shards import COUNT
from runs import claim
from runs.bounds import EVER
from runs.models import Run
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

ALL = list(range(COUNT))
UNSAFE: dict[str, Any] = {"idempotent": False, "catch_up": {"policy": "all"}}


def due(overlap: str, *, seconds: int = 5, every: int = 5, **changes: Any) -> tuple[Job, datetime]:
    """A job whose moment `seconds` ago is not settled; it has one `every` so many seconds."""
    name = f"job {Job.objects.count()}"
    job = make.job(make.team(), name=name, overlap=overlap, schedule={"every": every}, **changes)
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    stored = [{"every": every, "anchor": f"{at:%Y-%m-%dT%H:%M:%SZ}"}]
    began = at - timedelta(days=9)
    Due.objects.filter(job=job).update(at=at)
    Job.objects.filter(id=job.id).update(version_began_at=began, schedule=stored)
    for version in JobVersion.objects.filter(job=job):
        version.began_at, version.definition["schedule"] = began, stored
        version.save()
    job.refresh_from_db()
    return job, at


def take(now: datetime) -> None:
    claim.due_jobs(now, shards=ALL, above=EVER)


def states(job: Job) -> list[str]:
    rows = Run.objects.filter(job=job, due_at__isnull=False).order_by("due_at")
    return list(rows.values_list("state", flat=True))


def born(job: Job, at: datetime) -> Run:
    return Run.objects.get(job=job, due_at=at)


@pytest.mark.parametrize(
    ("overlap", "state"),
    [("skip", "SKIPPED"), ("queue", "WAITING"), ("queue_all", "WAITING"), ("allow", "CLAIMED")],
)
def test_a_moment_that_comes_while_a_run_is_active(overlap: str, state: str) -> None:
    job, at = due(overlap)
    active = make.run(job, State.RUNNING)
    take(at)
    run = born(job, at)
    assert run.state == state
    if overlap != "allow":
        assert run.blocked_by == active.id
        assert str(active.id) in run.reason


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "cancel"])
def test_a_serial_job_that_is_free_fires_and_the_run_is_serial(overlap: str) -> None:
    job, at = due(overlap)
    take(at)
    assert (born(job, at).state, born(job, at).serial) == ("CLAIMED", True)


def test_the_database_itself_refuses_a_second_active_run_of_a_serial_job() -> None:
    job, _ = due("skip")
    make.run(job, State.RETRYING)
    with pytest.raises(IntegrityError, match="one_active_run"), transaction.atomic():
        make.run(job)


def test_of_one_queue_the_first_waits_and_later_ones_are_recorded() -> None:
    job, at = due("queue", seconds=9, every=3)
    make.run(job, State.RUNNING)
    take(at + timedelta(seconds=7))
    assert states(job) == ["WAITING", "SKIPPED", "SKIPPED"]
    skipped = born(job, at + timedelta(seconds=3))
    assert f"{at:%H:%M:%S}" in skipped.reason  # names the one that waits
    assert (skipped.skipped_until, skipped.skipped_count) == (skipped.due_at, 1)


def test_queue_all_lets_all_wait_up_to_the_limit() -> None:
    job, at = due("queue_all", seconds=9, every=3, queue_limit=2)
    make.run(job, State.RUNNING)
    take(at + timedelta(seconds=7))
    assert states(job) == ["WAITING", "WAITING", "SKIPPED"]


def test_moments_of_one_claim_take_turns_among_themselves() -> None:
    for overlap, found in (("skip", "SKIPPED"), ("queue", "WAITING"), ("allow", "CLAIMED")):
        job, at = due(overlap, seconds=5, every=4)
        take(at + timedelta(seconds=5))
        assert states(job) == ["CLAIMED", found]
        if overlap == "skip":
            assert born(job, at + timedelta(seconds=4)).blocked_by == born(job, at).id


def test_what_is_made_up_waits_in_order_whatever_the_overlap() -> None:
    job, at = due("skip", seconds=60, every=20, catch_up={"policy": "all"})
    take(at + timedelta(seconds=59))
    assert states(job) == ["CLAIMED", "WAITING", "WAITING"]


def test_behind_an_earlier_review_a_moment_waits_and_past_a_later_one_it_goes() -> None:
    job, at = due("allow", block_on_review=True, **UNSAFE)
    make.run(job, State.REVIEW, origin="schedule", due_at=at + timedelta(hours=1))
    take(at)
    assert born(job, at).state == "CLAIMED"
    earlier = make.run(job, State.REVIEW, origin="schedule", due_at=at - timedelta(hours=1))
    take(at + timedelta(seconds=5))
    run = born(job, at + timedelta(seconds=5))
    assert (run.state, run.blocked_by) == ("WAITING", earlier.id)
    assert "is decided" in run.reason


def test_moments_that_a_person_is_asked_about_block_those_that_follow() -> None:
    job, at = due("queue", seconds=65, every=30, idempotent=False, block_on_review=True)
    take(at + timedelta(seconds=61))
    assert states(job) == ["REVIEW", "REVIEW", "WAITING"]


@pytest.mark.parametrize("state", [State.CLAIMED, State.ENQUEUED, State.RETRYING])
def test_cancel_takes_back_what_has_not_started_and_starts_at_once(state: State) -> None:
    job, at = due("cancel")
    old = make.run(job, state)
    take(at)
    old.refresh_from_db()
    assert (old.state, born(job, at).state) == ("CANCELLED", "CLAIMED")
    assert "takes its place" in old.reason


def test_cancel_asks_what_runs_and_waits_for_it() -> None:
    job, at = due("cancel")
    old = make.run(job, State.RUNNING)
    take(at)
    old.refresh_from_db()
    run = born(job, at)
    assert (old.state, old.stop_asked_at) == ("RUNNING", at)
    assert (run.state, run.blocked_by) == ("WAITING", old.id)
    assert "asked to stop" in run.reason


def test_cancel_never_asks_a_run_that_is_not_safe_to_repeat() -> None:
    """The job was edited since: what counts is what the run was born with."""
    job, at = due("cancel")
    old = make.run(job, State.RUNNING, idempotent=False)
    take(at)
    old.refresh_from_db()
    assert (old.stop_asked_at, born(job, at).state) == (None, "WAITING")


def test_of_moments_that_come_at_once_cancel_starts_the_last() -> None:
    job, at = due("cancel", seconds=9, every=3)
    old = make.run(job, State.RUNNING)
    take(at + timedelta(seconds=7))
    assert states(job) == ["SKIPPED", "SKIPPED", "WAITING"]
    old.refresh_from_db()
    assert old.stop_asked_at is not None


def test_a_moment_that_has_a_run_is_left_out_and_does_not_stop_itself() -> None:
    for overlap in ("skip", "cancel"):
        job, at = due(overlap)
        own = make.run(job, State.RUNNING, due_at=at)
        take(at)
        own.refresh_from_db()
        assert (states(job), own.stop_asked_at) == (["RUNNING"], None)


def test_a_run_that_was_active_before_an_edit_is_in_the_way_after_it() -> None:
    job, at = due("allow")
    make.run(job, State.RUNNING)
    later = make.definition(name=job.name, overlap="queue", schedule=job.schedule)
    editing.edit(job.id, later, by=None)
    take(at + timedelta(seconds=5))
    assert states(job)[0] == "WAITING"


def test_the_number_of_statements_does_not_grow_with_the_batch(
    django_assert_num_queries: Any,
) -> None:
    for count in (2, 20):
        for _ in range(count):
            job, at = due("queue")
            make.run(job, State.RUNNING)
        with django_assert_num_queries(7):  # two of them open and close the transaction
            take(at)


def test_jobs_whose_runs_go_side_by_side_cost_no_statement_more(
    django_assert_num_queries: Any,
) -> None:
    _, at = due("allow")
    with django_assert_num_queries(6):
        take(at)
