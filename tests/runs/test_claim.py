"""The claim: each due moment becomes one run, and the due row moves on, in one transaction."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog.testing
from django.db import IntegrityError, connection, transaction

from jobs import clock, editing
from jobs.editing import Pause
from jobs.models import Due, Job, JobVersion, Membership
from jobs.roles import Role
from jobs.shards import COUNT
from runs import claim, start
from runs.bounds import EVER
from runs.models import Run
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

ALL = range(COUNT)
MINUTELY = {"cron": "* * * * *"}


def take(now: datetime | None = None, shards: Any = ALL) -> claim.Claimed:
    return claim.due_jobs(now or clock.now(), shards=list(shards), above=EVER)


def overdue(job: Job, seconds: float, **schedule: Any) -> datetime:
    """A moment of the job lies back, and the job is older than it. `schedule`: what it is said
    to have been all the time, a one-off at that moment unless told otherwise."""
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    stored = [schedule or {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}"}]
    long_ago = at - timedelta(days=400)
    Due.objects.filter(job=job).update(at=at)
    Job.objects.filter(id=job.id).update(version_began_at=long_ago, schedule=stored)
    for version in JobVersion.objects.filter(job=job):
        version.began_at, version.definition["schedule"] = long_ago, stored
        version.save()
    return at


def every(seconds: int, job: Job, ago: float) -> datetime:
    """The same with an interval that has a moment then."""
    anchor = (clock.now() - timedelta(seconds=ago)).replace(microsecond=0)
    return overdue(job, ago, every=seconds, anchor=f"{anchor:%Y-%m-%dT%H:%M:%SZ}")


def one_off(seconds_ago: float = 1, **changes: Any) -> tuple[Job, datetime]:
    job = make.job(make.team(), **changes)
    return job, overdue(job, seconds_ago)


def test_a_due_moment_becomes_one_run_with_the_snapshot_of_its_job() -> None:
    job = make.job(make.team(), timeout=7)
    at = every(3600, job, 1)
    assert take() == claim.Claimed(jobs=1, runs=1)
    run = Run.objects.get()
    assert (run.job, run.due_at, run.state, run.job_version) == (job, at, State.CLAIMED, 1)
    assert (run.snapshot, run.timeout, run.attempt) == (job.target, 7, 0)
    assert run.key == f"{job.id}:{at:%Y-%m-%dT%H:%M:%SZ}"
    assert take() == claim.Claimed()


@pytest.mark.parametrize(
    ("policy", "events"),
    [
        ("none", [("run.skipped", 4)]),
        ("last", [("run.skipped", 3)]),
        ("ask", [("run.missed", None)] * 4),
        ("all", []),
    ],
)
def test_each_record_of_what_was_not_fired_is_an_event(
    policy: str, events: list[tuple[str, int | None]]
) -> None:
    job = make.job(make.team(), catch_up={"policy": policy, "window": 86_400})
    every(600, job, 1900)  # so 1300, 700 and 100 seconds ago as well
    with structlog.testing.capture_logs() as told:
        take()
    said = [line for line in told if line["event"] in ("run.skipped", "run.missed")]
    assert [(line["event"], line.get("moments")) for line in said] == events
    for line in said:
        assert (line["log_level"], line["job"]) == ("warning", str(job.id))
        assert line["why"]


def test_the_due_row_moves_to_the_next_moment() -> None:
    job = make.job(make.team())
    at = every(3600, job, 1)
    take()
    assert Due.objects.get(job=job).at == at + timedelta(hours=1)


def test_a_one_off_leaves_no_due_row() -> None:
    job, _ = one_off()
    take()
    assert not Due.objects.filter(job=job).exists()


def test_what_lies_ahead_is_left_alone() -> None:
    make.job(make.team(), schedule=MINUTELY)
    assert take() == claim.Claimed()


def test_rows_of_other_shards_are_left_to_their_beat_for_a_second() -> None:
    job, at = one_off()
    others = [shard for shard in ALL if shard != Due.objects.get(job=job).shard]
    assert take(at + timedelta(seconds=0.5), others).runs == 0
    assert take(at + timedelta(seconds=1), others).runs == 1


def test_a_moment_that_has_a_run_gets_no_second_one_and_the_row_still_moves_on() -> None:
    job, at = one_off()
    make.run(job, State.CANCELLED, origin="schedule", due_at=at)
    assert take() == claim.Claimed(jobs=1, runs=0)
    assert Run.objects.count() == 1
    assert not Due.objects.exists()


def test_the_database_itself_refuses_a_second_run_of_a_moment() -> None:
    job, at = one_off()
    make.run(job, State.SUCCEEDED, origin="schedule", due_at=at)
    with pytest.raises(IntegrityError, match="one_run_per_due_moment"), transaction.atomic():
        make.run(job, origin="schedule", due_at=at)


def test_missed_moments_of_a_job_that_is_not_safe_to_repeat_go_to_a_person() -> None:
    job = make.job(make.team(), idempotent=False)
    at = every(60, job, 140)
    assert take(at + timedelta(seconds=140)).runs == 3
    rows = Run.objects.order_by("due_at").values_list("state", "review_class", "due_at")
    assert list(rows) == [
        ("REVIEW", "missed", at + timedelta(minutes=minutes)) for minutes in range(3)
    ]


def test_moments_that_nobody_makes_up_are_one_row_with_their_number() -> None:
    job = make.job(make.team(), catch_up={"policy": "none"})
    at = every(1, job, 100)
    take(at + timedelta(seconds=100, milliseconds=500))
    row = Run.objects.get(state=State.SKIPPED)
    assert (row.due_at, row.skipped_until) == (at, at + timedelta(seconds=90))
    assert row.skipped_count == 91
    assert "makes up no moments" in row.reason
    assert Run.objects.filter(state=State.CLAIMED).count() == 10


def test_an_overdue_moment_goes_by_the_version_that_was_in_force() -> None:
    job = make.job(make.team(), timeout=7)
    at = every(3600, job, 3)
    editing.edit(job.id, make.definition(schedule=MINUTELY, timeout=99), by=None)
    take()
    run = Run.objects.get()
    assert (run.due_at, run.job_version, run.timeout) == (at, 1, 7)
    assert Due.objects.get(job=job).at.second == 0


def test_a_moment_due_before_a_pause_still_fires() -> None:
    job, at = one_off()
    editing.pause(job.id, Pause("too late for that one"), by=None)
    take()
    assert Run.objects.get().due_at == at
    assert not Due.objects.exists()


def test_moments_under_a_pause_are_not_due_and_its_end_resumes_the_job() -> None:
    job = make.job(make.team(), schedule={"every": 3600})
    end = clock.now() + timedelta(seconds=30)
    editing.pause(job.id, Pause("moving", end), by=None)
    take(end + timedelta(seconds=1))
    job.refresh_from_db()
    assert (job.paused, job.version, job.version_began_at) == (False, 3, end)
    assert not Run.objects.exists()
    assert Due.objects.get(job=job).at > end


def test_a_schedule_that_cannot_be_worked_out_pauses_its_job_and_holds_up_no_other() -> None:
    """K144."""
    broken = make.job(make.team(), name="broken", schedule=MINUTELY)
    overdue(broken, 2)
    Job.objects.filter(id=broken.id).update(schedule=[{"cron": "0 0 31 2 *", "timezone": "Mars"}])
    sound, _ = one_off()
    assert take().runs == 1
    assert Run.objects.get().job == sound
    broken.refresh_from_db()
    assert broken.paused
    assert "could not be worked out" in broken.paused_reason
    assert not Due.objects.filter(job=broken).exists()
    assert JobVersion.objects.filter(job=broken).count() == 2


def test_a_job_goes_on_when_the_person_who_registered_it_is_gone() -> None:
    """K144."""
    editor = make.member(team := make.team(), Role.EDITOR)
    job = make.job(team, by=editor)
    every(3600, job, 2)
    editor.delete()
    assert take().runs == 1


@pytest.mark.parametrize("idle", [False, True])
def test_a_row_that_nobody_can_read_stops_no_other_though_its_team_is_gone_k144(
    idle: bool,
) -> None:
    """Whoever registered it has left, and a hand in the database has spoilt its time zone."""
    team = make.team("gone")
    author = make.editor(team)
    broken = make.job(team, name="broken", by=author, schedule=MINUTELY)
    if idle:
        editing.pause(broken.id, editing.Pause("idle"), by=author)
    else:
        overdue(broken, 2)
    Membership.objects.filter(team=team).delete()
    author.is_active = False
    author.save()
    spoilt = [{"cron": "* * * * *", "timezone": "Mars/Olympus"}]
    Job.objects.filter(id=broken.id).update(schedule=spoilt)
    sound, _ = one_off()
    assert take().runs == 1
    assert Run.objects.get().job == sound
    broken.refresh_from_db()
    assert broken.paused and broken.paused_reason
    assert take() == claim.Claimed()


def test_what_fell_due_before_its_job_was_deleted_is_cancelled_at_its_start() -> None:
    job = make.job(make.team())
    at = every(3600, job, 2)
    editing.delete(job.id, by=None)
    assert take().runs == 1
    run = Run.objects.get()
    assert start.run(run.id, worker="w") is None
    run.refresh_from_db()
    assert (run.due_at, run.state) == (at, "CANCELLED")
    assert not Due.objects.exists()


def test_a_batch_takes_the_oldest_and_says_that_there_is_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claim, "BATCH", 2)
    jobs = [one_off(seconds, name=f"job {seconds}")[0] for seconds in (3, 9, 6)]
    assert take() == claim.Claimed(jobs=2, runs=2, full=True)
    assert set(Run.objects.values_list("job_id", flat=True)) == {jobs[1].id, jobs[2].id}


def test_the_number_of_statements_does_not_grow_with_the_batch(
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(40):
        one_off(name=f"job {number}")
    with django_assert_max_num_queries(7):  # two of them open and close the transaction
        assert take().runs == 40


@pytest.mark.django_db(transaction=True)
def test_two_claims_at_once_share_the_rows_and_double_none() -> None:
    for number in range(60):
        one_off(name=f"job {number}")
    now = clock.now()
    start = threading.Barrier(4)

    def claims() -> None:
        start.wait(timeout=30)
        while take(now).jobs:
            pass
        connection.close()

    threads = [threading.Thread(target=claims) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert Run.objects.count() == 60
    assert not Due.objects.exists()
