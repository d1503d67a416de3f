"""What is the matter with a job: failing, late, at rest, held."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import clock, editing, holds
from jobs.models import Due, Job, Team
from runs.dashboard.stances import conditions, job_standing
from runs.models import Run, Tried
from runs.states import Origin, State
from tests import make

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle")


def names(rows: object) -> set[str]:
    return {job.name for job in rows}  # type: ignore[attr-defined]


def failing() -> set[str]:
    return names(conditions.failing(Job.objects.all()))


def late() -> set[str]:
    return names(conditions.late(Job.objects.all()))


@pytest.mark.parametrize("state", [State.DEAD, State.REVIEW])
def test_a_job_fails_from_its_newest_outcome_on(job: Job, state: State) -> None:
    make.run(job, State.SUCCEEDED)
    assert failing() == set()
    make.run(job, state)
    assert failing() == {"settle"}


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CLOSED])
def test_what_came_after_or_was_closed_tells_otherwise(job: Job, state: State) -> None:
    make.run(job, State.DEAD)
    make.run(job, state)
    assert failing() == set()


@pytest.mark.parametrize(
    "state", [State.SKIPPED, State.CANCELLED, State.WAITING, State.CLAIMED, State.RETRYING]
)
def test_what_has_no_outcome_mends_nothing(job: Job, state: State) -> None:
    make.run(job, State.DEAD)
    make.run(job, state)
    assert failing() == {"settle"}


@pytest.mark.parametrize("state", [State.WAITING, State.CLAIMED, State.ENQUEUED])
def test_a_run_that_has_not_started_in_time_is_late(job: Job, state: State) -> None:
    run = unstarted(job, state, ago=timedelta(seconds=20))
    assert late() == set()
    Run.objects.filter(id=run.id).update(due_at=clock.now() - timedelta(seconds=40))
    assert late() == {"settle"}


def test_late_goes_by_the_job_by_its_spread_and_not_under_a_hold(team: Team, job: Job) -> None:
    patient = make.job(team, name="patient", late_after=600)
    unstarted(patient, State.CLAIMED, ago=MINUTE)
    unstarted(job, State.CLAIMED, ago=MINUTE, not_before=clock.now())
    hold = holds.begin(team, "A move.", by=None)
    unstarted(job, State.WAITING, ago=2 * MINUTE, hold=hold)
    assert late() == set()


def test_a_retry_is_not_late_and_a_deleted_job_is_not(job: Job) -> None:
    unstarted(job, State.CLAIMED, ago=MINUTE, attempt=1)
    assert late() == set()
    unstarted(job, State.CLAIMED, ago=2 * MINUTE)
    editing.delete(job.id, by=None)
    assert late() == set()


def test_a_moment_that_no_beat_claims_is_late(job: Job) -> None:
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=20))
    assert late() == set()
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=40))
    assert late() == {"settle"}


def test_the_end_of_a_pause_is_no_moment(job: Job) -> None:
    editing.pause(job.id, editing.Pause("why", clock.now() + MINUTE), by=None)
    Due.objects.filter(job=job).update(at=clock.now() - MINUTE)
    assert late() == set()


def test_a_run_by_hand_of_now_is_not_late(job: Job) -> None:
    make.run(job, State.CLAIMED, created_at=clock.now() - MINUTE)
    assert late() == set()


@pytest.mark.parametrize(
    ("state", "expected"),
    [(State.REVIEW, True), (State.DEAD, True), (State.RETRYING, True), (State.RUNNING, False)],
)
def test_what_rests_or_goes_on_after_a_failure(job: Job, state: State, expected: bool) -> None:
    make.run(job, state)
    make.run(job, State.SUCCEEDED)
    assert job_standing.of([job.team_id]).places == {"trouble" if expected else "fine": 1}


def test_held_is_by_the_team_or_by_all_and_ends(team: Team, job: Job) -> None:
    other = make.job(make.team("elsewhere"), name="other")
    ours = holds.begin(team, "A move.", by=None)
    assert places(job, other) == {"held": 1, "new": 1}
    holds.begin(None, "All.", by=None)
    assert places(job, other) == {"held": 2}
    holds.end(ours.id, by=None)
    assert places(job, other) == {"held": 2}


def test_what_a_job_got_over_is_not_looked_for_again_but_what_came_since_is(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_standing, "_WORTH_KNOWING", 0)
    dead = make.run(job, State.DEAD)
    assert failing() == {"settle"} and job_standing.of([job.team_id]).failing == 1
    assert Tried.objects.filter(job=job).get().got_over is None
    make.run(job, State.SUCCEEDED)
    assert failing() == set() and job_standing.of([job.team_id]).failing == 0
    assert Tried.objects.get(job=job).got_over == dead.id
    assert failing() == set() and job_standing.of([job.team_id]).failing == 0
    late_death = make.run(job, State.DEAD)
    assert failing() == {"settle"} and job_standing.of([job.team_id]).failing == 1
    assert Tried.objects.get(job=job).got_over == dead.id
    make.run(job, State.CLOSED)
    assert failing() == set() and job_standing.of([job.team_id]).failing == 0
    assert Tried.objects.get(job=job).got_over == late_death.id


def places(*jobs: Job) -> dict[str, int]:
    return job_standing.of([job.team_id for job in jobs]).places


def unstarted(job: Job, state: State, *, ago: timedelta, **columns: object) -> Run:
    return make.run(job, state, origin=Origin.SCHEDULE, due_at=clock.now() - ago, **columns)
