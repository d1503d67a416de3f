"""What is told is written with what it tells of: once, to those who hear it, and cheaply."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs import clock
from jobs.models import Hold, Job, Team
from jobs.shards import COUNT
from runs import claim, housekeeping, rescue, settle, start, transitions
from runs.bounds import EVER
from runs.channels import notify, outbox
from runs.channels.messages import ALL, OF_INSTALLATION, OF_TEAM, Kind
from runs.letters import replay
from runs.models import Delivery, Installation, Message, Run
from runs.outcomes import Effect, Outcome
from runs.outcomes import Kind as OutcomeKind
from runs.states import Origin, ReviewClass, State
from runs.witness import Witness
from tests import make
from tests.runs.histories import minutely
from tests.runs.test_claim import every, overdue

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team)


def claim_all(now: datetime | None = None) -> claim.Claimed:
    return claim.due_jobs(now or clock.now(), shards=list(range(COUNT)), above=EVER)


def told() -> list[tuple[str, int]]:
    return [(row.kind, row.count) for row in Message.objects.order_by("id")]


def failing(run: Run, kind: OutcomeKind = OutcomeKind.REFUSED) -> State | None:
    """An attempt of the run, refused by its target."""
    Run.objects.filter(id=run.id).update(intent_at=clock.now())
    return settle.attempt(run.id, run.attempt, Outcome(kind, Effect.MAYBE, "It said no."))


# ── runs ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("idempotent", "kind"), [(True, "dead"), (False, "review")])
def test_a_run_that_comes_to_rest_is_told_with_its_move(
    team: Team, idempotent: bool, kind: str
) -> None:
    channel = make.channel(team, *OF_TEAM)
    run = make.run(make.job(team, idempotent=idempotent), State.RUNNING)
    failing(run)
    message = Message.objects.get()
    assert (message.channel, message.kind, message.run_id) == (channel, kind, run.id)
    assert message.event == f"{kind}:{run.id}:1"
    assert message.reason == "It said no."


def test_what_rolls_back_is_not_told(job: Job, team: Team) -> None:
    make.channel(team, "review")
    run = make.run(job, State.RUNNING, attempt=1)
    with pytest.raises(RuntimeError), transaction.atomic():
        transitions.move(run.id, State.REVIEW, token=1, review_class="failed", reason="No.")
        raise RuntimeError
    assert told() == []


def test_only_those_who_hear_it_are_told(job: Job, team: Team) -> None:
    make.channel(team, "review", name="another kind")
    make.channel(make.team("elsewhere"), "dead", name="another team")
    make.channel(None, "audit", name="the platform")
    hears = [make.channel(team, "dead", name=name).id for name in ("one", "two")]
    failing(make.run(job, State.RUNNING))
    assert sorted(row.channel_id for row in Message.objects.all()) == sorted(hears)


def test_the_same_is_told_once_and_the_next_time_anew(job: Job, team: Team) -> None:
    make.channel(team, "dead")
    run = make.run(job, State.DEAD, attempt=3)
    outbox.of_runs([run.id])
    outbox.of_runs([run.id])
    assert told() == [("dead", 1)]
    replay.replay(run.id, token=3, note="", by=make.operator(team))
    Run.objects.filter(id=run.id).update(state=State.DEAD, attempt=4, send_at=None)
    outbox.of_runs([run.id])
    assert [row.event for row in Message.objects.order_by("id")] == [
        f"dead:{run.id}:3",
        f"dead:{run.id}:4",
    ]


def test_many_at_once_are_one_message_a_job_and_cause(team: Team) -> None:
    make.channel(team, *OF_TEAM)
    jobs = [make.job(team, name=name) for name in ("a", "b")]
    now = clock.now()
    runs = [
        make.run(job, State.REVIEW, review_class=cause, due_at=now + timedelta(seconds=number))
        for job in jobs
        for number, cause in enumerate([ReviewClass.MISSED] * 3 + [ReviewClass.FAILED] * 2)
    ]
    outbox.of_runs([run.id for run in runs])
    assert sorted(told()) == [*[("missed", 3)] * 2, *[("review", 2)] * 2]
    first = Message.objects.filter(kind="missed", job_id=jobs[0].id).get()
    assert (first.first_at, first.last_at) == (now, now + timedelta(seconds=2))


def test_a_backfill_that_was_taken_back_is_not_told(job: Job, team: Team) -> None:
    make.channel(team, "dropped")
    run = make.run(
        job, State.SKIPPED, origin=Origin.BACKFILL, backfill=make.backfill(job), due_at=clock.now()
    )
    outbox.of_runs([run.id])
    assert told() == []


def test_where_nobody_hears_no_run_is_read(job: Job) -> None:
    run = make.run(job, State.DEAD)
    with connection.cursor() as cursor:
        cursor.execute("explain analyze " + outbox._OF_RUNS, {"runs": [run.id], "skipped_as": "x"})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    scans = [line for line in plan.splitlines() if "Scan" in line and "runs_run" in line]
    assert scans and all("never executed" in line for line in scans), plan


# ── the claim ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("none", [("missed", 4)]), ("last", [("missed", 3)]), ("ask", [("missed", 4)]), ("all", [])],
)
def test_a_claim_tells_what_it_does_not_fire(
    team: Team, policy: str, expected: list[tuple[str, int]]
) -> None:
    make.channel(team, "missed", "dropped", "review")
    catch_up = {"policy": policy, "window": 86_400, "limit": 100}
    every(60, make.job(team, catch_up=catch_up, overlap="allow"), 200)
    claim_all()
    assert told() == expected


def test_a_moment_that_overlaps_is_told_as_dropped(team: Team) -> None:
    make.channel(team, "missed", "dropped")
    job = make.job(team, overlap="skip")
    make.run(job, State.RUNNING)
    overdue(job, 2)
    claim_all()
    message = Message.objects.get()
    assert (message.kind, message.count) == ("dropped", 1)
    assert message.reason.startswith("Skipped: ")


def test_a_claim_that_fires_in_time_spends_nothing_on_it(team: Team) -> None:
    make.channel(team, *OF_TEAM)
    at = overdue(make.job(team), 2)
    with CaptureQueriesContext(connection) as queries:
        assert claim_all(at + timedelta(milliseconds=20)).runs == 1
    assert not [query for query in queries if "runs_message" in query["sql"]]


# ── late ─────────────────────────────────────────────────────────────────────────────────


def late_run(job: Job, state: State = State.ENQUEUED, seconds: int = 60, **columns: Any) -> Run:
    at = clock.now() - timedelta(seconds=seconds)
    return make.run(job, state, due_at=at, origin=Origin.SCHEDULE, **columns)


@pytest.mark.parametrize("state", [State.CLAIMED, State.ENQUEUED, State.WAITING])
def test_what_has_not_started_in_time_is_told_once(job: Job, team: Team, state: State) -> None:
    make.channel(team, "late")
    run = late_run(job, state)
    outbox.late()
    outbox.late()
    assert told() == [("late", 1)]
    run.refresh_from_db()
    assert run.late_at is not None


def test_what_is_not_late_is_not_told(job: Job, team: Team) -> None:
    make.channel(team, "late")
    hold = Hold.objects.create(team=team, reason="A move.", began_at=clock.now())
    late_run(job, seconds=5)
    late_run(job, State.WAITING, seconds=61, hold=hold)
    late_run(job, State.RUNNING, seconds=62)
    late_run(job, State.RETRYING, seconds=63, attempt=1)
    late_run(job, seconds=64, not_before=clock.now() + timedelta(seconds=9))
    make.run(job, State.ENQUEUED)  # by hand, for no moment
    outbox.late()
    assert told() == []


def test_a_job_says_when_it_is_late(team: Team) -> None:
    make.channel(team, "late")
    late_run(make.job(team, name="patient", late_after=3600))
    hasty = late_run(make.job(team, name="hasty", late_after=2), seconds=5)
    outbox.late()
    assert [row.run_id for row in Message.objects.all()] == [hasty.id]


def test_late_runs_of_a_job_are_one_message(job: Job, team: Team) -> None:
    make.channel(team, "late")
    for seconds in range(60, 70):
        late_run(job, seconds=seconds)
    outbox.late()
    assert told() == [("late", 10)]


def test_a_moment_made_up_is_late_at_its_birth(team: Team) -> None:
    """K087: what is picked up 1.8 s late runs and is not late; after an hour somebody is told."""
    make.channel(team, "late", "missed")
    overdue(make.job(team, name="soon"), 1.8)
    slow = make.job(team, name="slow")
    overdue(slow, 1800)
    claim_all()
    assert Run.objects.filter(state=State.CLAIMED).count() == 2
    assert [(row.kind, row.job_id) for row in Message.objects.all()] == [("late", slow.id)]


# ── the installation ─────────────────────────────────────────────────────────────────────


def test_the_audit_tells_the_team_and_the_platform_once() -> None:
    job = minutely()
    make.channel(job.team, "audit")
    make.channel(None, "audit", name="platform")
    housekeeping.daily_audit()
    housekeeping.daily_audit()
    assert told() == [("audit", Message.objects.first().count)] * 2  # type: ignore[union-attr]
    assert {row.channel.team_id for row in Message.objects.all()} == {job.team_id, None}


def test_what_lies_unclaimed_is_told_to_the_platform_once_an_hour(job: Job) -> None:
    make.channel(job.team, "late")
    make.channel(None, *OF_INSTALLATION, name="platform")
    overdue(job, 60)
    assert rescue.alarm_for_overdue() == 1
    assert rescue.alarm_for_overdue() == 1
    assert told() == [("overdue", 1)]


def test_an_escalation_is_told_with_its_note(job: Job, team: Team) -> None:
    make.channel(team, "escalated")
    run = make.run(job, State.REVIEW)
    for _ in range(2):
        outbox.escalated(run.id, job.id, decision=7, by="ann", note="Look at the ledger.")
    message = Message.objects.get()
    assert (message.kind, message.run_id) == ("escalated", run.id)
    assert message.reason == "ann wrote: Look at the ledger."


def test_every_kind_fits_its_column() -> None:
    assert all(len(kind) <= 11 for kind in ALL)
    assert Kind.TEST not in ALL


def test_a_start_that_comes_too_late_is_told(team: Team) -> None:
    make.channel(team, "missed", "dropped")
    job = make.job(team, catch_up={"policy": "last", "window": 60, "limit": 100})
    run = late_run(job, seconds=3600)
    Run.objects.filter(id=run.id).update(created_at=clock.now() - timedelta(seconds=3600))
    assert start.run(run.id, worker="w") is None
    run.refresh_from_db()
    assert (run.state, told()) == (State.SKIPPED, [("dropped", 1)])


# ── a copy, and old age ──────────────────────────────────────────────────────────────────


def test_a_restored_copy_tells_only_that_it_is_one(job: Job, team: Team, tmp_path: Path) -> None:
    """K091: what waits in an old copy is not sent from it; a person may send it all the same."""
    channel = make.channel(team, "dead")
    make.channel(None, "restored", name="platform")
    for attempt in (1, 2):
        outbox.of_runs([make.run(job, State.DEAD, attempt=attempt).id])
        if attempt == 1:
            notify.pack()
    Witness(tmp_path).look()
    Installation.objects.update(identity="another/1")
    Witness(tmp_path).look()
    assert Delivery.objects.filter(channel=channel, given_up_at__isnull=False).count() == 2
    assert not Message.objects.filter(channel=channel, delivery=None).exists()
    notify.pack()
    waits = Delivery.objects.get(next_at__isnull=False)
    assert [row.kind for row in waits.messages.all()] == ["restored"]
    assert notify.retry(channel) == 2


def test_what_was_told_a_month_ago_is_forgotten(job: Job, team: Team) -> None:
    make.channel(team, "dead")
    for state in ("sent", "waits", "young", "loose"):
        outbox.of_runs([make.run(job, State.DEAD).id])
        if state != "loose":
            notify.pack()
    sent, waits, young = Delivery.objects.order_by("created_at")
    long_ago = clock.now() - timedelta(days=31)
    Delivery.objects.exclude(id=waits.id).update(sent_at=long_ago, next_at=None)
    Delivery.objects.exclude(id=young.id).update(created_at=long_ago)
    Message.objects.exclude(delivery=young).update(at=long_ago)
    Message.objects.filter(delivery=None).update(at=long_ago)
    assert housekeeping.messages() == {"deleted": 2}
    assert set(Delivery.objects.all()) == {waits, young}
    assert {row.delivery for row in Message.objects.all()} == {waits, young}
    assert sent not in Delivery.objects.all()
