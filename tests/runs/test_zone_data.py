"""An upgrade of the zone data goes through the beats: nothing fires twice, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection, transaction
from structlog.testing import capture_logs

from jobs import clock, editing
from jobs.editing import Pause
from jobs.models import Due, Job, JobVersion
from jobs.shards import COUNT
from runs import claim, members, zone_data
from runs.audits import audit
from runs.bounds import EVER
from runs.members import Member
from runs.models import Run, ZoneData
from tests import make
from tests.pages import Browser
from tests.zone_rules import PLACE, in_use

pytestmark = pytest.mark.django_db

ALL = list(range(COUNT))
OLD, NEW = "2030a", "2030b"
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def noon() -> datetime:
    """12:00 UTC two days ago; the rules of PLACE change at the midnight before, in some tests."""
    return clock.now().replace(hour=12, minute=0, second=0, microsecond=0) - 2 * DAY


def old(before: int = 120) -> Any:
    return in_use(OLD, before)


def new(noon: datetime, before: int = 120, after: int = 180) -> Any:
    return in_use(NEW, before, [(noon - 12 * HOUR, after)])


def daily(name: str = "close", *, due: datetime, hour: int = 14, **changes: Any) -> Job:
    """A job at a fixed hour of PLACE (12:00 UTC as long as it is two hours ahead), due then; it
    takes every moment that it missed."""
    cron = changes.pop("cron", f"0 {hour} * * *")
    zone = changes.pop("timezone", PLACE)
    job = make.job(make.team(), name=name, **{
        "schedule": {"cron": cron, "timezone": zone},
        "catch_up": {"policy": "all", "window": 30 * 86_400}, **changes,
    })  # fmt: skip
    began = due - 10 * HOUR
    Due.objects.filter(job=job).update(at=due)
    Job.objects.filter(id=job.id).update(version_began_at=began, created_at=began)
    JobVersion.objects.filter(job=job).update(began_at=began)
    job.refresh_from_db()
    return job


def take(now: datetime, only: list[str] | None = None) -> claim.Claimed:
    return claim.due_jobs(now, shards=ALL, above=EVER, zone_data=only)


def publish() -> str:
    with connection.cursor() as cursor:
        return zone_data.publish(cursor)


def fired(job: Job) -> list[datetime]:
    rows = Run.objects.filter(job=job, due_at__isnull=False).order_by("due_at")
    return [run.due_at for run in rows if run.due_at]


def next_due(job: Job) -> datetime:
    return Due.objects.get(job=job).at


# ── claim ────────────────────────────────────────────────────────────────────────────────


def test_a_run_keeps_the_offset_of_its_zone(noon: datetime) -> None:
    with old():
        local, utc = daily(due=noon), daily("utc", due=noon, timezone="UTC", hour=12)
        take(noon + timedelta(seconds=1))
    assert Run.objects.get(job=local).utc_offset == 120
    assert Run.objects.get(job=utc).utc_offset is None
    assert (local.zone_data, utc.zone_data) == (OLD, "")


def test_a_record_of_skipped_moments_keeps_that_of_the_last_one(noon: datetime) -> None:
    change = [(noon - 12 * HOUR, 180)]
    with in_use(OLD, 120, change):
        job = daily(due=noon - DAY, catch_up={"policy": "none"})
        take(noon + 20 * HOUR)
    run = Run.objects.get(job=job)
    assert (run.skipped_count, run.utc_offset) == (2, 180)


@pytest.mark.parametrize("told", [True, False])
def test_a_beat_with_older_data_claims_no_local_time(noon: datetime, told: bool) -> None:
    """Also in the second in which it does not know yet that newer data were seen."""
    with old():
        local, utc = daily(due=noon), daily("utc", due=noon, timezone="UTC", hour=12)
    with new(noon):
        publish()
    with old():
        newest = publish()
        assert zone_data.is_older(newest)
        only = zone_data.claimable(newest, settled=True) if told else None
        assert take(noon + timedelta(seconds=1), only).jobs == 1
    assert (fired(local), fired(utc)) == ([], [noon])
    assert next_due(local) == noon


def test_a_beat_with_newer_data_leaves_what_older_data_worked_out(noon: datetime) -> None:
    with old():
        job = daily(due=noon)
    with new(noon):
        newest = publish()
        for only in (None, zone_data.claimable(newest, settled=False)):
            assert take(noon + timedelta(seconds=1), only) == claim.Claimed()
        assert zone_data.work_out_anew()
        take(noon + timedelta(seconds=1))
    assert fired(job) == [noon - HOUR]


def test_rows_that_may_not_be_claimed_keep_no_others_waiting(
    noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "BATCH", 2)
    with old():
        for number in range(3):
            daily(f"local {number}", due=noon)
        utc = daily("utc", due=noon + timedelta(seconds=1), timezone="UTC", hour=12)
    with new(noon):
        newest = publish()
        claimed = take(noon + timedelta(seconds=2), zone_data.claimable(newest, settled=False))
        assert (claimed.jobs, claimed.full) == (1, False)
        assert fired(utc)
        assert not take(noon + timedelta(seconds=2)).full, "a batch of such rows: no second look"


def test_a_deleted_job_is_claimed_whatever_its_data(noon: datetime) -> None:
    with old():
        job = daily(due=noon)
        editing.delete(job.id, by=None)  # overdue: its row stays for the claim
    with new(noon):
        newest = publish()
        only = zone_data.claimable(newest, settled=False)
        assert take(noon + timedelta(seconds=1), only).jobs == 1


# ── worked out anew ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "after", "moments"),
    [
        (120, 180, [0, 24, 47]),  # hours after the first one: earlier from the upgrade on
        (180, 120, [0, 24, 49]),
    ],
)
def test_after_the_upgrade_each_day_fires_once(
    noon: datetime, before: int, after: int, moments: list[int]
) -> None:
    """The change came at the midnight before `noon`; the upgrade a day and a half later."""
    first = noon - DAY
    with old(before):
        job = daily(due=first, hour=12 + before // 60)
        for hours in (0, 24):
            take(first + hours * HOUR + timedelta(seconds=1))
    with new(noon, before, after):
        publish()
        with capture_logs() as logs:
            assert zone_data.work_out_anew()
            assert zone_data.work_out_anew(), "once more does nothing"
        take(first + timedelta(hours=moments[-1], seconds=1))
        wanted = [first + hours * HOUR for hours in moments]
        assert fired(job) == wanted
        (line,) = [line for line in logs if line["event"] == "zone_data.worked_out_anew"]
        assert (line["jobs"], line["moved"]) == (1, 1)
        assert str(job.id) in line["examples"][0]
        job.refresh_from_db()
        assert job.zone_data == NEW
        assert ZoneData.objects.get(version=NEW).recomputed_at is not None
        assert not audit.report(since=noon - 3 * DAY, until=wanted[-1] + HOUR).gaps


def test_a_moment_that_came_nearer_is_caught_up(noon: datetime) -> None:
    """The upgrade came when the moment was over by the new rules, and ahead by the old ones."""
    with old():
        job = daily(due=noon)
    with new(noon):
        publish()
        zone_data.work_out_anew()
        assert next_due(job) == noon - HOUR
        take(noon - timedelta(minutes=30))
        assert fired(job) == [noon - HOUR]
        assert next_due(job) == noon - HOUR + DAY


def test_an_overdue_moment_that_lies_ahead_by_the_new_rules_waits_for_its_time(
    noon: datetime,
) -> None:
    with old(180):
        job = daily(due=noon, hour=15)
    with new(noon, 180, 120):
        publish()
        zone_data.work_out_anew()
        take(noon + timedelta(minutes=5))
        assert fired(job) == []
        take(noon + timedelta(minutes=60, seconds=1))
        assert fired(job) == [noon + HOUR]


def test_an_hourly_job_goes_on_hour_by_hour(noon: datetime) -> None:
    with old(180):
        job = daily(due=noon, cron="0 * * * *")
        take(noon + timedelta(seconds=1))
    with new(noon, 180, 120):
        publish()
        zone_data.work_out_anew()
        take(noon + timedelta(minutes=60, seconds=1))
    assert fired(job) == [noon, noon + HOUR]


def test_only_local_time_is_looked_at(noon: datetime) -> None:
    with old():
        make.job(make.team(), name="every", schedule={"every": 60})
        daily("utc", due=noon, timezone="UTC", hour=12)
    with new(noon), capture_logs() as logs:
        publish()
        assert zone_data.work_out_anew()
    assert [line["event"] for line in logs] == ["zone_data.settled"]


def test_a_paused_job_keeps_the_end_of_its_pause(noon: datetime) -> None:
    with old():
        job = daily(due=clock.now() + HOUR)
        until = clock.now() + 5 * HOUR
        editing.pause(job.id, Pause("moving", until), by=None)
        parked = daily("parked", due=clock.now() + HOUR)
        editing.pause(parked.id, Pause("for good"), by=None)
    with new(noon):
        publish()
        assert zone_data.work_out_anew()
        assert next_due(job) == until
        assert not Due.objects.filter(job=parked).exists()
        editing.resume(job.id, by=None)
    assert set(Job.objects.values_list("zone_data", flat=True)) == {NEW}


def test_an_edit_by_a_process_with_older_data_is_worked_out_anew(noon: datetime) -> None:
    with new(noon):
        publish()
        job = daily(due=noon)
        assert zone_data.work_out_anew()
    hour = (clock.now() + 7 * HOUR).hour  # of PLACE, five hours ahead by the old rules
    with old():
        cron = f"0 {hour} * * *"
        fields = {"name": job.name, "schedule": {"cron": cron, "timezone": PLACE}}
        editing.edit(job.id, make.definition(**fields), by=None)
        # The row was overdue and stays, as does whose it is; the next edit moves it.
        Due.objects.filter(job=job).update(at=clock.now() + HOUR)
        editing.edit(job.id, make.definition(**fields, timeout=7), by=None)
        job.refresh_from_db()
        assert job.zone_data == OLD
        by_old_rules = next_due(job)
    with new(noon):
        assert take(by_old_rules + HOUR).jobs == 0
        assert zone_data.work_out_anew()
        assert next_due(job) == by_old_rules - HOUR


def test_a_crash_in_the_middle_is_made_good_by_the_next_look(
    noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zone_data, "BATCH", 2)
    with old():
        jobs = [daily(f"job {number}", due=noon) for number in range(5)]
    with new(noon):
        publish()
        with monkeypatch.context() as patch:
            stored = zone_data._store
            calls: list[int] = []

            def breaks(*args: Any) -> None:
                calls.append(1)
                stored(*args)
                if len(calls) == 2:
                    raise ConnectionError("gone")

            patch.setattr(zone_data, "_store", breaks)
            with pytest.raises(ConnectionError):
                zone_data.work_out_anew()
        assert sorted(next_due(job) for job in jobs) == [noon - HOUR] * 2 + [noon] * 3
        assert zone_data.work_out_anew()
        assert {next_due(job) for job in jobs} == {noon - HOUR}


def test_a_zone_that_is_gone_holds_up_nobody(noon: datetime) -> None:
    with old():
        gone, job = daily("gone", due=noon), daily(due=noon)
        Job.objects.filter(id=gone.id).update(
            schedule=[{"cron": "0 9 * * *", "timezone": "Nowhere/Gone", "dst": "once"}]
        )
    with new(noon):
        publish()
        assert zone_data.work_out_anew()
        take(noon + timedelta(seconds=1))
        gone.refresh_from_db()
        assert gone.paused and "Nowhere/Gone" in gone.paused_reason
        assert fired(job) == [noon - HOUR]


def test_what_was_there_before_the_column_counts_as_worked_out_by_nobody(noon: datetime) -> None:
    daily(due=noon), daily("utc", due=noon, timezone="UTC"), make.job(make.team())
    Job.objects.update(zone_data="")
    Job.objects.filter(name="rotate-certificates").update(schedule=[{"every": 60}])
    migration = import_module("jobs.migrations.0006_zone_data")
    with connection.cursor() as cursor:
        cursor.execute(migration._NOBODY_KNOWS)
    assert list(Job.objects.exclude(zone_data="").values_list("name", flat=True)) == ["close"]


# ── side by side ─────────────────────────────────────────────────────────────────────────


@contextmanager
def held(statement: str, *values: Any) -> Iterator[None]:
    """Another connection holds the rows of this statement, for the block."""
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, values)
            locked.set()
            done.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert locked.wait(30)
    try:
        yield
    finally:
        done.set()
        thread.join(30)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement",
    [
        "select 1 from jobs_due where job_id = %s for update",
        "select 1 from jobs_job where id = %s for no key update",
    ],
)
def test_what_somebody_else_holds_is_passed_over_and_done_later(
    noon: datetime, statement: str
) -> None:
    with old():
        mine, theirs = daily("mine", due=noon), daily("theirs", due=noon)
    with new(noon):
        publish()
        with held(statement, theirs.id):
            assert not zone_data.work_out_anew()
            assert (next_due(mine), next_due(theirs)) == (noon - HOUR, noon)
        assert zone_data.work_out_anew()
        assert next_due(theirs) == noon - HOUR


@pytest.mark.django_db(transaction=True)
def test_several_beats_work_out_anew_at_once(
    noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zone_data, "BATCH", 3)
    with old():
        jobs = [daily(f"job {number}", due=noon) for number in range(20)]
    errors: list[BaseException] = []

    def beat() -> None:
        try:
            zone_data.work_out_anew()
            take(noon + timedelta(seconds=1))
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    with new(noon):
        publish()
        threads = [threading.Thread(target=beat) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert zone_data.work_out_anew()
        take(noon + timedelta(seconds=1))
    assert errors == []
    assert [fired(job) for job in jobs] == [[noon - HOUR]] * 20


# ── the beats tell ───────────────────────────────────────────────────────────────────────


def test_who_is_behind_is_told(noon: datetime, settings: Any) -> None:
    settings.METRICS_OPEN = True
    staff = Browser(make.person("staff", is_staff=True))
    with old():
        Member("first").seen()
        assert members.behind() == []
    with new(noon):
        ahead = Member("second")
        ahead.seen()
        assert not zone_data.is_older(ahead.newest_zone_data)
    with old():
        first = Member("first")
        first.seen()
        assert zone_data.is_older(first.newest_zone_data)
        first.leave()
        assert members.behind() == []
        Member("first").seen()
    assert [(beat.name, beat.zone_data) for beat in members.behind()] == [("first", OLD)]
    assert "onebeat_beats_behind 1.0" in staff.client.get("/metrics").content.decode()
    assert f"works with zone data {OLD}, older than {NEW}" in staff.get("/jobs/").words
    assert "zone data" not in Browser(make.viewer(make.team())).get("/jobs/").words


def test_data_that_were_taken_back_are_forgotten_by_hand(noon: datetime) -> None:
    with new(noon):
        publish()
        job = daily(due=noon - HOUR)
    root = Browser(make.person("root", is_staff=True, is_superuser=True))
    page = root.send(f"/admin/runs/zonedata/{NEW}/delete/", {"post": "yes"})
    assert page.status == 200 and not ZoneData.objects.exists()
    with old():
        assert not zone_data.is_older(publish())
        assert zone_data.work_out_anew()
        assert next_due(job) == noon


# ── the audit ────────────────────────────────────────────────────────────────────────────


def test_the_audit_still_sees_what_is_missing_and_what_nobody_asked_for(noon: datetime) -> None:
    first = noon - DAY
    with old():
        job = daily(due=first, cron="0,30 14 * * *")
        for minutes in (0, 30, 24 * 60, 24 * 60 + 30):
            take(first + timedelta(minutes=minutes, seconds=1))
    with new(noon):
        publish()
        zone_data.work_out_anew()
        take(clock.now())
        assert not audit.report(since=noon - 3 * DAY).gaps
        Run.objects.filter(job=job, due_at=noon).delete()
        Run.objects.filter(job=job, due_at=noon + HOUR / 2).update(utc_offset=180)
        gaps = {gap.kind: gap.moments for gap in audit.report(since=noon - 3 * DAY).gaps}
    assert gaps == {
        audit.Kind.MISSING: [noon - HOUR, noon - HOUR / 2],
        audit.Kind.UNEXPLAINED: [noon + HOUR / 2],
    }


def test_a_moment_that_was_skipped_by_older_data_is_accounted_for(noon: datetime) -> None:
    first = noon - DAY
    with old():
        job = daily(due=first, catch_up={"policy": "none"})
        take(first + 30 * HOUR)
    assert Run.objects.get(job=job).skipped_count == 2
    with new(noon):
        publish()
        zone_data.work_out_anew()
        take(clock.now())
        assert not audit.report(since=noon - 3 * DAY).gaps
