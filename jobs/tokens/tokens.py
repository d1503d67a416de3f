"""API tokens: issued, revoked, and told from the Authorization header.

A token is `ob_`, eight characters by which people tell it from others, and 256 random bits. The
database holds the SHA-256 of the whole alone; the clear text is shown once.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from jobs import events, whence
from jobs.models import Team, Token, User
from jobs.roles import Act

PREFIX_LENGTH = 11  # `ob_` and eight characters
_LISTED = 200
_USE_IS_NOTED_EVERY = timedelta(minutes=1)

log = structlog.get_logger("onebeat.token")


@transaction.atomic
def issue(
    team: Team, user: User, name: str, expires_at: datetime | None = None, *, by: User | None = None
) -> tuple[Token, str]:
    """A new token of this person for this team, and its clear text, which is nowhere kept. `by`:
    who issues it."""
    secret = f"ob_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    token = Token.objects.create(
        team=team,
        user=user,
        name=name,
        prefix=secret[:PREFIX_LENGTH],
        digest=digest(secret),
        expires_at=expires_at,
    )
    events.record("token.issued", events.of_token(token), by=by, reason=_whose(token))
    log.info("token.issued", token=token.prefix, team=team.slug, user=user.get_username())
    return token, secret


@transaction.atomic
def adopt(team: Team, user: User, name: str, secret: str) -> Token:
    """The token whose clear text was chosen elsewhere (by an installation that writes it into a
    file of its own); doing so again changes nothing but whose it is."""
    token, _ = Token.objects.update_or_create(
        digest=digest(secret),
        defaults={
            "team": team,
            "user": user,
            "name": name,
            "prefix": secret[:PREFIX_LENGTH],
            "revoked_at": None,
        },
    )
    events.record("token.issued", events.of_token(token), by=None, reason=_whose(token))
    return token


@transaction.atomic
def revoke(token_id: UUID, *, by: User | None = None) -> bool:
    """The token refused from the next request on; False when it was revoked before."""
    revoked = Token.objects.filter(id=token_id, revoked_at=None).update(revoked_at=Now())
    if revoked:
        token = Token.objects.select_related("user").get(id=token_id)
        events.record("token.revoked", events.of_token(token), by=by, reason=_whose(token))
        log.info("token.revoked", token=str(token_id))
    return bool(revoked)


def revocable(user: User) -> QuerySet[Token]:
    """The tokens that this person may revoke: their own, and those of the teams that they
    administer; the newest first, and at most so many as a page holds."""
    theirs = Q(user=user) | Q(team__in=Team.objects.where(user.id, Act.ADMINISTER))
    rows = Token.objects.filter(theirs, revoked_at=None).select_related("team", "user")
    return rows.order_by("-created_at", "id")[:_LISTED]


def holding(secret: str) -> Token | None:
    """The token of this clear text, if it opens anything at this moment: neither revoked nor
    expired, its person active and still a member of its team."""
    return (
        Token.objects.filter(
            Q(expires_at=None) | Q(expires_at__gt=Now()),
            digest=digest(secret),
            revoked_at=None,
            user__is_active=True,
            team__membership__user=F("user"),
        )
        .select_related("user", "team")
        .first()
    )


def digest(secret: str) -> str:
    """The SHA-256 under which a token is kept, in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Token …`, and nothing else: request.user is the token's person,
    request.auth the token. Membership and expiry are read anew at each request."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        """Who asks; None where the header is missing or of another kind, and so nobody."""
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "token":
            return None
        token = holding(secret.strip())
        if token is None:
            raise AuthenticationFailed("The token is unknown, expired or revoked.")
        _note_use(token)
        whence.narrow(token=token.prefix)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """What a 401 tells to send."""
        return 'Token realm="onebeat"'


def _whose(token: Token) -> str:
    return f"Acts for {token.user.get_username()}."


def _note_use(token: Token) -> None:
    """Once a minute at most: a busy client must not write a row at each request."""
    stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - _USE_IS_NOTED_EVERY)
    Token.objects.filter(stale, id=token.id).update(last_used_at=Now())
