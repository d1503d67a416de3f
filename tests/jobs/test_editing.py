"""Register, edit, pause, resume, delete: the versions and the due moment they leave behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, editing
from jobs.definitions.definitions import DefinitionError
from jobs.editing import Changed, Gone, NameTaken, Pause, ReadOnly
from jobs.models import Due, Job, JobVersion
from jobs.shards import shard_of
from tests import make

pytestmark = pytest.mark.django_db

MINUTELY = {"cron": "* * * * *"}
HOURLY = {"cron": "0 * * * *"}


def due_of(job: Job) -> datetime | None:
    return Due.objects.filter(job=job).values_list("at", flat=True).first()


def overdue(job: Job, seconds: int) -> datetime:
    """The job's moment lies back, as if no beat had been there."""
    at = clock.now() - timedelta(seconds=seconds)
    Due.objects.filter(job=job).update(at=at)
    return at


def test_a_new_job_is_due_at_its_next_moment_and_has_its_first_version() -> None:
    job = make.job(make.team(), schedule=MINUTELY)
    due = Due.objects.get(job=job)
    assert timedelta(0) < due.at - clock.now() <= timedelta(seconds=60)
    assert (due.at.second, due.shard) == (0, shard_of(job.id))
    version = JobVersion.objects.get(job=job)
    assert (version.number, version.began_at) == (1, job.version_began_at)


def test_a_one_off_is_due_to_the_microsecond() -> None:
    at = datetime(2099, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC)
    assert due_of(make.job(make.team(), schedule={"at": at.isoformat()})) == at


def test_a_job_registered_paused_is_not_due() -> None:
    assert due_of(make.job(make.team(), paused=True)) is None


def test_a_second_job_of_one_name_is_refused_and_changes_nothing() -> None:
    team = make.team()
    make.job(team)
    with pytest.raises(NameTaken, match="rotate-certificates"):
        make.job(team)
    assert (Job.objects.count(), JobVersion.objects.count()) == (1, 1)


def test_another_team_and_a_deleted_job_do_not_hold_the_name() -> None:
    job = make.job(make.team())
    make.job(make.team("elsewhere"))
    editing.delete(job.id, by=None)
    make.job(make.team())


def test_an_edit_moves_the_due_moment_and_says_from_and_to() -> None:
    team = make.team()
    editor = make.editor(team)
    job = make.job(team, schedule=MINUTELY)
    editing.edit(job.id, make.definition(schedule=HOURLY, timeout=9), by=editor)
    due = due_of(job)
    assert due is not None
    assert due.minute == 0
    version = JobVersion.objects.get(job=job, number=2)
    assert version.by == editor
    assert set(version.changes) == {"schedule", "timeout"}
    assert version.changes["timeout"] == {"from": 300, "to": 9}


def test_the_same_content_writes_no_version() -> None:
    job = make.job(make.team())
    editing.edit(job.id, make.definition(), by=None)
    assert JobVersion.objects.filter(job=job).count() == 1


def test_an_edit_made_from_an_older_version_is_refused() -> None:
    job = make.job(make.team())
    editing.edit(job.id, make.definition(timeout=9), by=None, seen=1)
    with pytest.raises(Changed, match="version 2"):
        editing.edit(job.id, make.definition(timeout=8), by=None, seen=1)
    job.refresh_from_db()
    assert job.timeout == 9


@pytest.mark.parametrize("change", ["edit", "pause", "resume"])
def test_an_overdue_moment_stays_for_the_claim(change: str) -> None:
    job = make.job(make.team(), schedule=MINUTELY)
    at = overdue(job, 5)
    if change == "edit":
        editing.edit(job.id, make.definition(schedule=HOURLY), by=None)
    else:
        editing.pause(job.id, Pause("stop"), by=None)
    if change == "resume":
        editing.resume(job.id, by=None)
    assert due_of(job) == at


def test_a_pause_takes_the_due_row_away_and_a_resume_starts_from_now() -> None:
    job = make.job(make.team(), schedule=MINUTELY)
    paused = editing.pause(job.id, Pause("the ledger moves"), by=None)
    assert (paused.paused, paused.paused_reason, due_of(job)) == (True, "the ledger moves", None)
    resumed = editing.resume(job.id, by=None)
    due = due_of(job)
    assert due is not None
    assert (resumed.paused, resumed.paused_reason, due > clock.now()) == (False, "", True)
    assert JobVersion.objects.filter(job=job).count() == 3


def test_a_pause_with_an_end_is_due_at_that_end() -> None:
    job = make.job(make.team())
    end = clock.now() + timedelta(hours=2)
    editing.pause(job.id, Pause("until later", end), by=None)
    assert due_of(job) == end


def test_pausing_twice_writes_one_version() -> None:
    job = make.job(make.team())
    for _ in range(2):
        editing.pause(job.id, Pause("once"), by=None)
    assert JobVersion.objects.filter(job=job).count() == 2


def test_a_deleted_job_is_gone_for_every_rule() -> None:
    job = make.job(make.team())
    editing.delete(job.id, by=None)
    assert due_of(job) is None
    for rule in (
        lambda: editing.edit(job.id, make.definition(), by=None),
        lambda: editing.pause(job.id, Pause(), by=None),
        lambda: editing.resume(job.id, by=None),
        lambda: editing.delete(job.id, by=None),
    ):
        with pytest.raises(Gone):
            rule()


def test_an_unknown_job_is_gone() -> None:
    with pytest.raises(Gone):
        editing.pause(uuid4(), Pause(), by=None)


def test_a_mirrored_job_is_read_only() -> None:
    job = editing.register(make.team("platform"), make.definition(), by=None, periodic_task_id=7)
    with pytest.raises(ReadOnly):
        editing.pause(job.id, Pause(), by=None)
    editing.edit(job.id, make.definition(timeout=7), by=None, mirror=True)


def target(**headers: str) -> dict[str, Any]:
    return {**make.shape()["target"], "headers": headers}


def test_a_secret_header_is_sealed_in_the_job_and_in_its_versions() -> None:
    job = make.job(make.team(), target=target(Authorization="Bearer canary"))
    stored = JobVersion.objects.get(job=job).definition
    assert "canary" not in str([job.target, stored, job.signing_secret])
    assert job.target["headers"]["Authorization"].startswith("sealed:")


def test_a_mask_keeps_the_secret_and_writes_no_version() -> None:
    job = make.job(make.team(), target=target(Authorization="Bearer canary"))
    sealed = job.target["headers"]["Authorization"]
    masked = make.definition(target=target(Authorization="********"))
    kept = editing.edit(job.id, masked, by=None)
    assert kept.target["headers"]["Authorization"] == sealed
    assert JobVersion.objects.filter(job=job).count() == 1


def test_a_mask_without_a_secret_behind_it_names_the_header() -> None:
    with pytest.raises(DefinitionError) as refused:
        make.job(make.team(), target=target(Authorization="********"))
    assert refused.value.problems[0].field == "target.headers.Authorization"
    assert not Job.objects.exists()
