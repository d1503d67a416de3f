"""The platform's own jobs: what is pruned, what never is, and how they are declared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session
from django_celery_beat.models import PeriodicTask

from jobs import clock, task_registry
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import CalendarVersion, Job
from jobs.periodic_tasks import mirror
from jobs.schedules.instants import parse_instant
from runs import ages, housekeeping
from runs.models import (
    Attempt,
    Backfill,
    Beat,
    Decision,
    IdempotencyKey,
    Replay,
    Run,
    Tombstone,
)
from runs.models.replay import Going
from runs.models.run import new_id
from runs.states import FINAL, Origin, State
from tests import make

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(days=400)


@pytest.fixture
def job() -> Job:
    return make.job(make.team())


def old_run(job: Job, state: State = State.SUCCEEDED, *, days: int = 400, **columns: Any) -> Run:
    """A run of the schedule, born and ended so many days ago."""
    then = clock.now() - timedelta(days=days)
    born = UUID(int=ages.first_id(then).int + new_id().int % 2**32)
    row = {"id": born, "origin": Origin.SCHEDULE, "due_at": then, "created_at": then}
    if state in FINAL:
        row["finished_at"] = then
    return make.run(job, state, **{**row, **columns})


def key_of(run: Run | None, *, expired: bool, step: str = "") -> IdempotencyKey:
    now = clock.now()
    return IdempotencyKey.objects.create(
        key=f"{run.key if run else 'gone'}{step}",
        step=step,
        run=run,
        fingerprint="0" * 64,
        holder=1,
        state="done",
        created_at=now,
        expires_at=now + timedelta(days=-1 if expired else 1),
    )


# ── retention ────────────────────────────────────────────────────────────────────────────


def test_old_final_runs_go_with_all_that_hangs_on_them_and_leave_a_tombstone(job: Job) -> None:
    run = old_run(job, State.CLOSED)
    Attempt.objects.create(
        run=run, number=1, lease_id=new_id(), worker="w", started_at=run.created_at
    )
    Decision.objects.create(
        run=run,
        at=run.created_at,
        decision="close",
        note="n",
        from_state=State.REVIEW,
        to_state=State.CLOSED,
        attempt=1,
    )
    key = key_of(run, expired=False)
    assert housekeeping.retention() == {"pruned": 1}
    assert not Run.objects.exists() and not Attempt.objects.exists()
    key.refresh_from_db()
    assert key.run_id is None
    tombstone = Tombstone.objects.get()
    assert (tombstone.job_id, tombstone.due_at, tombstone.ending) == (job.id, run.due_at, "CLOSED")


@pytest.mark.parametrize("state", [state for state in State if state not in FINAL])
def test_what_is_not_final_is_never_pruned_however_old(job: Job, state: State) -> None:
    old_run(job, state)
    assert housekeeping.retention() == {"pruned": 0}


def test_runs_within_the_days_kept_stay(job: Job, settings: Any) -> None:
    settings.KEEP_RUNS_DAYS = 90
    kept, _ = old_run(job, days=89), old_run(job, days=91)
    just_ended = old_run(job, days=400, finished_at=clock.now())
    assert housekeeping.retention() == {"pruned": 1}
    assert set(Run.objects.all()) == {kept, just_ended}


def test_skipped_moments_and_runs_by_hand_leave_no_tombstone(job: Job) -> None:
    old_run(job, State.SKIPPED)
    old_run(job, origin=Origin.HAND, due_at=None)
    assert housekeeping.retention() == {"pruned": 2}
    assert not Tombstone.objects.exists()


def test_retention_works_through_many_batches_past_what_stays(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 3)
    for number in range(10):
        old_run(job, State.SUCCEEDED if number % 3 else State.DEAD, days=400 + number)
    assert housekeeping.retention() == {"pruned": 6}
    assert set(Run.objects.values_list("state", flat=True)) == {State.DEAD}


def test_retention_stops_within_its_time(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "WITHIN", -1.0)
    old_run(job)
    assert housekeeping.retention() == {"pruned": 0}


def test_a_backfill_and_a_replay_that_are_over_go_with_the_last_of_their_runs(job: Job) -> None:
    then = clock.now() - LONG_AGO
    dead = Run.objects.filter(id=old_run(job, State.DEAD).id)
    make.replay(job)
    make.replay(make.job(job.team, name="young"))
    over = {"state": Going.DONE, "created_at": then, "finished_at": then}
    Replay.objects.filter(job=job).update(**over)
    backfill = make.backfill(job, **over)
    dead.update(origin=Origin.BACKFILL, backfill=backfill)
    housekeeping.retention()
    assert (Backfill.objects.count(), Replay.objects.count()) == (1, 2)
    dead.update(state=State.CLOSED, finished_at=then)
    housekeeping.retention()
    assert (Backfill.objects.count(), Replay.objects.count()) == (0, 1)


def test_what_is_not_over_stays_however_old(job: Job) -> None:
    then = clock.now() - LONG_AGO
    make.backfill(job, created_at=then)
    make.replay(job)
    Run.objects.all().delete()
    Replay.objects.update(created_at=then)
    housekeeping.retention()
    assert (Backfill.objects.count(), Replay.objects.count()) == (1, 1)


def test_the_first_id_of_an_instant_parts_the_ids_born_before_and_after() -> None:
    before = new_id()
    now = datetime.now(UTC)
    assert (
        ages.first_id(now - timedelta(seconds=2))
        < before
        < ages.first_id(now + timedelta(seconds=2))
    )
    assert ages.first_id(now).version == 7


# ── keys ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("state", list(State))
def test_a_key_expires_only_when_its_run_is_final(job: Job, state: State) -> None:
    key_of(make.run(job, state), expired=True)
    assert housekeeping.key_expiry() == {"deleted": int(state in FINAL)}


def test_keys_of_pruned_runs_expire_and_none_before_its_time(job: Job) -> None:
    key_of(None, expired=True)
    key_of(None, expired=False, step="later")
    key_of(make.run(job, State.SUCCEEDED), expired=False)
    assert housekeeping.key_expiry() == {"deleted": 1}
    assert IdempotencyKey.objects.count() == 2


def test_keys_expire_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    for number in range(5):
        key_of(None, expired=True, step=str(number))
    assert housekeeping.key_expiry() == {"deleted": 5}


# ── the rest ─────────────────────────────────────────────────────────────────────────────


def test_sessions_that_ran_out_and_beats_that_are_gone_are_forgotten() -> None:
    now = clock.now()
    Session.objects.create(session_key="old", session_data="", expire_date=now - LONG_AGO)
    Session.objects.create(session_key="new", session_data="", expire_date=now + LONG_AGO)
    for name, seen in (("gone", now - timedelta(days=2)), ("live", now)):
        Beat.objects.create(
            name=name, host="h", pid=1, tzdata="2026.1", started_at=now, seen_at=seen
        )
    assert housekeeping.sessions() == {"beats": 1}
    assert [session.session_key for session in Session.objects.all()] == ["new"]
    assert [beat.name for beat in Beat.objects.all()] == ["live"]


def test_the_audit_looks_back_over_a_day_and_more() -> None:
    answer = housekeeping.daily_audit()
    assert answer["gaps"] == []
    window = [parse_instant(answer[end], end) for end in ("since", "until")]
    assert window[1] - window[0] > timedelta(days=1)


def test_each_is_declared_as_a_row_and_mirrored_as_an_active_idempotent_job() -> None:
    PeriodicTask.objects.all().delete()
    housekeeping.declare()
    mirror.Mirror().look()
    jobs = Job.objects.filter(team__slug="platform")
    assert {job.target["name"] for job in jobs} == {
        "onebeat.retention",
        "onebeat.key_expiry",
        "onebeat.messages",
        "onebeat.sessions",
        "onebeat.calendars",
        "onebeat.audit",
    }
    assert all(job.idempotent and not job.paused for job in jobs)
    assert all(task_registry.registered(job.target["name"]) for job in jobs)


def test_what_staff_have_changed_stays_and_nothing_is_declared_twice() -> None:
    PeriodicTask.objects.all().delete()
    housekeeping.declare()
    PeriodicTask.objects.filter(name="Audit").update(enabled=False)
    housekeeping.declare()
    assert PeriodicTask.objects.count() == len(housekeeping.DECLARED)
    assert not PeriodicTask.objects.get(name="Audit").enabled


# ── calendars ────────────────────────────────────────────────────────────────────────────


def test_a_calendar_whose_days_end_soon_is_extended_with_its_jobs() -> None:
    staff = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    given = {"holidays": {"country": "US"}, "weekdays": ["mon", "tue", "wed", "thu", "fri"]}
    for name, said in (("us", given), ("typed", {"days_off": [{"date": "2026-01-01"}]})):
        calendar_editing.create(name, calendar_content.read(said), by=staff)
    daily = {"cron": "0 9 * * *", "timezone": "UTC"}
    job = make.job(make.team(), schedule=daily, calendar={"name": "us"})
    assert housekeeping.calendars() == {"extended": 0}
    soon = clock.now().date() + timedelta(days=8 * 365)
    version = CalendarVersion.objects.get(calendar="us")
    version.known_until = soon
    version.days = {day: label for day, label in version.days.items() if day <= str(soon)}
    version.save()
    assert housekeeping.calendars() == {"extended": 1}
    newest = CalendarVersion.objects.get(calendar="us", number=2)
    assert newest.known_until is not None and newest.known_until > soon
    assert (newest.by, newest.content) == (None, version.content)
    job.refresh_from_db()
    assert (job.version, job.calendar_version) == (2, 2)
    assert housekeeping.calendars() == {"extended": 0}
    assert CalendarVersion.objects.filter(calendar="typed").count() == 1
