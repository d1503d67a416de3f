"""The window of catch-up holds at the start too: what nobody started in time is not started."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock
from jobs.models import Job
from runs import start
from runs.models import Run
from runs.review import deciding
from runs.states import Origin, State
from tests import make
from tests.runs.histories import MINUTE, fired, minutely

pytestmark = pytest.mark.django_db

WINDOW = 3600
LATE, YOUNG = 61 * MINUTE, 59 * MINUTE


def waited(job: Job, how_long: timedelta, state: State = State.ENQUEUED, **columns: Any) -> Run:
    """A run of the job whose moment lies so long back."""
    return fired(job, clock.now() - how_long, state, **columns)


def started(run: Run) -> str:
    """The state of the run after a worker has tried to start it."""
    grant = start.run(run.id, worker="w")
    run.refresh_from_db()
    assert (grant is not None) == (run.state == "RUNNING")
    return run.state


def job(policy: str = "last", **changes: Any) -> Job:
    return minutely(catch_up={"policy": policy, "window": WINDOW}, **changes)


@pytest.mark.parametrize("policy", ["last", "all", "none"])
@pytest.mark.parametrize("state", [State.CLAIMED, State.ENQUEUED])
def test_what_was_not_started_within_the_window_is_skipped(policy: str, state: State) -> None:
    run = waited(job(policy), LATE, state)
    assert started(run) == "SKIPPED"
    assert run.skipped_count == 1 and "within its catch-up window" in run.reason
    assert run.finished_at is not None
    assert started(run) == "SKIPPED"


def test_a_person_is_asked_where_the_job_says_so() -> None:
    run = waited(job("ask", idempotent=False), LATE)
    assert started(run) == "REVIEW"
    assert run.review_class == "missed"
    by = make.operator(make.team())
    deciding.decide(run.id, "run_again", token=0, note="Still wanted.", by=by)
    assert started(run) == "RUNNING", "whoever asks for it has no window"


def test_what_lies_within_the_window_starts() -> None:
    assert started(waited(job(), YOUNG)) == "RUNNING"


def test_the_window_is_the_one_that_the_job_has_now() -> None:
    of = job()
    run = waited(of, LATE)
    Job.objects.filter(id=of.id).update(catch_up_window=2 * WINDOW)
    assert started(run) == "RUNNING"


def test_after_a_first_attempt_there_is_no_window() -> None:
    """Retries, replays, and what a silent worker had begun."""
    assert started(waited(job(), LATE, State.RETRYING, attempt=1)) == "RUNNING"
    assert started(waited(job(), LATE, State.CLAIMED, attempt=1)) == "RUNNING"


def test_what_a_person_asked_for_has_no_window() -> None:
    assert started(waited(job(), LATE, origin=Origin.HAND)) == "RUNNING"
    assert started(make.run(job(), State.ENQUEUED)) == "RUNNING"


def test_a_one_off_has_no_window() -> None:
    soon = f"{clock.now() + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    of = make.job(make.team(), schedule={"at": soon}, catch_up={"window": WINDOW})
    assert started(waited(of, LATE)) == "RUNNING"


def test_who_waits_behind_it_has_its_turn() -> None:
    of = job(overlap="queue_all")
    late = waited(of, LATE)
    behind = waited(of, YOUNG, State.WAITING, reason="Waits.", blocked_by=late.id)
    assert started(late) == "SKIPPED"
    behind.refresh_from_db()
    assert behind.state == "CLAIMED"


def test_a_stop_and_a_deletion_are_still_told_as_such() -> None:
    run = waited(job(), LATE, stop_asked_at=clock.now())
    assert started(run) == "CANCELLED" and "asked to stop" in run.reason
    run = waited(job(), LATE)
    Job.objects.filter(id=run.job_id).update(deleted_at=clock.now())
    assert started(run) == "CANCELLED" and "deleted" in run.reason
