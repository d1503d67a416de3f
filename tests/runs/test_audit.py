"""The audit: every kind of gap is found, and a sound history has none."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs import clock, editing
from jobs.editing import Pause
from jobs.models import Job, JobVersion
from jobs.schedules import schedules
from jobs.schedules.schedules import canonical_instant
from runs.audits import audit
from runs.audits.audit import Kind
from runs.models import Run, Tombstone
from runs.states import Origin, State
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It stays so: else a minute that begins meanwhile would be a moment without a run."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    return now


def job_since(now: datetime, *, hours: float = 1, **changes: Any) -> Job:
    """A job of every minute, registered so long ago."""
    job = make.job(make.team(), **{"schedule": {"cron": "* * * * *", "timezone": "UTC"}, **changes})
    began = now - timedelta(hours=hours)
    Job.objects.filter(id=job.id).update(created_at=began, version_began_at=began)
    JobVersion.objects.filter(job=job).update(began_at=began)
    return job


def due(job: Job, now: datetime, *, hours: float = 1) -> list[datetime]:
    """What the audit expects of such a job."""
    schedule = schedules.load(job.schedule)
    since, until = now - timedelta(hours=hours), now - audit.SETTLED
    return schedules.moments_between(schedule, since, until, 100_000)


def fire(job: Job, moments: list[datetime], **columns: Any) -> None:
    for moment in moments:
        later = moment + timedelta(seconds=1)
        row = {"origin": Origin.SCHEDULE, "due_at": moment, "created_at": later, **columns}
        make.run(job, State.SUCCEEDED, **row)


def kinds(report: audit.Report) -> dict[Kind, list[datetime]]:
    return {gap.kind: gap.moments for gap in report.gaps}


def test_a_sound_history_has_no_gap(now: datetime) -> None:
    job = job_since(now)
    fire(job, due(job, now))
    report = audit.report()
    assert report.gaps == []
    assert report.jobs == 1 and report.due == report.runs >= 58


def test_a_moment_without_a_run_is_missing(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    fire(job, moments[:7] + moments[8:])
    assert kinds(audit.report()) == {Kind.MISSING: [moments[7]]}


def test_a_run_of_a_moment_that_was_never_due_is_unexplained(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    wrong = moments[7] + timedelta(seconds=1)
    fire(job, [*moments[:7], wrong, *moments[8:]])
    assert kinds(audit.report()) == {Kind.MISSING: [moments[7]], Kind.UNEXPLAINED: [wrong]}


def test_a_run_that_began_before_its_moment_is_early(now: datetime) -> None:
    job = job_since(now)
    first, *others = due(job, now)
    fire(job, others)
    fire(job, [first], created_at=first - timedelta(seconds=1))
    assert kinds(audit.report()) == {Kind.EARLY: [first]}


def test_skipped_moments_and_tombstones_account_for_theirs(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    skip = {"origin": Origin.SCHEDULE, "due_at": moments[0], "skipped_until": moments[9]}
    make.run(job, State.SKIPPED, skipped_count=10, **skip)
    make.run(job, State.SKIPPED, origin=Origin.SCHEDULE, due_at=moments[10])
    Tombstone.objects.create(job=job, due_at=moments[11], ending="SUCCEEDED")
    fire(job, moments[12:])
    fire(job, [moments[3]], origin=Origin.HAND)  # a skipped moment that was run all the same
    report = audit.report()
    assert report.gaps == []
    assert (report.skipped, report.pruned) == (11, 1)
    assert report.due == report.runs - 1 + report.skipped + report.pruned
    text, code = run_command()
    assert code == 0
    assert f"{report.due} moments due: {report.runs} runs, 11 skipped, 1 runs no longer" in text


def test_a_moment_that_was_skipped_and_is_backfilled_is_no_gap(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    skip = {"origin": Origin.SCHEDULE, "due_at": moments[0], "skipped_until": moments[9]}
    make.run(job, State.SKIPPED, skipped_count=10, **skip)
    fire(job, moments[10:])
    of = make.backfill(job)
    fire(job, moments[2:5], origin=Origin.BACKFILL, backfill=of)
    report = audit.report()
    assert report.gaps == []
    assert report.runs == report.due - 10 + 3 and report.skipped == 10


def test_what_is_backfilled_hides_no_moment_that_is_missing(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By numbers alone the run of a moment on record would stand for the one that was lost."""
    monkeypatch.setattr(audit, "FEW", 10)
    job = job_since(now)
    moments = due(job, now)
    make.run(job, State.SKIPPED, origin=Origin.SCHEDULE, due_at=moments[0])
    fire(job, moments[1:7] + moments[8:])
    fire(job, moments[:1], origin=Origin.BACKFILL, backfill=make.backfill(job))
    assert kinds(audit.report()) == {Kind.MISSING: [moments[7]]}


def test_a_moment_that_was_missing_and_is_backfilled_is_none_any_more(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    fire(job, moments[1:])
    assert kinds(audit.report()) == {Kind.MISSING: moments[:1]}
    fire(job, moments[:1], origin=Origin.BACKFILL, backfill=make.backfill(job))
    assert audit.report().gaps == []


def test_a_job_of_the_last_minute_is_not_looked_at_yet() -> None:
    make.job(make.team())
    report = audit.report()
    assert report.jobs == 0 and report.gaps == []


def test_moments_before_the_job_and_under_a_pause_were_not_due(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    editing.pause(job.id, Pause("moving"), by=None)
    paused_at = moments[10] + timedelta(seconds=1)
    JobVersion.objects.filter(job=job, number=2).update(began_at=paused_at)
    fire(job, moments[:11])
    assert audit.report(now - timedelta(days=2)).gaps == []
    fire(job, [moments[11]])
    assert kinds(audit.report()) == {Kind.UNEXPLAINED: [moments[11]]}


def test_a_deleted_job_is_audited_up_to_its_end(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    editing.delete(job.id, by=None)
    fire(job, moments[1:])
    assert kinds(audit.report()) == {Kind.MISSING: [moments[0]]}


def test_the_last_minute_is_left_out_and_so_is_what_lies_before_since(now: datetime) -> None:
    job = job_since(now)
    fire(job, [moment for moment in due(job, now) if moment > now - timedelta(minutes=30)])
    assert audit.report(now - timedelta(minutes=30)).gaps == []


def test_no_more_is_asked_than_retention_keeps(now: datetime, settings: Any) -> None:
    settings.KEEP_RUNS_DAYS = 1
    report = audit.report(now - timedelta(days=30))
    assert report.since > now - timedelta(days=1, seconds=1)


def test_a_job_with_many_moments_is_counted_and_listed_only_where_it_differs(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "FEW", 10)
    monkeypatch.setattr(audit, "_MOMENTS", 7)  # in several pieces
    sound, broken = job_since(now, name="sound"), job_since(now, name="broken")
    moments = due(sound, now)
    fire(sound, moments)
    wrong = [moments[place] + timedelta(seconds=5) for place in (40, 50)]
    fire(broken, [*moments[:20], *wrong, *moments[22:]])
    make.run(broken, State.SKIPPED, origin=Origin.SCHEDULE, due_at=moments[20])
    report = audit.report()
    assert {gap.name for gap in report.gaps} == {"broken"}
    assert kinds(report) == {Kind.MISSING: [moments[21]], Kind.UNEXPLAINED: wrong}


def test_a_record_of_skipped_moments_that_reaches_out_of_the_window_counts_in_part(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "FEW", 0)
    job = job_since(now, hours=2)
    moments = due(job, now, hours=2)
    skip = {"origin": Origin.SCHEDULE, "due_at": moments[0], "skipped_until": moments[89]}
    make.run(job, State.SKIPPED, skipped_count=90, **skip)
    fire(job, moments[90:])
    assert audit.report(now - timedelta(hours=1)).gaps == []
    assert audit.report(now - timedelta(hours=3)).gaps == []


def test_a_job_of_every_second_over_a_day_is_audited_by_counting(now: datetime) -> None:
    anchor = canonical_instant(now.replace(microsecond=0) - timedelta(days=2))
    job = job_since(now, hours=30, schedule={"every": 1, "anchor": anchor})
    report = audit.report()
    (gap,) = report.gaps
    assert report.due == gap.count >= 86_300 and len(gap.moments) == audit.LISTED
    assert gap.job_id == job.id


def test_a_schedule_that_cannot_be_read_is_said_and_stops_no_other(now: datetime) -> None:
    job, broken = job_since(now), job_since(now, name="broken")
    JobVersion.objects.filter(job=broken).update(definition={"schedule": [{"cron": "?"}]})
    fire(job, due(job, now))
    (gap,) = audit.report().gaps
    assert (gap.name, gap.kind) == ("broken", Kind.UNREADABLE)


# ── the command ──────────────────────────────────────────────────────────────────────────


def run_command(*words: str) -> tuple[str, object]:
    out = io.StringIO()
    try:
        call_command("audit", *words, stdout=out)
    except SystemExit as exit:
        return out.getvalue(), exit.code
    return out.getvalue(), 0


def test_the_command_exits_with_1_on_a_gap_and_names_it(now: datetime) -> None:
    job = job_since(now)
    moments = due(job, now)
    fire(job, moments[1:])
    text, code = run_command()
    assert code == 1 and "missing" in text and canonical_instant(moments[0]) in text
    text, code = run_command("--json")
    (gap,) = json.loads(text)["gaps"]
    assert code == 1
    assert gap["moments"] == [canonical_instant(moments[0])] and gap["job"] == str(job.id)
    fire(job, moments[:1])
    assert Run.objects.count() == len(moments)
    text, code = run_command("--since", canonical_instant(now - timedelta(minutes=20)))
    assert code == 0 and "no gap" in text


@pytest.mark.parametrize("since", ["yesterday", "2026-01-01T00:00:00", "9999-01-01T00:00:00Z"])
def test_the_command_refuses_a_since_that_names_no_past_instant(since: str) -> None:
    with pytest.raises(CommandError, match="since"):
        call_command("audit", "--since", since)
