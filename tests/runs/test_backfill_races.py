"""Backfills, claims, stops and people at one instant: each moment has one run."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from jobs import clock
from jobs.models import Due, Job, User
from jobs.shards import COUNT
from runs import by_hand, claim, start
from runs.backfills import backfill
from runs.backfills.span import Range
from runs.bounds import EVER
from runs.models import Backfill, Run
from runs.states import ACTIVE, UNDER_WAY
from tests import make
from tests.races import ROUNDS, at_once
from tests.runs.histories import MINUTE, minutely, noon, skipped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

ALL = list(range(COUNT))


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def begin(job: Job, since: datetime, until: datetime, **how: Any) -> Backfill:
    return backfill.begin(job.id, Range(since, until), by=None, **how)


def overdue(job: Job, at: datetime) -> None:
    Due.objects.filter(job=job).update(at=at)


def take(job: Job) -> None:
    """Claim until the job's row is taken: one that another holds is skipped."""
    while Due.objects.filter(job=job, at__lte=clock.now()).exists():
        claim.due_jobs(clock.now(), shards=ALL, above=EVER)


def failures(outcomes: list[Any]) -> list[Any]:
    return [found for found in outcomes if isinstance(found, Exception)]


def runs_of(job: Job) -> Counter[datetime | None]:
    rows = Run.objects.filter(job=job).exclude(state="SKIPPED")
    return Counter(rows.values_list("due_at", flat=True))


@pytest.mark.parametrize("overlap", ["allow", "queue"])
def test_a_claim_and_backfills_of_the_same_moments_make_one_run_of_each(overlap: str) -> None:
    for _ in range(ROUNDS):
        catch_up = {"policy": "all", "window": 86_400, "limit": 100}
        job, now = minutely(overlap=overlap, catch_up=catch_up), clock.now()
        # Late for certain: one that is due just now is no catch-up, and gives way by `overlap`.
        newest = now.replace(second=0, microsecond=0) - MINUTE
        of = begin(job, newest - 4 * MINUTE, newest, max_active=5)
        overdue(job, newest - 4 * MINUTE)
        more = partial(backfill.advance, of.id)
        assert failures(at_once(partial(take, job), more, more, more)) == []
        found = runs_of(job)
        # The minute after it is the claim's alone.
        up_to_newest = {at for at in found if at is not None and at <= newest}
        assert up_to_newest == {newest - n * MINUTE for n in range(5)}
        assert set(found.values()) == {1}
        Backfill.objects.all().delete()


def test_two_beats_keep_to_the_most_that_may_be_under_way() -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        of = begin(job, at, at + 9 * MINUTE, max_active=3)
        more = backfill.advance_all
        assert failures(at_once(more, more, more)) == []
        assert Run.objects.filter(backfill=of, state__in=UNDER_WAY).count() == 3
        of.refresh_from_db()
        assert of.made == 3 and of.is_open
        backfill.stop(of.id, by=None)


def test_a_serial_job_has_one_active_run_whoever_starts_it(operator: User) -> None:
    for _ in range(ROUNDS):
        job, at = minutely(overlap="skip"), noon()
        of = begin(job, at, at + 9 * MINUTE, max_active=3)
        overdue(job, clock.now().replace(second=0, microsecond=0))
        outcomes = at_once(
            partial(backfill.advance, of.id),
            partial(take, job),
            partial(by_hand.run_for, job.id, at + 20 * MINUTE, by=operator),
        )
        assert all(isinstance(found, by_hand.Busy) for found in failures(outcomes))
        assert Run.objects.filter(job=job, state__in=ACTIVE).count() == 1
        backfill.stop(of.id, by=None)


def test_after_a_stop_nothing_more_is_made() -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        of = begin(job, at, at + 9 * MINUTE, max_active=3)
        outcomes = at_once(
            partial(backfill.advance, of.id),
            partial(backfill.stop, of.id, by=None),
            partial(backfill.advance, of.id),
        )
        assert failures(outcomes) == []
        assert not Run.objects.filter(backfill=of, state__in=UNDER_WAY).exists()
        assert backfill.advance(of.id) == 0
        of.refresh_from_db()
        assert of.state == "stopped"


def test_a_run_that_a_worker_starts_as_it_is_taken_back_runs_or_is_skipped() -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        of = begin(job, at, at)
        backfill.advance(of.id)
        run = Run.objects.get(backfill=of)
        granted, stopped = at_once(
            partial(start.run, run.id, worker="w"), partial(backfill.stop, of.id, by=None)
        )
        assert not isinstance(granted, Exception) and not isinstance(stopped, Exception)
        run.refresh_from_db()
        assert run.state == ("RUNNING" if granted else "SKIPPED")


def test_of_two_that_begin_at_once_one_is_told_of_the_other() -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        press = partial(begin, job, at, at)
        outcomes = at_once(press, press)
        assert [type(found) for found in failures(outcomes)] == [backfill.AlreadyOpen]
        backfill.stop(Backfill.objects.get(job=job).id, by=None)


@pytest.mark.parametrize("has_due_row", [True, False])
def test_a_moment_that_two_people_want_at_once_is_run_once(
    operator: User, has_due_row: bool
) -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        skipped(job, at)
        if not has_due_row:
            Due.objects.filter(job=job).delete()
        press = partial(by_hand.run_for, job.id, at, by=operator)
        outcomes = at_once(press, press)
        (refused,) = failures(outcomes)
        assert isinstance(refused, by_hand.HasRun)
        assert str(Run.objects.exclude(state="SKIPPED").get(job=job).id) in str(refused)


def test_a_person_and_a_backfill_want_one_moment(operator: User) -> None:
    for _ in range(ROUNDS):
        job, at = minutely(), noon()
        of = begin(job, at, at + timedelta(seconds=30))
        outcomes = at_once(
            partial(by_hand.run_for, job.id, at, by=operator), partial(backfill.advance, of.id)
        )
        assert {type(found) for found in failures(outcomes)} <= {by_hand.HasRun}
        assert runs_of(job) == {at: 1}
        backfill.stop(of.id, by=None)
