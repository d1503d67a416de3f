"""The queue, the evidence on one, and a decision about many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock
from jobs.models import Team, User
from runs.decisions import NoteMissing
from runs.models import ReviewClaim, Run
from runs.review import bulk as review_bulk
from runs.review import claims
from runs.review import queue as review_queue
from runs.states import ReviewClass
from tests import make
from tests.runs.reviewing import attempt, decide, job_with, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


# ── the queue ─────────────────────────────────────────────────────────────────────────────────


def queue(user: User, **by: Any) -> list[Run]:
    rows = review_queue.waiting(Run.objects.where(user.id))
    return list(review_queue.narrowed(rows, user.id, **by))


def test_the_most_overdue_stands_first_then_the_oldest(team: Team, operator: User) -> None:
    hour = timedelta(hours=1)
    quick, slow = job_with(team, decide_by=600), job_with(team, decide_by=7 * 86_400)
    oldest = waits(team, since=99 * hour)
    plain = waits(team, since=hour)
    later = waits(team, since=timedelta(minutes=11), job=quick)
    overdue = waits(team, since=hour, job=quick)
    in_time = waits(team, since=2 * hour, job=slow)
    assert queue(operator) == [overdue, later, in_time, oldest, plain]
    assert queue(operator, overdue=True) == [overdue, later]
    assert queue(operator, job_id=quick.id) == [overdue, later]


def test_it_is_narrowed_by_class_and_by_whose_it_is(
    team: Team, operator: User, colleague: User
) -> None:
    mine, theirs, free = (waits(team, since=timedelta(hours=9 - n)) for n in range(3))
    missed = waits(team, review_class=ReviewClass.MISSED)
    claims.take(mine.id, by=operator)
    claims.take(theirs.id, by=colleague)
    assert queue(operator, whose="mine") == [mine]
    assert queue(operator, whose="others") == [theirs]
    assert queue(operator, whose="nobody") == [free, missed]
    assert queue(operator, classes=["missed"]) == [missed]
    ReviewClaim.objects.update(at=clock.now() - timedelta(hours=1))
    ReviewClaim.objects.update(until=clock.now() - timedelta(minutes=45))
    assert len(queue(operator, whose="nobody")) == 4


def test_the_evidence_stands_on_one_record(team: Team, operator: User) -> None:
    job = job_with(team, decide_by=600)
    before = waits(team, job=job)
    decide(before, "happened", operator)
    run = waits(team, job=job)
    broken = {"phase": "waiting", "bytes_sent": 412}
    lease = clock.now() + timedelta(hours=1)
    attempt(run, started=timedelta(seconds=9), answer=broken, lease_until=lease)
    decide(run, "escalate", operator)
    found = review_queue.evidence(Run.objects.select_related("job__team").get(id=run.id))
    assert (found.phase, found.bytes_sent, found.lease_until) == ("sent", 412, lease)
    assert found.under_way_until == lease
    assert [decision.run_id for decision in found.before] == [before.id]
    assert found.escalated is not None and found.decide_before is not None
    assert found.last is not None and found.last.answer == broken


# ── many at once ──────────────────────────────────────────────────────────────────────────────


def unsent(team: Team, **more: Any) -> Run:
    return waits(team, review_class=ReviewClass.NOT_SENT, **more)


def test_of_many_each_is_decided_where_nothing_was_sent(
    team: Team, operator: User, colleague: User
) -> None:
    plain, taken = unsent(team), unsent(team)
    unknown, maybe = waits(team), unsent(team, effect="maybe")
    critical = unsent(team, job=job_with(team, critical=True))
    gone = unsent(team)
    decide(gone, "close", operator)
    claims.take(taken.id, by=colleague)
    ids = [run.id for run in (plain, taken, unknown, maybe, critical, gone, plain)]
    results = review_bulk.decide(ids, "run_again", note="The network is back.", by=operator)
    assert [(result.decided, result.state) for result in results] == [
        (True, "CLAIMED"),
        *[(False, "REVIEW")] * 4,
        (False, "CLOSED"),
    ]
    why = [
        "",
        "colleague looks",
        "look of its own: unknown",
        "may have acted",
        "second person",
        "CLOSED",
    ]
    assert all(text in result.said for text, result in zip(why, results, strict=True))


def test_a_filter_decides_what_the_person_saw_or_asks_again(team: Team, operator: User) -> None:
    runs = [unsent(team) for _ in range(3)]
    as_of = clock.now()
    rows = Run.objects.where(operator.id)
    assert sorted(review_bulk.found(rows, as_of, 3)) == sorted(run.id for run in runs)
    unsent(team)
    assert len(review_bulk.found(rows, as_of, 3)) == 3, "what came later is not meant"
    decide(runs[0], "close", operator)
    with pytest.raises(review_bulk.Differs) as differs:
        review_bulk.found(rows, as_of, 3)
    assert differs.value.found == 2


def test_nothing_is_decided_without_a_note(team: Team, operator: User) -> None:
    run = unsent(team)
    with pytest.raises(NoteMissing):
        review_bulk.decide([run.id], "close", note="", by=operator)
    run.refresh_from_db()
    assert run.state == "REVIEW"
