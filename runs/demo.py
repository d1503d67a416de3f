"""The demo: one team with four jobs that run at once and show the product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from jobs import clock, editing, offer
from jobs.definitions import definitions
from jobs.models import Job, JobVersion, Membership, Team, Token, User
from jobs.models.team import PLATFORM
from jobs.roles import Role
from jobs.task_registry import current_run, job_task
from jobs.tokens import tokens

TEAM = "demo"
_BEATS_ARE_UP = timedelta(seconds=15)  # after the seed, at the latest


@job_task("demo.hello")
def hello(name: str = "world") -> dict[str, str]:
    """What the demo's task answers: a greeting, and the key of its run."""
    return {"said": f"Hello, {name}!", "key": current_run().key}


@dataclass(frozen=True)
class Demo:
    """Who signs in, and the address that the HTTP jobs call. Secrets stay out of its repr."""

    username: str
    password: str = field(repr=False)
    token: str = field(repr=False)
    target_url: str


@transaction.atomic
def seed(demo: Demo) -> None:
    """Create what is missing. What a person has changed or deleted stays as they left it; only
    the address of the example target is kept up with, in jobs that nobody has edited."""
    user = _user(demo)
    team, _ = Team.objects.get_or_create(slug=TEAM, defaults={"name": "Demo"})
    platform, _ = Team.objects.get_or_create(slug=PLATFORM, defaults={"name": "Platform"})
    for of, role in ((team, Role.ADMIN), (platform, Role.VIEWER)):
        Membership.objects.get_or_create(team=of, user=user, defaults={"role": role})
    if not Token.objects.filter(digest=tokens.digest(demo.token)).exists():
        tokens.adopt(team, user, "demo", demo.token)
    for shape in _jobs(demo.target_url.rstrip("/"), clock.now()):
        _job(team, shape)


def _user(demo: Demo) -> User:
    """The person who signs in: staff, because the PeriodicTask rows are edited in the admin."""
    found = User.objects.filter(username=demo.username).first()
    if found is not None:
        return found
    made: User = User.objects.create_superuser(demo.username, password=demo.password)
    return made


def _jobs(target_url: str, now: datetime) -> Iterator[dict[str, Any]]:
    yield {
        "name": "hello",
        "description": "A task that is registered for jobs, every minute.",
        "schedule": {"cron": "* * * * *", "timezone": "UTC"},
        "target": {"type": "task", "name": "demo.hello", "kwargs": {"name": "Onebeat"}},
        "idempotent": True,
    }
    yield {
        "name": "rotate-certificate",
        "description": "An HTTP call every minute, safe to repeat: the target honours the key.",
        "schedule": {"cron": "* * * * *", "timezone": "UTC"},
        "target": {"type": "http", "url": f"{target_url}/", "body": {"certificate": "demo"}},
        "idempotent": True,
    }
    yield {
        "name": "settle-accounts",
        "description": "Not safe to repeat. Its target acts and then drops the connection, so "
        "that nobody can tell from here: each run ends in Review.",
        "runbook": "Look for the run's key in the target's ledger. Is it there as `acted`, the "
        "settlement happened; run it again only if it is not.",
        "schedule": {"cron": _every_five_minutes_from(now), "timezone": "UTC"},
        "target": {"type": "http", "url": f"{target_url}/drop", "body": {"account": "demo"}},
        "idempotent": False,
        "block_on_review": False,  # so that there is something new to see every five minutes
        "timeout": 30,
    }
    yield {
        "name": "close-the-year",
        "description": "A yearly job, paused.",
        "schedule": {"cron": "0 6 1 1 *", "timezone": "Europe/Berlin"},
        "target": {"type": "http", "url": f"{target_url}/", "body": {"close": "year"}},
        "idempotent": False,
        "paused": True,
        "paused_reason": "Resume it to see it wait for the new year.",
    }


def _every_five_minutes_from(now: datetime) -> str:
    """Every five minutes, beginning with the first minute at which the beats are surely up."""
    first = (now + _BEATS_ARE_UP).minute + 1
    return f"{first % 5}-59/5 * * * *"


def _job(team: Team, shape: dict[str, Any]) -> None:
    found = Job.objects.filter(team=team, name=shape["name"]).order_by("created_at").last()
    if found is not None and not _is_moved(found, shape):
        return
    if found is not None:
        shape = {**shape, "schedule": found.schedule}
    definition = definitions.read(shape, now=clock.now(), known=offer.offered())
    if found is None:
        editing.register(team, definition, by=None)
    else:
        editing.edit(found.id, definition, by=None)


def _is_moved(job: Job, shape: dict[str, Any]) -> bool:
    """Whether the example target has another address now, and nobody has edited the job."""
    if job.deleted_at is not None or job.target.get("url") == shape["target"].get("url"):
        return False
    return not JobVersion.objects.filter(job=job, by__isnull=False).exists()
