"""Under a hold the claim goes on, nothing starts, and nothing is lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, holds
from jobs.models import Due, Hold, Job, JobVersion, User
from jobs.shards import COUNT
from runs import by_hand, claim, release, rescue, settle, start
from runs.backfills import backfill
from runs.bounds import EVER
from runs.decisions import Stale
from runs.holds import letting_go
from runs.letters import replay
from runs.models import Attempt, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.review import deciding
from runs.states import State
from tests import make
from tests.runs import histories

pytestmark = pytest.mark.django_db

DONE = Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
FAILED = Outcome(Kind.FAILED, Effect.MAYBE, "500")
ALL = list(range(COUNT))
LAST: dict[str, Any] = {"catch_up": {"policy": "last", "limit": 3}}
EACH: dict[str, Any] = {"catch_up": {"policy": "all", "limit": 3}}


@pytest.fixture
def operator() -> User:
    return make.operator(make.team())


def due(seconds: int = 5, *, every: int = 5, **changes: Any) -> tuple[Job, datetime]:
    """A job whose moment `seconds` ago is not settled; it has one `every` so many seconds."""
    made = make.job(make.team(), name=f"job {uuid4()}", schedule={"every": every}, **changes)
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    stored = [{"every": every, "anchor": f"{at:%Y-%m-%dT%H:%M:%SZ}"}]
    began = at - timedelta(days=9)
    Due.objects.filter(job=made).update(at=at)
    Job.objects.filter(id=made.id).update(version_began_at=began, schedule=stored)
    for version in JobVersion.objects.filter(job=made):
        version.began_at, version.definition["schedule"] = began, stored
        version.save()
    made.refresh_from_db()
    return made, at


def take(now: datetime) -> None:
    claim.due_jobs(now, shards=ALL, above=EVER)


def states(of: Job) -> list[str]:
    rows = Run.objects.filter(job=of).order_by("due_at", "id")
    return list(rows.values_list("state", flat=True))


def state(run: Run) -> str:
    run.refresh_from_db()
    return run.state


def hold(**more: Any) -> Hold:
    return holds.begin(make.team(), "The ledger moves.", by=None, **more)


def running(of: Job, **columns: Any) -> Run:
    run = make.run(of, State.RUNNING, **columns)
    assert run.lease_id
    Attempt.objects.create(
        run=run, number=1, lease_id=run.lease_id, worker="w", started_at=clock.now()
    )
    return run


# ── the claim ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "allow", "cancel"])
def test_a_moment_under_a_hold_waits_for_its_end_whatever_the_overlap(overlap: str) -> None:
    job, at = due(overlap=overlap)
    active = running(job)
    held = hold()
    take(at)
    run = Run.objects.get(job=job, due_at=at)
    assert (run.state, run.hold_id, run.reason) == ("WAITING", held.id, held.words)
    assert "The ledger moves. (team payments, since " in run.reason
    assert (state(active), active.stop_asked_at) == ("RUNNING", None)


def test_the_hold_of_another_team_holds_nothing_here_and_the_installations_does() -> None:
    holds.begin(make.team("elsewhere"), "Theirs.", by=None)
    job, at = due()
    take(at)
    assert states(job) == ["CLAIMED"]
    holds.begin(None, "Everything.", by=None)
    take(at + timedelta(seconds=5))
    assert states(job) == ["CLAIMED", "WAITING"]


def test_a_run_is_held_before_it_is_put_behind_a_review() -> None:
    job, at = due(idempotent=False, block_on_review=True, overlap="queue")
    make.run(job, State.REVIEW, created_at=at - timedelta(days=1))
    held = hold()
    take(at)
    assert Run.objects.get(due_at=at).hold_id == held.id


def test_of_the_first_moments_a_limited_number_wait_and_the_rest_is_one_row_a_batch() -> None:
    job, at = due(300, every=5, **EACH)
    hold()
    take(at + timedelta(seconds=290))
    assert states(job) == ["WAITING"] * 3 + ["SKIPPED"] * 2  # missed, and on time
    rows = Run.objects.filter(job=job, state="SKIPPED")
    assert sum(row.skipped_count or 0 for row in rows) == 56
    assert {row.reason for row in rows} == {"held, and past the catch-up limit"}
    for more in (300, 305):
        take(at + timedelta(seconds=more))
    assert states(job).count("WAITING") == 3
    assert states(job).count("SKIPPED") == 4  # one row a batch
    assert sum(row.skipped_count or 0 for row in rows.all()) == 59


def test_of_the_newest_alone_older_ones_give_way_to_newer_ones() -> None:
    job, at = due(30, every=5, **LAST)
    hold()
    for seconds in (0, 5, 10, 15, 20):
        take(at + timedelta(seconds=seconds))
    assert states(job) == ["SKIPPED", "SKIPPED", "WAITING", "WAITING", "WAITING"]
    gone = Run.objects.filter(job=job, state="SKIPPED").first()
    assert gone is not None
    assert (gone.hold_id, gone.skipped_count) == (None, 1)
    assert "gave way to a newer moment" in gone.reason


def test_a_long_row_of_missed_moments_under_last_is_its_newest_without_a_window() -> None:
    job, at = due(11 * 86_400, every=86_400, **LAST)
    hold()
    take(at + timedelta(days=10, hours=3))
    assert states(job) == ["SKIPPED", "WAITING"]
    assert Run.objects.get(job=job, state="SKIPPED").skipped_count == 10


def test_a_person_is_not_asked_under_a_hold_about_what_they_may_let_go() -> None:
    job, at = due(40, every=20, idempotent=False)
    hold()
    take(at + timedelta(seconds=39))
    assert states(job) == ["WAITING", "WAITING"]


def test_a_paused_job_has_no_moments_under_a_hold_either() -> None:
    job, at = due(30, every=5)
    Job.objects.filter(id=job.id).update(paused=True)
    JobVersion.objects.filter(job=job).update(definition={"paused": True, "deleted": False})
    hold()
    take(at + timedelta(seconds=20))
    assert states(job) == []


def test_no_hold_costs_no_statement_and_a_hold_costs_few_whatever_the_batch(
    django_assert_num_queries: Any,
) -> None:
    _, at = due(overlap="allow")
    with django_assert_num_queries(6):
        take(at)
    hold()
    for count in (2, 20):
        for _ in range(count):
            _, at = due(overlap="queue", **LAST)
        with django_assert_num_queries(8):  # which hold and how many wait; the hold's words
            take(at)


# ── starts ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("before", [State.CLAIMED, State.ENQUEUED, State.RETRYING])
@pytest.mark.parametrize("overlap", ["allow", "queue"])
def test_no_run_starts_under_a_hold(before: State, overlap: str) -> None:
    run = make.run(make.job(make.team(), overlap=overlap), before)
    held = hold()
    assert start.run(run.id, worker="w") is None
    assert (state(run), run.hold_id, run.reason) == ("WAITING", held.id, held.words)
    assert (run.send_at, run.attempt) == (None, 0)
    assert start.run(run.id, worker="w") is None


def test_what_runs_goes_on_and_its_retry_waits() -> None:
    run = running(make.job(make.team(), overlap="queue"))
    held = hold()
    settle.attempt(run.id, 1, FAILED)
    assert state(run) == "RETRYING"
    Run.objects.filter(id=run.id).update(send_at=clock.now())
    assert start.run(run.id, worker="w") is None
    assert (state(run), run.hold_id, run.attempt) == ("WAITING", held.id, 1)


def test_what_is_to_be_cancelled_is_cancelled_under_a_hold() -> None:
    run = make.run(make.job(make.team()), State.ENQUEUED, stop_asked_at=clock.now())
    hold()
    start.run(run.id, worker="w")
    assert state(run) == "CANCELLED"


def test_neither_an_end_nor_rescue_releases_under_a_hold_and_who_waits_says_so() -> None:
    job = make.job(make.team(), overlap="queue")
    active = running(job)
    waiting = make.run(job, State.WAITING, blocked_by=active.id)
    held = hold()
    settle.attempt(active.id, 1, DONE)
    assert rescue.missed_wake_ups() == 0
    assert (state(waiting), waiting.reason, waiting.hold_id) == ("WAITING", held.words, None)
    holds.end(held.id, by=None)
    assert rescue.missed_wake_ups() == 1
    assert state(waiting) == "CLAIMED"


def test_rescue_and_an_end_pass_over_what_waits_for_a_hold_that_is_over() -> None:
    job = make.job(make.team(), overlap="queue")
    held = hold()
    waiting = make.run(job, State.WAITING, hold=held)
    holds.end(held.id, by=None)
    active = running(job)
    settle.attempt(active.id, 1, DONE)
    rescue.missed_wake_ups()
    assert (state(waiting), waiting.hold_id) == ("WAITING", held.id)


def test_a_replay_and_a_run_again_wait_for_the_hold(operator: User) -> None:
    dead = make.run(make.job(make.team()), State.DEAD)
    rested = make.run(make.job(make.team(), name="b", idempotent=False), State.REVIEW)
    held = hold()
    replay.replay(dead.id, token=None, note="", by=operator)
    deciding.decide(rested.id, "run_again", token=1, note="it did not", by=operator)
    assert [(state(run), run.hold_id) for run in (dead, rested)] == [("WAITING", held.id)] * 2
    holds.end(held.id, by=operator)
    letting_go.due()
    assert [state(run) for run in (dead, rested)] == ["CLAIMED", "CLAIMED"]


def test_a_run_by_hand_is_refused_with_the_reason(operator: User) -> None:
    job = make.job(make.team())
    hold()
    with pytest.raises(by_hand.Held, match="The ledger moves"):
        by_hand.run_now(job.id, by=operator)
    assert not Run.objects.exists()


# ── one run let past ─────────────────────────────────────────────────────────────────────


def test_a_run_that_is_let_past_starts_under_the_hold_and_so_do_its_retries(operator: User) -> None:
    job, at = due(overlap="queue")
    hold()
    take(at)
    run = letting_go.one(Run.objects.get(job=job).id, by=operator)
    assert (run.state, run.serial, run.hold_id) == ("CLAIMED", True, None)
    decision = run.decisions.get()
    assert (decision.decision, decision.by) == ("let_past", operator)
    assert start.run(run.id, worker="w") is not None
    settle.attempt(run.id, 1, FAILED)
    Run.objects.filter(id=run.id).update(send_at=clock.now())
    assert start.run(run.id, worker="w") is not None


def test_a_hold_that_begins_later_holds_it_again_and_its_end_drops_it_not(operator: User) -> None:
    job, at = due(**LAST)
    hold()
    take(at)
    run = letting_go.one(Run.objects.get(job=job).id, by=operator)
    whole = holds.begin(None, "Everything.", by=None)
    assert start.run(run.id, worker="w") is None
    assert (state(run), run.hold_id) == ("WAITING", whole.id)
    for each in Hold.objects.all():
        holds.end(each.id, by=None, choices={job.id: "drop"})
    letting_go.due()
    assert state(run) == "CLAIMED"


def test_what_waits_for_no_hold_cannot_be_let_past_one(operator: User) -> None:
    run = make.run(make.job(make.team()), State.WAITING)
    hold()
    with pytest.raises(Stale):
        letting_go.one(run.id, by=operator)


def test_a_busy_serial_job_lets_none_past(operator: User) -> None:
    job, at = due(overlap="queue")
    active = running(job)
    hold()
    take(at)
    held = Run.objects.get(due_at=at)
    with pytest.raises(release.Busy, match=str(active.id)):
        letting_go.one(held.id, by=operator)
    assert state(held) == "WAITING"


# ── together with other fields of the job ────────────────────────────────────────────────


def test_moments_to_skip_and_beyond_the_last_run_are_recorded_under_a_hold_too() -> None:
    job, at = due(overlap="allow", max_runs=1)
    Job.objects.filter(id=job.id).update(skip_next=1)
    hold()
    for seconds in (0, 5, 10):
        take(at + timedelta(seconds=seconds))
    assert states(job) == ["SKIPPED", "WAITING"]
    assert not Due.objects.filter(job=job).exists()


def test_a_moment_that_is_spread_is_not_started_before_its_time_after_a_hold() -> None:
    job, at = due()
    Job.objects.filter(id=job.id).update(spread=600, start_delay=600)
    held = hold()
    take(at)
    holds.end(held.id, by=None)
    letting_go.due()
    run = Run.objects.get(job=job)
    assert run.not_before == at + timedelta(seconds=600)
    assert run.state == "CLAIMED"
    assert run.send_at == run.not_before


def test_a_backfill_makes_no_runs_under_a_hold_and_goes_on_after_it() -> None:
    of = histories.minutely(overlap="allow")
    first = histories.noon()
    until = first + timedelta(minutes=3)
    asked = make.backfill(of, since=first, until=until, cursor=first, moments=4)
    held = hold()
    backfill.advance_all()
    asked.refresh_from_db()
    assert (asked.reason, Run.objects.count()) == (held.words, 0)
    holds.end(held.id, by=None)
    backfill.advance_all()
    assert set(Run.objects.values_list("origin", "state")) == {("backfill", "CLAIMED")}
