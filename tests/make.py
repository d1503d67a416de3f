"""The cast and its things, built by plain functions: `make.operator(make.team())`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from jobs import clock, editing, maintenance
from jobs.definitions import definitions
from jobs.definitions.definitions import Definition
from jobs.models import Job, MaintenanceWindow, Membership, Team, User
from jobs.offer import offered
from jobs.roles import Role
from jobs.tokens import tokens
from runs import error_groups, idempotency
from runs.badges import badge as badges
from runs.channels import editing as channels
from runs.letters import batch as replay_batch
from runs.letters import groups as dead_letters
from runs.models import Backfill, Badge, Channel, Marker, Replay, Run, SavedView, Trial
from runs.states import ACTIVE, FINAL, STARTABLE, Origin, ReviewClass, State


def team(slug: str = "payments") -> Team:
    """The team of this slug."""
    found, _ = Team.objects.get_or_create(slug=slug, defaults={"name": slug.title()})
    return found


def person(name: str, **columns: Any) -> User:
    """A person who is in no team; without `password` (its hash costs time) they cannot sign in,
    and tests do so for them by `client.force_login`."""
    user: User = User.objects.create_user(name, **columns)
    return user


def member(of: Team, role: Role, name: str = "") -> User:
    """A person with this role in the team, named for it."""
    user = person(name or str(role))
    Membership.objects.create(team=of, user=user, role=role)
    return user


def viewer(of: Team, name: str = "") -> User:
    """A member who reads."""
    return member(of, Role.VIEWER, name)


def operator(of: Team, name: str = "") -> User:
    """A member who also runs, pauses and decides."""
    return member(of, Role.OPERATOR, name)


def editor(of: Team, name: str = "") -> User:
    """A member who also registers and edits jobs."""
    return member(of, Role.EDITOR, name)


def admin(of: Team, name: str = "") -> User:
    """A member who also looks after members, tokens and channels."""
    return member(of, Role.ADMIN, name)


def outsider(name: str = "outsider") -> User:
    """An admin of another team."""
    return member(team("elsewhere"), Role.ADMIN, name)


def token(of: Team, user: User) -> str:
    """The clear text of a token of this person for the team."""
    _, secret = tokens.issue(of, user, "made for a test")
    return secret


def shape(**changes: Any) -> dict[str, Any]:
    """A job as the API takes it: yearly, safe to repeat, its runs side by side; it calls an
    address that is never called."""
    return {
        "name": "rotate-certificates",
        "schedule": {"cron": "0 3 1 1 *", "timezone": "Europe/Berlin"},
        "target": {"type": "http", "method": "POST", "url": "https://ledger.example/rotate"},
        "idempotent": True,
        "overlap": "allow",
        "block_on_review": False,
        **changes,
    }


def definition(**changes: Any) -> Definition:
    """`shape`, read."""
    return definitions.read(shape(**changes), now=clock.now(), known=offered())


def job(of: Team, *, by: User | None = None, **changes: Any) -> Job:
    """A job of the team, registered by the rule."""
    return editing.register(of, definition(**changes), by=by)


def run(job: Job, state: State = State.CLAIMED, **columns: Any) -> Run:
    """A run of the job as it rests in this state: what the constraints ask is filled in."""
    now = clock.now()
    row: dict[str, Any] = {
        "job": job,
        "job_version": job.version,
        "key": idempotency.key_by_hand(job.id),
        "origin": Origin.HAND,
        "state": state,
        "snapshot": job.target,
        "idempotent": job.idempotent,
        "max_attempts": job.max_attempts,
        "backoff": job.backoff,
        "cap": job.cap,
        "retry_unsent": job.retry_unsent,
        "timeout": job.timeout,
        "completion": job.completion,
        "deadline": job.deadline,
        "refusal_codes": job.refusal_codes or None,
        "follow_redirects": job.follow_redirects,
        "queue": job.queue,
        "created_at": now,
    }
    if state in ACTIVE:
        row |= {"serial": job.serial}
    if state is State.WAITING:
        row |= {"reason": "Waits for another run to end."}
    if state in STARTABLE:
        row |= {"send_at": now}
    if state in FINAL:
        row |= {"finished_at": now}
    if state is State.RUNNING:
        row |= {"lease_id": uuid4(), "lease_until": now + timedelta(minutes=1), "attempt": 1}
    if state is State.REVIEW:
        row |= {"review_class": ReviewClass.UNKNOWN, "reason": "No answer came.", "attempt": 1}
        row |= {"review_at": now}
    if state is State.DEAD:
        row |= {"attempt": row["max_attempts"], "failures": row["max_attempts"]}
        reason = columns.get("reason", "The target answered 503 Service Unavailable.")
        row |= {"reason": reason, "died_at": now}
        row |= {"error_group": error_groups.group_of(job.id, reason)}
    if state is State.SKIPPED:
        row |= {"skipped_count": 1}
    return Run.objects.create(**{**row, **columns})


def channel(of: Team | None, *kinds: str, by: User | None = None, **given: Any) -> Channel:
    """A channel, by mail unless told otherwise, that hears these kinds of messages."""
    shape = {"name": "ops", "way": "mail", "address": "ops@example.org", "kinds": kinds, **given}
    wanted = channels.read(shape, installation=of is None)
    made, _ = channels.make(of, wanted, by=by or User.objects.first() or person("maker"))
    return made


def backfill(job: Job, **columns: Any) -> Backfill:
    """An open backfill of the job's last hour, which no beat has carried on yet."""
    now = clock.now()
    since = now - timedelta(hours=1)
    row = {"since": since, "until": now, "cursor": since, "created_at": now, "moments": 1}
    return Backfill.objects.create(job=job, **{**row, **columns})


def dead(job: Job) -> Run:
    """A dead run of the job."""
    return Run.objects.filter(job=job, state=State.DEAD).first() or run(job, State.DEAD)


def replay(job: Job, **how: Any) -> Replay:
    """A replay of a dead run of the job, which no beat has carried on yet."""
    one = dead(job)
    assert one.error_group is not None
    return replay_batch.begin(dead_letters.choose(one.error_group, [one.id]), by=None, **how)


def view(of: Team, **query: list[str]) -> SavedView:
    """A view of jobs that somebody has shared with the team."""
    there = SavedView.objects.filter(team=of).first()
    owner = User.objects.first() or person("keeper")
    query = query or {"state": ["paused"]}
    return there or SavedView.objects.create(
        owner=owner, team=of, page="jobs", name="paused ones", query=query
    )


def window(
    of: Team | None, *, begins: float = 60, ends: float = 120, by: User | None = None
) -> MaintenanceWindow:
    """A maintenance window of the team, or of the installation, so many minutes from now; what
    has come is written as no door would."""
    now = clock.now().replace(microsecond=0)
    times = [now + timedelta(minutes=minutes) for minutes in (begins, ends)]
    later = [now + timedelta(days=1), now + timedelta(days=1, hours=1)]
    window = maintenance.plan(of, "The ledger moves.", *later, by=by)
    window.begins_at, window.ends_at = times
    window.save()
    return window


def marker(of: Team, text: str = "deploy of billing 4.2", **columns: Any) -> Marker:
    """A marker of the team, just now unless told otherwise, as the rule would write it."""
    now = clock.now()
    return Marker.objects.create(
        **{"team": of, "text": text, "at": now, "created_at": now, **columns}
    )


def badge(of: Team) -> Badge:
    """The badge of all jobs of the team."""
    if there := Badge.objects.filter(team=of).first():
        return there
    by = User.objects.first() or person("maker")
    made, _ = badges.make(badges.read(of, "Nightly"), by=by)
    return made


def trial(of: Job, **more: Any) -> Trial:
    """A test request of a job that its target answered."""
    id, at = uuid4(), clock.now()
    row = {"outcome": "succeeded", "effect": "done", "ended_at": at, "by": None}
    return Trial.objects.create(
        id=id,
        team=of.team,
        job=of,
        job_name=of.name,
        at=at,
        key=f"{of.id}:test:{id}",
        idempotent=of.idempotent,
        snapshot=of.target,
        timeout=of.timeout,
        **{**row, **more},
    )
