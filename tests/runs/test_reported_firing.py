"""What other schedulers were reported to get wrong about firing, by a clock that the test sets.
Each name ends with the number of its report."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from jobs import editing
from jobs.editing import Pause
from jobs.models import Due, Job, JobVersion
from jobs.shards import shard_of
from runs import claim, set_back, settle, start
from runs.audits import audit
from runs.bounds import EVER
from runs.models import Run
from runs.outcomes import Effect, Kind, Outcome
from tests import make
from tests.jobs.moments import at
from tests.races import at_once
from tests.runs.playing import ALL, MINUTE, Beat
from tests.virtual_clock import VirtualClock

HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)
MONDAY = at("2026-03-02T00:00:00Z")


def a_job(cron: str, zone: str = "UTC", **changes: Any) -> Job:
    return make.job(make.team(), schedule={"cron": cron, "timezone": zone}, **changes)


def fired(job: Job) -> list[datetime]:
    rows = Run.objects.filter(job=job).exclude(state="SKIPPED").order_by("due_at")
    return [due for due in rows.values_list("due_at", flat=True) if due is not None]


def recorded(job: Job) -> int:
    """How many moments stand on record as not carried out."""
    rows = Run.objects.filter(job=job, state="SKIPPED")
    return sum(count for count in rows.values_list("skipped_count", flat=True) if count)


def next_due(job: Job) -> datetime:
    return Due.objects.get(job=job).at


# ── one beat goes, the next one comes ────────────────────────────────────────────────────


def test_a_beat_that_comes_just_after_the_moment_fires_it_k084(virtual_clock: VirtualClock) -> None:
    virtual_clock.stand_at(MONDAY)
    job, ten = a_job("0 10 * * *"), MONDAY + 10 * HOUR
    Beat(virtual_clock).play(ten - 10 * SECOND, ten - 3 * SECOND, step=SECOND)
    late = timedelta(milliseconds=735)
    assert Beat(virtual_clock).tick(ten + late) == 1
    run = Run.objects.get(job=job)
    assert (run.due_at, run.state, run.created_at) == (ten, "CLAIMED", ten + late)


def test_a_period_longer_than_any_beat_lives_k085(virtual_clock: VirtualClock) -> None:
    virtual_clock.stand_at(MONDAY)
    job = make.job(make.team(), schedule={"every": 7 * 86_400})
    for day in range(15):
        begin = MONDAY + day * DAY
        Beat(virtual_clock).play(begin + 11 * HOUR, begin + 34 * HOUR, step=HOUR)
    assert fired(job) == [MONDAY + 7 * DAY, MONDAY + 14 * DAY]


def test_ownership_is_advice_whoever_is_late_takes_the_row_k098(
    virtual_clock: VirtualClock,
) -> None:
    """Two beats that both own every shard, tick for tick: nothing is doubled. (With processes
    that are killed: tests/story/test_two_beats.py.)"""
    virtual_clock.stand_at(MONDAY)
    job, two = a_job("* * * * *"), [Beat(virtual_clock), Beat(virtual_clock)]
    for minute in range(1, 11):
        assert [beat.tick(MONDAY + minute * MINUTE) for beat in two] == [1, 0]
    assert len(fired(job)) == 10


# ── nobody was there ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("policy", "fires", "asks", "records"),
    [("last", 1, 0, 479), ("none", 0, 0, 480), ("all", 100, 0, 380), ("ask", 0, 100, 380)],
)
def test_hundreds_of_missed_moments_stop_no_job_k086(
    policy: str, fires: int, asks: int, records: int, virtual_clock: VirtualClock
) -> None:
    virtual_clock.stand_at(MONDAY)
    job = a_job("* * * * *", catch_up={"policy": policy, "window": 86_400, "limit": 100})
    back = MONDAY + 480 * MINUTE + timedelta(seconds=30)
    began = time.process_time()
    Beat(virtual_clock).tick(back)
    assert time.process_time() - began < 5
    states = list(Run.objects.values_list("state", flat=True))
    assert (states.count("CLAIMED"), states.count("REVIEW")) == (fires, asks)
    assert recorded(job) == records
    if policy == "last":
        assert fired(job) == [MONDAY + 480 * MINUTE]
        assert Run.objects.filter(state="SKIPPED").count() == 1
    assert next_due(job) == MONDAY + 481 * MINUTE
    assert Beat(virtual_clock).tick(MONDAY + 481 * MINUTE) == 1
    job.refresh_from_db()
    assert not job.paused


@pytest.mark.parametrize(
    ("late", "window", "runs"),
    [
        (timedelta(seconds=1.8), 3600, True),
        (2 * HOUR, 3600, False),
        (2 * HOUR, 86_400, True),
        (timedelta(seconds=9.9), 10, True),
    ],
)
def test_lateness_is_never_a_silent_drop_k087(
    late: timedelta, window: int, runs: bool, virtual_clock: VirtualClock
) -> None:
    virtual_clock.stand_at(MONDAY)
    job = a_job("0 10 * * 1", catch_up={"policy": "last", "window": window})
    Beat(virtual_clock).tick(MONDAY + 10 * HOUR + late)
    run = Run.objects.get(job=job)
    assert run.due_at == MONDAY + 10 * HOUR
    assert (run.state == "CLAIMED") is runs
    if not runs:
        assert (run.state, run.skipped_count) == ("SKIPPED", 1)
        assert run.reason.startswith("missed")
    assert next_due(job) == MONDAY + 7 * DAY + 10 * HOUR


def test_a_tick_of_130_seconds_loses_no_moment_in_between_k099(
    virtual_clock: VirtualClock,
) -> None:
    """What follows is worked out from the moment that was claimed, never from now."""
    virtual_clock.stand_at(MONDAY)
    all_of_them = {"policy": "all", "window": 3600}
    each = {
        policy: a_job("* * * * *", name=policy, catch_up={**all_of_them, "policy": policy})
        for policy in ("all", "last", "none")
    }
    beat = Beat(virtual_clock)
    beat.tick(MONDAY + MINUTE)
    beat.tick(MONDAY + MINUTE + timedelta(seconds=130))
    assert fired(each["all"]) == [MONDAY + minute * MINUTE for minute in (1, 2, 3)]
    assert fired(each["last"]) == [MONDAY + minute * MINUTE for minute in (1, 3)]
    assert fired(each["none"]) == [MONDAY + MINUTE]
    assert [recorded(job) for job in each.values()] == [0, 1, 2]
    assert {next_due(job) for job in each.values()} == {MONDAY + 4 * MINUTE}


# ── people ───────────────────────────────────────────────────────────────────────────────


def test_a_resume_fires_nothing_that_lay_under_the_pause_k088(virtual_clock: VirtualClock) -> None:
    virtual_clock.stand_at(MONDAY - DAY)
    job, five = a_job("0 17 * * *"), MONDAY + 17 * HOUR
    beat = Beat(virtual_clock)
    beat.play(MONDAY - DAY, MONDAY + 12 * HOUR, step=HOUR)
    editing.pause(job.id, Pause("moving"), by=None)
    beat.play(MONDAY + 12 * HOUR, MONDAY + 66 * HOUR, step=HOUR)
    before = fired(job)
    editing.resume(job.id, by=None)  # Wednesday at 18:00
    assert beat.tick(MONDAY + 66 * HOUR + SECOND) == 0
    assert (fired(job), recorded(job)) == (before, 0) == ([five - DAY], 0)
    assert next_due(job) == five + 3 * DAY


def test_many_at_once_are_each_as_one_k090(virtual_clock: VirtualClock) -> None:
    """Each job of a bulk has its own version, so that the audit knows what was due."""
    virtual_clock.stand_at(MONDAY)
    jobs = [a_job("*/5 * * * *", name=f"job {number}") for number in range(3)]
    beat = Beat(virtual_clock)
    beat.play(MONDAY, MONDAY + 7 * MINUTE)
    for job in jobs:
        editing.pause(job.id, Pause("release"), by=None)
    beat.play(MONDAY + 7 * MINUTE, MONDAY + 12 * MINUTE)
    for job in reversed(jobs):
        editing.resume(job.id, by=None)
    beat.play(MONDAY + 12 * MINUTE, MONDAY + 20 * MINUTE)
    for job in jobs:
        assert fired(job) == [MONDAY + minute * MINUTE for minute in (5, 15, 20)]
        assert JobVersion.objects.filter(job=job).count() == 3
    virtual_clock.stand_at(MONDAY + 30 * MINUTE)
    assert {gap.kind for gap in audit.report(MONDAY).gaps} == {audit.Kind.MISSING}
    beat.tick(MONDAY + 30 * MINUTE)
    assert audit.report(MONDAY).gaps == []


def test_a_pause_by_sql_alone_is_found_by_the_audit_k090(virtual_clock: VirtualClock) -> None:
    """A column written past the rules makes no version: what was due stays due, fires once more,
    and what then does not fire is told."""
    virtual_clock.stand_at(MONDAY)
    job, beat = a_job("*/5 * * * *"), Beat(virtual_clock)
    Job.objects.filter(id=job.id).update(paused=True)
    beat.play(MONDAY, MONDAY + 15 * MINUTE)
    assert fired(job) == [MONDAY + 5 * MINUTE]
    (gap,) = audit.report(MONDAY).gaps
    assert gap.moments[0] == MONDAY + 10 * MINUTE


# ── clocks ───────────────────────────────────────────────────────────────────────────────


def test_zones_on_either_side_of_the_applications_own_k097(
    virtual_clock: VirtualClock, settings: Any
) -> None:
    settings.TIME_ZONE = "Europe/Vilnius"
    virtual_clock.stand_at(MONDAY)
    one = "0 1 * * *"
    west = a_job(one, "America/Los_Angeles", name="west")
    east = a_job(one, "Pacific/Kiritimati", name="east")
    Beat(virtual_clock).play(MONDAY, MONDAY + 3 * DAY, step=15 * MINUTE)
    assert fired(west) == [MONDAY + 9 * HOUR + day * DAY for day in range(3)]
    assert fired(east) == [MONDAY + 11 * HOUR + day * DAY for day in range(3)]


# ── rows that no rule wrote ──────────────────────────────────────────────────────────────


ZERO_TIME = datetime.min.replace(tzinfo=UTC)
YEARS_AGO = [ZERO_TIME, ZERO_TIME + DAY, at("1970-01-01T00:00:00Z"), at("2026-03-01T00:00:00Z")]


@pytest.mark.parametrize("due", YEARS_AGO, ids=str)
def test_a_schedule_without_a_next_moment_spins_nowhere_k095(
    due: datetime, virtual_clock: VirtualClock
) -> None:
    virtual_clock.stand_at(MONDAY)
    never, sound = a_job("0 0 1 1 *", name="never"), a_job("* * * * *", name="sound")
    stored = [{"cron": "0 0 31 2 *", "timezone": "UTC", "dst": "once"}]
    Job.objects.filter(id=never.id).update(schedule=stored)
    for version in JobVersion.objects.filter(job=never):
        version.definition["schedule"] = stored
        version.save()
    Due.objects.filter(job=never).update(at=due)
    beat = Beat(virtual_clock)
    assert [beat.tick(MONDAY + minute * MINUTE) for minute in (1, 2, 3)] == [1, 1, 1]
    assert Run.objects.filter(job=never).count() == 0
    assert not Due.objects.filter(job=never).exists()
    assert len(fired(sound)) == 3


def test_a_row_from_before_its_job_makes_no_moment_due_that_never_was_k095(
    virtual_clock: VirtualClock,
) -> None:
    virtual_clock.stand_at(MONDAY)
    job = a_job("* * * * *")
    Due.objects.filter(job=job).update(at=ZERO_TIME + DAY)
    Beat(virtual_clock).tick(MONDAY + MINUTE)
    assert (fired(job), recorded(job)) == ([MONDAY + MINUTE], 0)


def test_a_row_far_below_the_bound_is_found_within_a_minute_k121(
    virtual_clock: VirtualClock,
) -> None:
    """Whatever bound the scan has, it steps over no moment for long."""
    virtual_clock.stand_at(MONDAY)
    job, beat = a_job("0 0 * * *", catch_up={"window": 86_400}), Beat(virtual_clock)
    beat.play(MONDAY, MONDAY + 23 * HOUR, step=HOUR)
    Due.objects.filter(job=job).delete()
    beat.play(MONDAY + 23 * HOUR, MONDAY + 25 * HOUR)
    Due.objects.create(job=job, shard=shard_of(job.id), at=MONDAY + DAY)
    found = MONDAY + 25 * HOUR
    beat.play(found, found + MINUTE, step=SECOND)
    assert fired(job) == [MONDAY + DAY]


def test_the_run_after_a_long_one_starts_at_the_next_moment_k121(
    virtual_clock: VirtualClock,
) -> None:
    virtual_clock.stand_at(MONDAY)
    ten = timedelta(seconds=10)
    job = make.job(make.team(), schedule={"every": 10}, overlap="skip")
    beat = Beat(virtual_clock)
    beat.play(MONDAY, MONDAY + ten, step=SECOND)
    long = _begun(job)
    beat.play(MONDAY + ten, MONDAY + ten + timedelta(seconds=75), step=SECOND)
    settle.attempt(long.id, 1, Outcome(Kind.SUCCEEDED, Effect.DONE, "200"))
    beat.play(MONDAY + 8.5 * ten, MONDAY + 10 * ten, step=SECOND)
    starts = Run.objects.filter(job=job).exclude(state="SKIPPED").order_by("due_at")
    assert [run.due_at for run in starts] == [MONDAY + ten, MONDAY + 9 * ten]
    assert starts[1].created_at == MONDAY + 9 * ten
    assert Run.objects.filter(state="SKIPPED", blocked_by=long.id).count() == 7


def _begun(job: Job) -> Run:
    run = Run.objects.get(job=job)
    assert start.run(run.id, worker="w") is not None
    return run


# ── the clock itself ─────────────────────────────────────────────────────────────────────


def test_a_clock_set_a_day_ahead_and_back_k092(virtual_clock: VirtualClock) -> None:
    """Ahead: one moment is made up, as its catch-up says. Back: nothing comes twice, and what is
    due next is due at once. (With processes: tests/story/test_clocks.py.)"""
    virtual_clock.stand_at(MONDAY)
    job, paused = a_job("* * * * *"), a_job("* * * * *", name="paused")
    editing.pause(paused.id, Pause("moving", until=MONDAY + 5 * DAY), by=None)
    beat = Beat(virtual_clock)
    beat.play(MONDAY, MONDAY + 5 * MINUTE)
    beat.play(MONDAY + DAY - MINUTE, MONDAY + DAY + MINUTE)
    assert fired(job)[5:] == [MONDAY + DAY, MONDAY + DAY + MINUTE]
    virtual_clock.stand_at(MONDAY + 4.5 * MINUTE)
    assert set_back.undo(MONDAY + 4.5 * MINUTE) == 1
    beat.play(MONDAY + 4.5 * MINUTE, MONDAY + 9.5 * MINUTE)
    assert fired(job)[:9] == [MONDAY + minute * MINUTE for minute in range(1, 10)]
    assert next_due(job) == MONDAY + 10 * MINUTE
    assert next_due(paused) == MONDAY + 5 * DAY
    beat.play(MONDAY + DAY - MINUTE, MONDAY + DAY + 2 * MINUTE)
    assert fired(job)[-3:] == [MONDAY + DAY + minute * MINUTE for minute in range(3)]


def test_an_edit_elsewhere_while_a_moment_is_claimed_claims_it_no_second_time_k094(
    virtual_clock: VirtualClock,
) -> None:
    """The row under its lock says what is due, no list that is loaded again after an edit."""
    virtual_clock.stand_at(MONDAY)
    job, other = a_job("* * * * *"), a_job("0 0 1 1 *", name="other")
    virtual_clock.stand_at(MONDAY + MINUTE)
    with transaction.atomic():
        assert Beat(virtual_clock).tick(MONDAY + MINUTE) == 1
        second = partial(claim.due_jobs, MONDAY + MINUTE, shards=ALL, above=EVER)
        timeouts = make.definition(name="other", schedule={"cron": "0 0 1 1 *"}, timeout=7)
        edit = partial(editing.edit, other.id, timeouts, by=None)
        edited, claimed = at_once(edit, second)
        assert (edited.version, claimed) == (2, claim.Claimed())
    assert Beat(virtual_clock).tick(MONDAY + MINUTE) == 0
    assert fired(job) == [MONDAY + MINUTE]
