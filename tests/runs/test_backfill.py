"""A backfill: what it makes, in which order, how many at a time, and what it leaves alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from jobs import clock, editing
from jobs.definitions.definitions import DefinitionError
from jobs.editing import Pause
from jobs.models import Due, Job, JobVersion, User
from jobs.schedules.instants import canonical_instant, parse_instant
from runs import cancel, idempotency, settle, start
from runs.backfills import backfill, span
from runs.backfills.span import MOST, Range
from runs.models import Backfill, Run, Tombstone
from runs.outcomes import Effect, Kind, Outcome
from runs.review import deciding
from runs.states import UNDER_WAY, State
from tests import make
from tests.runs.histories import MINUTE, aged, edited, fired, minutely, noon, skipped

pytestmark = pytest.mark.django_db

DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")


@pytest.fixture
def at() -> datetime:
    return noon()


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def hour(at: datetime, minutes: int = 9) -> Range:
    """`at` and so many minutes after it: one moment more than minutes."""
    return Range(at, at + minutes * MINUTE)


def begin(job: Job, asked: Range, **how: Any) -> Backfill:
    return backfill.begin(job.id, asked, by=None, **how)


def made(of: Backfill) -> list[datetime]:
    """The moments of its runs, in the order in which they were written."""
    rows = Run.objects.filter(backfill=of).order_by("id")
    return [due for due in rows.values_list("due_at", flat=True) if due]


def carry_out(of: Backfill, outcome: Outcome = DONE) -> None:
    """A worker takes every run of it that there is."""
    for run in Run.objects.filter(backfill=of, state__in=UNDER_WAY).order_by("id"):
        grant = start.run(run.id, worker="w")
        assert grant is not None
        settle.attempt(run.id, grant.token, outcome)


def to_the_end(of: Backfill, outcome: Outcome = DONE) -> Iterator[int]:
    """Beats and workers by turns until it is over; yields how many are under way each time."""
    while of.is_open:
        backfill.advance_all()
        yield Run.objects.filter(backfill=of, state__in=UNDER_WAY).count()
        carry_out(of, outcome)
        of.refresh_from_db()


# ── preview ──────────────────────────────────────────────────────────────────────────────


def test_the_preview_counts_what_there_is_and_shows_both_ends(at: datetime) -> None:
    job = minutely()
    fired(job, at)
    fired(job, at + MINUTE, State.CANCELLED)
    skipped(job, at + 2 * MINUTE, count=3)
    Tombstone.objects.create(job=job, due_at=at + 7 * MINUTE, ending="SUCCEEDED")
    found = span.preview(job, hour(at, 19))
    assert (found.moments, found.existing, found.to_run) == (20, 3, 17)
    assert (found.first, found.last) == (at, at + 19 * MINUTE)
    assert [sample.moment for sample in found.head] == [at + n * MINUTE for n in range(5)]
    assert [sample.moment for sample in found.tail] == [at + n * MINUTE for n in range(15, 20)]
    assert found.left_out == 10
    assert [bool(sample.there) for sample in found.head] == [True, True, False, False, False]
    assert not Run.objects.filter(origin="backfill").exists()


@pytest.mark.parametrize("minutes", [0, 1, 4, 5, 9, 10])
def test_no_moment_of_a_short_range_is_shown_twice(at: datetime, minutes: int) -> None:
    found = span.preview(minutely(), hour(at, minutes))
    shown = [sample.moment for sample in (*found.head, *found.tail)]
    assert found.moments == minutes + 1
    assert shown == sorted(set(shown)) and len(shown) + found.left_out == found.moments
    assert (found.first, found.last) == (at, at + minutes * MINUTE)


def test_a_range_without_a_moment_is_empty(at: datetime) -> None:
    second = timedelta(seconds=1)
    found = span.preview(minutely(), Range(at + second, at + 59 * second))
    assert (found.moments, found.first, found.last, found.to_run) == (0, None, None, 0)


def problems(job: Job, since: datetime, until: datetime) -> dict[str, str]:
    with pytest.raises(DefinitionError) as refused:
        span.preview(job, Range(since, until))
    return {each.field: str(each) for each in refused.value.problems}


def test_a_range_must_lie_within_the_life_of_the_job_so_far(at: datetime) -> None:
    job, day = minutely(), timedelta(days=1)
    assert "first version" in problems(job, at - 2 * day, at)["from"]
    assert "yet to come" in problems(job, at, at + day)["to"]
    JobVersion.objects.filter(job=job).update(began_at=at + timedelta(milliseconds=1500))
    said = problems(job, at, at + MINUTE)["from"]
    (begin,) = re.findall(r"begins at (\S+)\. Choose that, or one after it\.", said)
    assert begin == canonical_instant(at + timedelta(seconds=2)), "and no part of a second"
    assert span.preview(job, Range(parse_instant(begin, "from"), at + MINUTE)).moments
    assert "before `from`" in problems(job, at, at - MINUTE)["to"]
    ends = datetime.min.replace(tzinfo=at.tzinfo), datetime.max.replace(tzinfo=at.tzinfo)
    assert set(problems(job, *ends)) == {"from", "to"}


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron": "* * * * *", "timezone": "Europe/Berlin"},
        [{"cron": "* * * * *"}, {"every": 61, "anchor": "2020-01-01T00:00:00Z"}],
    ],
)
def test_a_million_moments_are_refused_with_the_number_at_once(schedule: Any) -> None:
    job = make.job(make.team(), schedule=schedule)
    began = time.process_time()
    said = problems(job, noon() - timedelta(days=730, minutes=-1), noon())["to"]
    assert time.process_time() - began < 10  # one after the other they take half a minute
    several = isinstance(schedule, list)
    assert ("2,08" if several else "1,051,200 moments") in said and f"{MOST:,}" in said


def test_ten_thousand_moments_are_just_allowed(at: datetime) -> None:
    job = aged(minutely(), timedelta(days=30))
    assert span.preview(job, hour(at - MOST * MINUTE, MOST - 1)).moments == MOST
    assert "10,001 moments" in problems(job, at - MOST * MINUTE, at)["to"]


# ── carrying on ──────────────────────────────────────────────────────────────────────────


def test_each_moment_gets_one_run_with_its_key_and_the_version_of_then(at: datetime) -> None:
    job = minutely()
    edited(job, at + 4 * MINUTE, timeout=7)
    of = begin(job, hour(at))
    assert [*to_the_end(of)] == [1] * 10 + [0]
    assert made(of) == [at + n * MINUTE for n in range(10)]
    runs = list(Run.objects.filter(backfill=of).order_by("due_at"))
    assert [run.key for run in runs] == [idempotency.key_of_moment(job.id, m) for m in made(of)]
    assert [run.job_version for run in runs] == [1] * 5 + [2] * 5
    assert [run.timeout for run in runs] == [300] * 5 + [7] * 5
    assert {run.origin for run in runs} == {"backfill"}
    assert (of.state, of.made, of.passed, of.moments) == ("done", 10, 0, 10)
    assert of.finished_at is not None
    assert backfill.counts(of) == {"SUCCEEDED": 10}


def test_the_newest_first(at: datetime) -> None:
    of = begin(minutely(), hour(at), reverse=True)
    assert len([*to_the_end(of)]) == 11
    assert made(of) == [at + n * MINUTE for n in reversed(range(10))]


@pytest.mark.parametrize("reverse", [False, True])
def test_at_most_so_many_at_a_time(at: datetime, reverse: bool) -> None:
    of = begin(minutely(), hour(at), max_active=4, reverse=reverse)
    assert [*to_the_end(of)] == [4, 4, 2, 0]


def test_a_run_that_rests_takes_no_place(at: datetime) -> None:
    of = begin(minutely(idempotent=False), hour(at, 3))
    assert [*to_the_end(of, FAILED)] == [1, 1, 1, 1, 0]
    assert (of.state, backfill.counts(of)) == ("done", {"REVIEW": 4})


@pytest.mark.parametrize("reverse", [False, True])
def test_what_has_a_run_or_had_one_is_passed_over(at: datetime, reverse: bool) -> None:
    job = minutely()
    fired(job, at)
    fired(job, at + 3 * MINUTE, State.DEAD)
    fired(job, at + 4 * MINUTE, State.CANCELLED)
    Tombstone.objects.create(job=job, due_at=at + 9 * MINUTE, ending="SUCCEEDED")
    skipped(job, at + 5 * MINUTE, count=2)
    of = begin(job, hour(at), reverse=reverse)
    assert sum(to_the_end(of)) == 6
    assert sorted(made(of)) == [at + n * MINUTE for n in (1, 2, 5, 6, 7, 8)]
    assert (of.made, of.passed) == (6, 4)


def test_a_range_that_is_done_already_is_gone_through_in_large_steps(at: datetime) -> None:
    job = minutely()
    since = at - 500 * MINUTE
    rows = [Tombstone(job=job, due_at=since + n * MINUTE, ending="SUCCEEDED") for n in range(500)]
    Tombstone.objects.bulk_create(rows)
    of = begin(job, Range(since, at))
    assert len([*to_the_end(of)]) <= 8
    assert (of.made, of.passed) == (1, 500)


def test_moments_under_a_pause_were_not_due_and_a_pause_stops_no_backfill(at: datetime) -> None:
    job = minutely()
    editing.pause(job.id, Pause("moving"), by=None)
    JobVersion.objects.filter(job=job, number=2).update(began_at=at + 5 * MINUTE)
    of = begin(job, hour(at))
    assert sum(to_the_end(of)) == 6
    assert (of.state, made(of)[-1]) == ("done", at + 5 * MINUTE)


def test_the_end_of_the_job_is_the_end_of_its_backfill(at: datetime) -> None:
    job = minutely()
    of = begin(job, hour(at))
    backfill.advance_all()
    editing.delete(job.id, by=None)
    run = Run.objects.get(backfill=of)
    assert start.run(run.id, worker="w") is None
    backfill.advance_all()
    of.refresh_from_db()
    run.refresh_from_db()
    assert (of.state, run.state, of.made) == ("stopped", "CANCELLED", 1)
    assert "deleted" in of.reason


def test_schedules_that_the_zone_data_has_lost_stop_it_with_the_reason(at: datetime) -> None:
    job = minutely()
    of, other = begin(job, hour(at)), begin(minutely(), hour(at))
    version = JobVersion.objects.get(job=job)
    version.definition["schedule"] = [{"cron": "0 0 * * *", "timezone": "Mars/Olympus"}]
    version.save()
    backfill.advance_all()
    of.refresh_from_db()
    assert of.state == "stopped" and "Mars/Olympus" in of.reason
    assert made(other) == [at]


# ── taking turns ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all"])
def test_it_waits_for_the_run_of_a_serial_job_and_says_so(at: datetime, overlap: str) -> None:
    job = minutely(overlap=overlap)
    active = make.run(job, State.RUNNING)
    of = begin(job, hour(at), max_active=5)
    assert backfill.advance_all().moments == 0
    of.refresh_from_db()
    assert of.is_open and str(active.id) in of.reason and made(of) == []
    settle.attempt(active.id, 1, DONE)
    assert [*to_the_end(of)] == [1] * 10 + [0], "one at a time, whatever it may"
    assert of.reason == ""
    assert not Run.objects.filter(state="SKIPPED").exists()


def test_a_moment_that_waits_has_its_turn_before_the_next_of_the_backfill(at: datetime) -> None:
    job = minutely(overlap="queue")
    of = begin(job, hour(at))
    backfill.advance_all()
    due = fired(job, clock.now() - MINUTE, State.WAITING, reason="Waits for its turn.")
    carry_out(of)
    due.refresh_from_db()
    assert due.state == "CLAIMED"
    assert backfill.advance_all().moments == 0


def test_what_is_due_is_claimed_first(at: datetime) -> None:
    job = minutely(overlap="skip")
    begin(job, hour(at))
    Due.objects.filter(job=job).update(at=clock.now())
    assert backfill.advance_all().moments == 0
    Due.objects.filter(job=job).update(at=clock.now() + MINUTE)
    assert backfill.advance_all().moments == 1


def test_it_stands_behind_an_earlier_review_and_goes_on_when_it_is_decided(
    at: datetime, operator: User
) -> None:
    job = minutely(idempotent=False, block_on_review=True)
    of = begin(job, hour(at, 2))
    backfill.advance_all()
    carry_out(of, FAILED)
    assert backfill.advance_all().moments == 0
    of.refresh_from_db()
    assert "is decided" in of.reason
    run = Run.objects.get(backfill=of)
    deciding.decide(run.id, "close", token=1, note="Seen.", by=operator)
    assert backfill.advance_all().moments == 1


def test_backwards_no_review_of_a_later_moment_is_in_the_way(at: datetime) -> None:
    job = minutely(idempotent=False, block_on_review=True)
    of = begin(job, hour(at, 2), reverse=True)
    assert [*to_the_end(of, FAILED)] == [1, 1, 1, 0]


# ── one at a time, and its end ───────────────────────────────────────────────────────────


def test_a_job_has_one_open_backfill(at: datetime) -> None:
    job = minutely()
    of = begin(job, hour(at))
    with pytest.raises(backfill.AlreadyOpen) as refused:
        begin(job, hour(at))
    assert refused.value.backfill == of
    with pytest.raises(IntegrityError, match="one_open_backfill_of_a_job"), transaction.atomic():
        Backfill.objects.create(
            job=job, since=at, until=at, created_at=at, cursor=at, moments=1, max_active=1
        )
    backfill.stop(of.id, by=None)
    assert begin(job, hour(at)).is_open


def test_stopped_it_makes_no_more_and_takes_back_what_has_not_started(
    at: datetime, operator: User
) -> None:
    job = minutely()
    of = begin(job, hour(at), max_active=3)
    backfill.advance_all()
    first, *others = Run.objects.filter(backfill=of).order_by("id")
    grant = start.run(first.id, worker="w")
    assert grant is not None
    stopped = backfill.stop(of.id, by=operator)
    assert (stopped.state, stopped.reason) == ("stopped", "Stopped by operator.")
    assert backfill.advance_all().moments == 0 and backfill.advance(of.id) == 0
    assert settle.attempt(first.id, grant.token, DONE) == "SUCCEEDED"
    for run in others:
        run.refresh_from_db()
        assert (run.state, run.reason) == ("SKIPPED", backfill.TAKEN_BACK)
    assert backfill.stop(of.id, by=None).reason == stopped.reason, "over is over"


def test_a_later_backfill_makes_up_for_what_was_taken_back(at: datetime) -> None:
    job = minutely()
    of = begin(job, hour(at), max_active=3)
    backfill.advance_all()
    backfill.stop(of.id, by=None)
    again = begin(job, hour(at), max_active=100)
    assert [*to_the_end(again)] == [10, 0]
    assert Run.objects.filter(job=job, state="SUCCEEDED").count() == 10


def test_a_stop_gives_way_to_who_waits(at: datetime) -> None:
    job = minutely(overlap="queue")
    of = begin(job, hour(at))
    backfill.advance_all()
    waiting = fired(job, clock.now() - MINUTE, State.WAITING, reason="Waits for its turn.")
    backfill.stop(of.id, by=None)
    waiting.refresh_from_db()
    assert waiting.state == "CLAIMED"


def test_a_run_that_a_person_cancels_is_not_made_again(at: datetime, operator: User) -> None:
    of = begin(minutely(), hour(at, 1))
    backfill.advance_all()
    cancel.cancel(Run.objects.get(backfill=of).id, by=operator)
    assert [*to_the_end(of)] == [1, 0]
    assert backfill.counts(of) == {"CANCELLED": 1, "SUCCEEDED": 1}


def test_a_job_that_is_gone_is_not_backfilled(at: datetime) -> None:
    job = minutely()
    editing.delete(job.id, by=None)
    with pytest.raises(editing.Gone):
        begin(job, hour(at))


def test_a_backfilled_run_has_no_window(at: datetime) -> None:
    job = minutely(catch_up={"policy": "last", "window": 10})
    of = begin(job, hour(at, 0))
    assert [*to_the_end(of)] == [1, 0]
    assert backfill.counts(of) == {"SUCCEEDED": 1}


def test_no_open_backfill_costs_a_tick_one_statement(
    at: datetime, django_assert_num_queries: Any
) -> None:
    begin(minutely(), hour(at))
    backfill.advance_all()  # its one place is taken
    with django_assert_num_queries(1):
        backfill.advance_all()
