"""Dead letters by what they died of: groups, choices out of them, discards."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs import clock
from jobs.models import Job, User
from runs import settle
from runs.decisions import NoteMissing
from runs.letters import groups as dead_letters
from runs.letters.groups import Differs, Group
from runs.models import Decision, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    return make.job(make.team())


def died(job: Job, reason: str = "Order 1 failed", *, ago: float = 0, **columns: Any) -> Run:
    """A run that died so many seconds ago."""
    at = clock.now() - timedelta(seconds=ago)
    return make.run(job, State.DEAD, reason=reason, died_at=at, **columns)


def groups(**rows: Any) -> list[Group]:
    found = dead_letters.groups(Run.objects.filter(**rows)).order_by(*dead_letters.ORDER)
    return dead_letters.told(list(found))


def group_of(run: Run) -> UUID:
    assert run.error_group is not None
    return run.error_group


def test_a_run_that_dies_is_put_with_those_that_died_alike(job: Job) -> None:
    for reason in ("Order 1 failed", "Order 22 failed", "[Errno 111] refused"):
        run = make.run(job, State.RUNNING, failures=job.max_attempts - 1)
        assert settle.attempt(run.id, 1, Outcome(Kind.FAILED, Effect.MAYBE, reason)) == "DEAD"
    assert [(one.said, one.count) for one in groups()] == [
        ("[Errno 111] refused", 1),
        ("Order # failed", 2),
    ]


def test_a_group_says_how_many_since_when_and_what_the_newest_said(job: Job) -> None:
    now = clock.now()
    old = died(job, "Order 1 failed", ago=60, origin="schedule", due_at=now - timedelta(days=3))
    new = died(job, "Order 2 failed", ago=5, origin="schedule", due_at=now - timedelta(days=2))
    (found,) = groups()
    assert (found.id, found.job, found.count) == (old.error_group, job, 2)
    assert (found.first_at, found.last_at) == (old.died_at, new.died_at)
    assert (found.oldest_due_at, found.run_id) == (old.due_at, new.id)
    assert (found.reason, found.said) == ("Order 2 failed", "Order # failed")


def test_two_jobs_share_no_group(job: Job) -> None:
    died(job), died(make.job(job.team, name="other"))
    assert [one.count for one in groups()] == [1, 1]


def test_what_is_not_dead_is_in_no_group(job: Job) -> None:
    for state in (State.SUCCEEDED, State.CLOSED, State.RETRYING):
        make.run(job, state)
    assert groups() == []


def test_the_cause_seems_gone_once_the_job_has_succeeded_since(job: Job) -> None:
    died(job, ago=60)
    before = make.run(job, State.SUCCEEDED, finished_at=clock.now() - timedelta(seconds=90))
    assert groups()[0].succeeded_at is None
    since = make.run(job, State.SUCCEEDED, finished_at=clock.now() - timedelta(seconds=30))
    assert before.finished_at != groups()[0].succeeded_at == since.finished_at


def test_a_replay_that_succeeded_counts_however_old_its_run_is(job: Job) -> None:
    first = died(job, ago=60)
    Run.objects.filter(id=first.id).update(state=State.SUCCEEDED, finished_at=clock.now())
    died(job, ago=30)
    make.run(make.job(job.team, name="other"), State.SUCCEEDED)
    for _ in range(3):
        make.run(job, State.CANCELLED)
    assert groups()[0].succeeded_at is not None


def test_a_group_is_found_by_its_id_also_when_none_of_it_is_dead_any_more(
    job: Job, django_assert_max_num_queries: Any
) -> None:
    run = died(job, "Order 7 failed")
    for _ in range(5):
        died(job, "Order 8 failed")
    with django_assert_max_num_queries(3):
        found = dead_letters.group(Run.objects.all(), group_of(run))
    assert found is not None and found.count == 6
    Run.objects.update(state=State.CLAIMED, send_at=clock.now(), reason="Decided: later words.")
    found = dead_letters.group(Run.objects.all(), group_of(run))
    assert found is not None and (found.count, found.job, found.last_at) == (0, job, None)
    assert dead_letters.group(Run.objects.all(), uuid4()) is None
    assert dead_letters.group(Run.objects.none(), group_of(run)) is None


def test_many_groups_are_told_in_as_many_statements_as_one(
    job: Job, django_assert_num_queries: Any
) -> None:
    for word in ("one", "two", "three", "four"):
        died(job, word)
    found = list(dead_letters.groups(Run.objects.all()))
    with django_assert_num_queries(2):
        assert len(dead_letters.told(found)) == 4


# ── choose and look ──────────────────────────────────────────────────────────────────────


def test_a_choice_of_the_group_leaves_out_what_dies_later(job: Job) -> None:
    run = died(job, ago=1)
    choice = dead_letters.choose(group_of(run))
    died(job, ago=-5)
    assert list(choice.rows) == [run]


def test_the_oldest_moment_goes_first_whatever_was_born_first(job: Job) -> None:
    now = clock.now()
    late = died(job, origin="schedule", due_at=now - timedelta(days=1))
    early = died(job, origin="schedule", due_at=now - timedelta(days=2))
    by_hand = died(job)
    seen = dead_letters.look(dead_letters.choose(group_of(late)))
    assert (seen.count, seen.more, seen.first, seen.last) == (3, False, early, by_hand)
    assert [seen.seconds(60), seen.seconds(1)] == [2, 120]


def test_a_list_holds_only_what_is_dead_in_this_group(job: Job) -> None:
    run, other = died(job), died(job, "Another thing")
    choice = dead_letters.choose(group_of(run), [run.id, run.id, other.id, uuid4()])
    assert list(choice.rows) == [run]
    with pytest.raises(Differs) as found:
        choice.check(choice.rows.count())
    assert (found.value.count, found.value.expected) == (1, 3)


def test_more_than_go_at_a_time_are_said_to_be_more(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST", 2)
    runs = [died(job, ago=60) for _ in range(3)]
    seen = dead_letters.look(dead_letters.choose(group_of(runs[0])))
    assert (seen.count, seen.more, seen.last) == (2, True, runs[1])


# ── discard ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def operator(job: Job) -> User:
    return make.operator(job.team)


def test_a_discard_closes_what_was_chosen_with_the_reason(job: Job, operator: User) -> None:
    runs = [died(job, ago=1) for _ in range(3)]
    other = died(job, "Another thing", ago=1)
    seen = dead_letters.look(dead_letters.choose(group_of(runs[0])))
    choice = dead_letters.Choice(group_of(runs[0]), seen.choice.as_of, seen.count)
    done = dead_letters.discard(choice, note=" of no use ", by=operator)
    assert (done.discarded, done.passed_over) == (3, 0)
    closed = Run.objects.filter(state=State.CLOSED, reason="Discarded: of no use")
    assert set(closed) == set(runs)
    assert all(run.finished_at for run in closed)
    said = Decision.objects.values_list("run", "by", "decision", "from_state", "to_state")
    assert set(said) == {(run.id, operator.pk, "discard", "DEAD", "CLOSED") for run in runs}
    assert Decision.objects.filter(attempt=runs[0].attempt, note="of no use").count() == 3
    other.refresh_from_db()
    assert other.state == "DEAD"


def test_a_discard_needs_a_reason_and_the_number_that_is_there(job: Job, operator: User) -> None:
    run = died(job, ago=1)
    choice = dead_letters.Choice(group_of(run), clock.now(), expected=2)
    with pytest.raises(NoteMissing):
        dead_letters.discard(choice, note="  ", by=operator)
    with pytest.raises(Differs, match=r"^2 dead letters were seen, 1 are there by now"):
        dead_letters.discard(choice, note="of no use", by=operator)
    run.refresh_from_db()
    assert run.state == "DEAD"
    assert not Decision.objects.exists()


def test_a_discard_goes_in_batches_and_takes_few_statements(
    job: Job, operator: User, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(dead_letters, "BATCH", 5)
    runs = [died(job, ago=1) for _ in range(10)]
    choice = dead_letters.choose(group_of(runs[0]), [run.id for run in runs])
    with django_assert_max_num_queries(1 + 2 * 8):
        assert dead_letters.discard(choice, note="n", by=operator).discarded == 10
