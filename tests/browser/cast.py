"""A team in the middle of its work: something of everything that a page can show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from jobs import clock, editing
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Due, Job, Team, User
from jobs.models.team import PLATFORM
from jobs.roles import Role
from runs.audits import kept as audits
from runs.dashboard.stars import stars
from runs.models import Attempt, Backfill, Beat, Channel, Replay, Run
from runs.states import Origin, State
from tests import make

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAYS_OFF = {
    "holidays": {"country": "DE", "subdivision": None},
    "days_off": [{"date": "2027-01-04", "label": "Closing"}],
}
SETTLE = {
    "name": "settle-accounts",
    "description": "Books the day of each account. The ledger must be open.",
    "schedule": {"cron": "0 18 * * 1-5", "timezone": "Europe/Berlin"},
    "calendar": {"name": "bank", "rule": "skip"},
    "idempotent": False,
    "timeout": 30,
    "runbook": "Look for the key in the ledger before you run it again.",
    "target": {
        "type": "http",
        "url": "https://ledger.example/settle",
        "headers": {"Authorization": "Bearer very-secret"},
        "body": {"book": "EQ"},
    },
}
SENT = {
    "method": "POST",
    "url": "https://ledger.example/settle",
    "headers": {"Idempotency-Key": "0192f0c1", "Authorization": "********"},
    "body": '{"book": "EQ"}',
}
BAD_GATEWAY = {"status": 502, "headers": {"Server": "edge"}, "body": "<h1>502 Bad Gateway</h1>"}
NO_ANSWER = "The request was sent; no answer came within 30 s."


@dataclass(frozen=True)
class Cast:
    """Who looks, and what the pages that are of one thing are about."""

    person: User
    job: Job
    settle: Job
    gone: Job
    unclear: Run
    runs: dict[State, Run]
    backfill: Backfill
    channel: Channel
    replay: Replay


def assembled() -> Cast:
    """The whole of it, for an editor of the platform's team who also administers payments."""
    team = make.team()
    person = make.admin(team, "keeper")
    _platform(person)
    calendar_editing.create(
        "bank",
        calendar_content.read(DAYS_OFF),
        by=calendar_editing.Editor(person, frozenset({team.id})),
    )
    settle = _settle(team, person)
    job = _hourly(team, "send-statements", runbook="Ask the printers.")
    _history(job)
    runs = {state: _run(job, state) for state in State}
    _others(team, person)
    channel = make.channel(team, "dead", "review", by=person)
    audits.kept(clock.now() - HOUR)
    backfill = make.backfill(_hourly(team, "import-prices"), moments=12, made=5, by=person)
    make.token(team, person)
    _aside(team, person, job)
    unclear = _run(settle, State.REVIEW)
    gone = _hourly(team, "print-ledger")
    editing.delete(gone.id, by=person)
    return Cast(person, job, settle, gone, unclear, runs, backfill, channel, make.replay(job))


def _aside(team: Team, person: User, job: Job) -> None:
    """What stands beside the work: a star, a badge, what changed, and maintenance near and far."""
    stars.put(job, by=person)
    make.badge(team)
    make.marker(team, url="https://ci.example/1042", at=clock.now() - 2 * HOUR, by=person)
    make.marker(team, "migration of the ledger", at=clock.now() - 30 * HOUR, by=person)
    for begins in (40, 2_000):
        make.window(team, begins=begins, ends=begins + 90, by=person)


def _platform(person: User) -> None:
    """Staff who see the load of all teams; a beat that is up."""
    platform, _ = Team.objects.get_or_create(slug=PLATFORM, defaults={"name": "Platform"})
    platform.membership_set.create(user=person, role=Role.VIEWER)
    person.is_staff = True
    person.save(update_fields=["is_staff"])
    now = clock.now()
    # It is seen for as long as the pictures take: no page says that nothing is claimed.
    seen = now + timedelta(hours=1)
    Beat.objects.create(name="b", host="h", pid=1, tzdata="2026.1", started_at=now, seen_at=seen)


def _settle(team: Team, by: User) -> Job:
    """A job that is not safe to repeat, with a runbook, and edited once."""
    made = make.job(team, **SETTLE, by=by)
    return editing.edit(made.id, make.definition(**SETTLE, retries={"max_attempts": 3}), by=by)


def _hourly(team: Team, name: str, **more: Any) -> Job:
    return make.job(team, name=name, schedule={"cron": "0 * * * *", "timezone": "UTC"}, **more)


def _run(job: Job, state: State) -> Run:
    """A run by its schedule in this state, with an attempt where it has begun."""
    due = clock.now() - (len(State) - list(State).index(state)) * HOUR
    row = {"origin": Origin.SCHEDULE, "due_at": due, "created_at": due, **_columns(state, due)}
    run = make.run(job, state, **row)
    if run.attempt:
        _attempt(run, due + timedelta(seconds=4), due + timedelta(seconds=12))
    return run


def _columns(state: State, due: datetime) -> dict[str, Any]:
    """What the run's row says besides what the constraints ask."""
    begun: dict[str, Any] = {"attempt": 1, "started_at": due + timedelta(seconds=4), "sends": 1}
    match state:
        case State.SUCCEEDED:
            return {**begun, "finished_at": due + timedelta(seconds=12)}
        case State.ENQUEUED:
            return {"sends": 1, "sent_at": due + timedelta(seconds=1)}
        case State.RUNNING:
            return {**begun, "lease_until": clock.now() + timedelta(seconds=2)}
        case State.RETRYING:
            return {**begun, "failures": 1, "reason": "The target answered 502 Bad Gateway."}
        case State.REVIEW:
            return {**begun, "reason": NO_ANSWER, "review_at": due + MINUTE, "effect": "maybe"}
        case State.DEAD:
            return {**begun, "attempt": 5}
        case State.SKIPPED:
            return {"reason": "Missed: the scheduler was down.", "skipped_until": due}
        case State.CLOSED | State.CANCELLED:
            return {"reason": "The day was booked by hand."}
        case _:
            return {}


def _attempt(run: Run, at: datetime, ended: datetime) -> None:
    """The run's last attempt as its state lets one expect it."""
    kind = {State.SUCCEEDED: "succeeded", State.REVIEW: "unknown", State.RUNNING: ""}
    outcome = kind.get(run.state, "failed")  # type: ignore[call-overload]
    Attempt.objects.create(
        run=run,
        number=run.attempt,
        lease_id=run.lease_id or uuid4(),
        worker="worker-1",
        started_at=at,
        intent_at=at + timedelta(milliseconds=40),
        ended_at=ended if outcome else None,
        outcome=outcome,
        reason=run.reason,
        sent=SENT,
        answer={} if outcome == "unknown" else BAD_GATEWAY,
    )


def _history(job: Job) -> None:
    """Enough ended runs for strips and bars, each a little longer than the one before."""
    for number in reversed(range(24)):
        due = clock.now() - timedelta(days=1, hours=number)
        started = due + timedelta(seconds=2)
        ended = started + timedelta(seconds=5 + number % 7)
        more = {"origin": Origin.SCHEDULE, "due_at": due, "started_at": started, "attempt": 1}
        run = make.run(job, State.SUCCEEDED, created_at=due, finished_at=ended, **more)
        _attempt(run, started, ended)


def _others(team: Team, person: User) -> None:
    """Jobs that are fine, late, paused, ended, without a schedule, and one with a hard name."""
    for name in ("rotate-certificates", "check-limits"):
        _run(_hourly(team, name), State.SUCCEEDED)
    late = _hourly(team, "close-books")
    Due.objects.filter(job=late).update(at=clock.now() - 5 * MINUTE)
    paused = _hourly(team, "collect-dunning")
    editing.pause(paused.id, editing.Pause("The printers move house."), by=person)
    make.job(
        team,
        name="x" * 120,
        description="y" * 300,
        schedule={"cron": "5 4 * * 1", "timezone": "UTC"},
    )
    odd = _hourly(team, '<b>"Überweisung" & Söhne</b> 💶')
    make.run(odd, State.DEAD, reason="z" * 200)
    make.view(team)
