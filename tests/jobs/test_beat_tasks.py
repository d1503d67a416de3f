"""PeriodicTask rows become jobs of the platform, and stay in step with them."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from jobs import clock, editing
from jobs.models import Due, Job, JobVersion, Team
from jobs.periodic_tasks import mirror as beat_tasks
from jobs.periodic_tasks.mirror import Mirror, may_run
from jobs.schedules.schedules import canonical_instant
from jobs.task_registry import job_task

pytestmark = pytest.mark.django_db


@job_task("tests.registered")
def _registered() -> None:
    """What the rows of these tests call."""


@pytest.fixture(autouse=True)
def _no_rows_but_the_tests_own(db: None) -> None:
    PeriodicTask.objects.all().delete()


@pytest.fixture
def mirror() -> Mirror:
    return Mirror()


def row(name: str = "report", **given: Any) -> PeriodicTask:
    """A row due at half past nine in Berlin, unless the test says otherwise."""
    if not {"interval", "clocked", "solar", "crontab"} & given.keys():
        given["crontab"] = CrontabSchedule.objects.create(
            minute="30", hour="9", timezone="Europe/Berlin"
        )
    return PeriodicTask.objects.create(name=name, **{"task": "tests.registered", **given})


def clocked(moment: datetime) -> dict[str, Any]:
    return {"clocked": ClockedSchedule.objects.create(clocked_time=moment), "one_off": True}


def job_of(row: PeriodicTask) -> Job:
    return Job.objects.get(periodic_task_id=row.pk)


def test_a_row_becomes_a_job_of_the_platform_with_its_first_moment(mirror: Mirror) -> None:
    created = row(args='["a"]', kwargs='{"b": 1}', description="Nightly")
    assert mirror.look() == 1
    job = job_of(created)
    assert (job.team.slug, job.name, job.description) == ("platform", "report", "Nightly")
    assert job.schedule == [{"cron": "30 9 * * *", "timezone": "Europe/Berlin", "dst": "once"}]
    task = {"type": "task", "name": "tests.registered", "args": ["a"], "kwargs": {"b": 1}}
    assert job.target == task
    assert (job.idempotent, job.paused, job.version) == (False, False, 1)
    assert Due.objects.get(job=job).at > clock.now()


def test_a_look_at_unchanged_rows_is_one_statement(mirror: Mirror) -> None:
    row()
    mirror.look()
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert mirror.look() == 0
    assert len(seen) == 1


def test_an_edit_in_the_admin_is_a_new_version_and_the_same_content_none(mirror: Mirror) -> None:
    created = row()
    mirror.look()
    created.description = "new"
    created.save()
    assert mirror.look() == 1
    created.save()
    assert mirror.look() == 0
    assert list(JobVersion.objects.values_list("changes", flat=True))[-1] == {
        "description": {"from": "", "to": "new"}
    }


def test_a_changed_crontab_reaches_every_row_that_has_it(mirror: Mirror) -> None:
    created = row()
    mirror.look()
    created.crontab.hour = "10"
    created.crontab.save()
    assert mirror.look() == 1
    assert job_of(created).schedule[0]["cron"] == "30 10 * * *"


def test_a_bulk_update_is_seen_by_the_next_full_look(mirror: Mirror) -> None:
    created = row()
    mirror.look()
    PeriodicTask.objects.filter(pk=created.pk).update(enabled=False)
    assert mirror.look() == 0
    mirror.full_look_at = 0.0
    assert mirror.look() == 1
    assert job_of(created).paused_reason == "The row is disabled."
    assert not Due.objects.exists()


def test_a_row_that_is_enabled_again_fires_from_now_on(mirror: Mirror) -> None:
    created = row(enabled=False)
    mirror.look()
    created.enabled = True
    created.save()
    mirror.look()
    job = job_of(created)
    assert not job.paused and job.paused_reason == "" and Due.objects.filter(job=job).exists()


def test_a_deleted_row_takes_its_job_from_every_list(mirror: Mirror) -> None:
    created = row()
    mirror.look()
    job = job_of(created)
    created.delete()
    assert mirror.look() == 1
    job.refresh_from_db()
    assert job.deleted_at is not None and not Due.objects.exists()
    again = row()
    mirror.look()
    assert job_of(again).id != job.id


def test_an_interval_keeps_its_anchor_through_edits(mirror: Mirror) -> None:
    created = row(interval=IntervalSchedule.objects.create(every=90, period="minutes"))
    mirror.look()
    before = job_of(created).schedule
    created.description = "new"
    created.save()
    mirror.look()
    assert job_of(created).schedule == before == [{"every": 5400, "anchor": before[0]["anchor"]}]


def test_a_clocked_moment_that_came_before_its_mirror_is_overdue_not_lost(mirror: Mirror) -> None:
    moment = clock.now() - timedelta(seconds=3)
    created = row(**clocked(moment))
    mirror.look()
    assert Due.objects.get(job=job_of(created)).at == moment
    assert mirror.look() == 0


def test_a_clocked_row_that_is_moved_into_the_recent_past_fires_at_the_new_moment(
    mirror: Mirror,
) -> None:
    created = row(**clocked(clock.now() + timedelta(hours=1)))
    mirror.look()
    moment = clock.now()
    created.clocked.clocked_time = moment
    created.clocked.save()
    assert mirror.look() == 1
    job = job_of(created)
    assert Due.objects.get(job=job).at == moment
    assert job.version_began_at < moment


def test_a_one_off_that_has_fired_is_disabled_as_django_celery_beat_does(mirror: Mirror) -> None:
    created = row(**clocked(clock.now()))
    mirror.look()
    created.refresh_from_db()
    assert created.enabled
    Due.objects.all().delete()  # the claim has fired it
    mirror.full_look_at = 0.0
    mirror.look()
    created.refresh_from_db()
    assert not created.enabled and job_of(created).paused


def test_a_one_off_that_the_old_scheduler_has_run_does_not_run_again(mirror: Mirror) -> None:
    created = row(one_off=True, total_run_count=1)
    mirror.look()
    created.refresh_from_db()
    assert not created.enabled and not Due.objects.exists()


def test_a_crontab_row_with_a_start_waits_in_a_pause_that_ends(mirror: Mirror) -> None:
    start = clock.now() + timedelta(days=3)
    created = row(start_time=start)
    mirror.look()
    job = job_of(created)
    assert job.paused_until == start - timedelta.resolution
    assert Due.objects.get(job=job).at == job.paused_until
    assert canonical_instant(start) in job.paused_reason


@pytest.mark.parametrize("task", ["not.registered", "celery.backend_cleanup", "onebeat.run"])
def test_a_task_that_is_not_allowed_is_there_paused_with_the_reason(
    mirror: Mirror, task: str
) -> None:
    created = row(task=task)
    mirror.look()
    assert f"{task} is not allowed" in job_of(created).paused_reason


def test_the_installation_allows_tasks_by_pattern(settings: Any) -> None:
    settings.BEAT_TASKS = ["proj.reports.*", "*"]
    assert may_run("proj.reports.send") and may_run("anything")
    assert not may_run("celery.chord") and not may_run("onebeat.run")


def test_one_row_that_cannot_be_mirrored_holds_up_no_other(mirror: Mirror) -> None:
    solar = SolarSchedule.objects.create(event="sunrise", latitude=1, longitude=1)
    bad = row("bad zone")
    CrontabSchedule.objects.filter(pk=bad.crontab_id).update(timezone="UTC")
    with connection.cursor() as cursor:
        cursor.execute("update django_celery_beat_crontabschedule set timezone = 'Mars/One'")
    sunrise, good = row("sunrise", solar=solar), row("good")
    assert mirror.look() == 3
    assert "Mars/One" in job_of(bad).paused_reason
    assert "solar" in job_of(sunrise).paused_reason
    assert not job_of(good).paused


def test_a_row_that_breaks_the_mirror_itself_is_logged_and_passed(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    row("one")
    good = row("two")
    register = editing.register

    def failing(team: Team, definition: Any, **more: Any) -> Job:
        if definition.name == "one":
            raise RuntimeError("a fault of ours")
        return register(team, definition, **more)

    monkeypatch.setattr(editing, "register", failing)
    mirror.look()
    assert [job.name for job in Job.objects.all()] == [good.name]


def test_rows_that_swap_their_names_and_jobs_that_have_one_already(mirror: Mirror) -> None:
    one, two = row("one"), row("two")
    mirror.look()
    PeriodicTask.objects.filter(pk=one.pk).update(name="was one")
    PeriodicTask.objects.filter(pk=two.pk).update(name="one")
    PeriodicTask.objects.filter(pk=one.pk).update(name="two")
    for _ in range(2):
        mirror.full_look_at = 0.0
        mirror.look()
    assert (job_of(one).name, job_of(two).name) == ("two", "one")


def test_a_mirror_is_read_only_for_everybody_else(mirror: Mirror) -> None:
    created = row()
    mirror.look()
    with pytest.raises(editing.ReadOnly):
        editing.resume(job_of(created).id, by=None)
    with pytest.raises(editing.ReadOnly):
        editing.delete(job_of(created).id, by=None)


def test_a_look_whose_time_is_over_still_gets_one_row_further(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where reading the rows alone takes longer than a look may."""
    monkeypatch.setattr(beat_tasks, "_BUDGET", -1.0)
    created = [row(f"row {number}") for number in range(3)]
    assert [mirror.look() for _ in created] == [1, 1, 1]
    assert Job.objects.count() == len(created)
    assert mirror.look() == 0


@pytest.mark.django_db(transaction=True)
def test_several_beats_at_once_mirror_each_row_once() -> None:
    created = [row(f"row {number}") for number in range(12)]
    barrier = threading.Barrier(4)
    errors: list[BaseException] = []

    def beat() -> None:
        mirror = Mirror()
        try:
            barrier.wait(timeout=30)
            for _ in range(50):
                mirror.look()
                if mirror.seen is not None:
                    break
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    beats = [threading.Thread(target=beat) for _ in range(4)]
    for thread in beats:
        thread.start()
    for thread in beats:
        thread.join(timeout=30)
    assert not errors
    Mirror().look()
    assert Job.objects.count() == len(created)
    assert set(Job.objects.values_list("version", flat=True)) == {1}
    assert Due.objects.count() == len(created)


def test_mirror_is_what_a_beat_calls() -> None:
    row()
    assert beat_tasks.mirror() == 1
