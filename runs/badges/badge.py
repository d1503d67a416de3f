"""Badges: made, revoked, and told from their address.

The key in the address is 256 random bits, and only its digest is kept, as of a token: it opens
something to people who do not sign in, and who reads the database, a copy of it or the admin is not
to learn the addresses. A badge is pasted where it is read, so its address stands there; who lost it
makes another and revokes the old one, which costs nothing.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from unicodedata import normalize
from uuid import UUID

import structlog
from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from jobs import clock, events
from jobs.definitions import tag_words
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.models import Job, Team, User
from jobs.reading import hidden
from jobs.tokens.tokens import digest
from runs import subjects
from runs.arrays import array
from runs.dashboard.stances import job_stances
from runs.dashboard.stances.job_stances import OF_IDS, OF_TAG, OF_TEAM
from runs.dashboard.stances.stances import LOOKS, Stance, counted
from runs.models import Badge
from runs.models.badge import BadgeQuerySet

LONGEST = 60  # characters of a label
MOST = 200  # of a team
KEPT = 15  # seconds that a process remembers how a badge's jobs stand, however many ask

log = structlog.get_logger("onebeat.badge")


@dataclass(frozen=True)
class Content:
    """What a badge is of: one job, the jobs with a tag, or with neither all of the team; and the
    name that it shows."""

    team: Team
    label: str
    job: Job | None = None
    tag: str = ""


@dataclass(frozen=True)
class Told:
    """What a badge says. `since`: when the first run that waits for a person came to wait."""

    label: str
    words: str
    stance: Stance | None
    count: int = 0
    since: datetime | None = None


def read(team: Team, label: str, job: Job | None = None, tag: str = "") -> Content:
    """What a badge is to be; raises DefinitionError with what is wrong. The name is the maker's
    own, because everybody with the address reads it."""
    wanted, found = normalize("NFC", " ".join(label.split())), tag_words.read(tag) if tag else ""
    problems = []
    if not wanted or len(wanted) > LONGEST or hidden(wanted):
        hint = f"Give 1 to {LONGEST} characters that can be seen."
        problems.append(Problem("label", "is no name for a badge.", hint))
    if found is None:
        problems.append(Problem("tag", "is no tag.", tag_words.HINT))
    elif found and job:
        hint = "Name a job or a tag; neither of them stands for the whole team."
        problems.append(Problem("tag", "is given beside a job.", hint))
    if problems:
        raise DefinitionError(problems)
    return Content(team, wanted, job, found or "")


@transaction.atomic
def make(content: Content, *, by: User) -> tuple[Badge, str]:
    """A new badge, and the key of its address, which is nowhere kept. Raises DefinitionError where
    the team has as many as it may."""
    if Badge.objects.filter(team=content.team, revoked_at=None).count() >= MOST:
        hint = "Revoke one that nobody needs."
        raise DefinitionError([Problem("label", f"would be one more than {MOST}.", hint)])
    key = secrets.token_urlsafe(32)
    badge = Badge.objects.create(
        team=content.team,
        job=content.job,
        tag=content.tag,
        label=content.label,
        digest=digest(key),
        by=by,
        created_at=clock.now(),
    )
    events.record("badge.made", subjects.of_badge(badge), by=by, reason=f"Of {of_what(badge)}.")
    log.info("badge.made", badge=str(badge.id), team=content.team.slug, by=by.get_username())
    return badge, key


@transaction.atomic
def revoke(badge: Badge, *, by: User) -> bool:
    """Its address shows nothing from the next request on; False where it was revoked before."""
    revoked = Badge.objects.filter(id=badge.id, revoked_at=None).update(revoked_at=Now())
    if revoked:
        events.record("badge.revoked", subjects.of_badge(badge), by=by)
        log.info("badge.revoked", badge=str(badge.id), by=by.get_username())
    return bool(revoked)


def of_what(badge: Badge) -> str:
    """What it is of, for those who may know."""
    if badge.job:
        return f"the job {badge.job.name}"
    return f"the tag {badge.tag}" if badge.tag else f"the team {badge.team.slug}"


def told(key: str) -> Told | None:
    """What the badge of this key says at most KEPT seconds ago; None for one that is unknown or
    revoked, or whose job is deleted: which of them, nobody is told. The badge itself is looked up
    at each request."""
    there = Q(job=None) | Q(job__deleted_at=None)
    badge = Badge.objects.filter(there, digest=digest(key), revoked_at=None).first()
    if badge is None:
        return None
    kept: Told | None = cache.get(name := f"badge-{badge.id}")
    if kept is None:
        cache.set(name, kept := _look(badge), KEPT)
    return kept


def _look(badge: Badge) -> Told:
    found = job_stances.together(*_which(badge))
    stance = found.stance
    if stance is None:
        return Told(badge.label, "no jobs", None)
    words = LOOKS[stance].word.lower() if badge.job_id else counted(stance, found.count)
    return Told(badge.label, words, stance, found.count, found.since)


def _which(badge: Badge) -> tuple[str, dict[str, Any]]:
    if badge.job_id:
        return OF_IDS, {"jobs": array([badge.job_id])}
    if badge.tag:
        return OF_TAG, {"team": badge.team_id, "tags": json.dumps([badge.tag])}
    return OF_TEAM, {"team": badge.team_id}


def of(user_id: int, job_id: UUID | None = None) -> BadgeQuerySet:
    """The badges that stand, newest first, of the teams whose jobs this person reads."""
    rows = Badge.objects.where(user_id).filter(revoked_at=None)
    rows = rows.filter(job=job_id) if job_id else rows
    found: BadgeQuerySet = rows.select_related("team", "job", "by").order_by("-created_at", "id")
    return found
