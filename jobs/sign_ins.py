"""Who signed in, and out, and who was refused: Django says so by signals alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import structlog
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.functions import Now

from jobs import events
from jobs.events import Subject
from jobs.models import AuditEvent, User
from jobs.models.audit_event import NAME_LENGTH

REFUSED = "person.refused"
MOST_REFUSED = 60  # a minute: who guesses passwords is not to fill what nobody can delete

log = structlog.get_logger("onebeat.sign_in")


def watch() -> None:
    """Put sign-ins, also those that are refused, and sign-outs on record from now on."""
    user_logged_in.connect(_signed_in, dispatch_uid="onebeat.signed_in")
    user_logged_out.connect(_signed_out, dispatch_uid="onebeat.signed_out")
    user_login_failed.connect(_refused, dispatch_uid="onebeat.refused")


def _signed_in(user: Any, **_: Any) -> None:
    events.record("person.signed_in", events.of_person(user), by=user)


def _signed_out(user: Any, **_: Any) -> None:
    if isinstance(user, User):
        events.record("person.signed_out", events.of_person(user), by=user)


def _refused(credentials: Mapping[str, object], **_: Any) -> None:
    """The name as it was typed, whether anybody has it or not; the staff's to read alone. It may
    be a password in the wrong field: the log does not have it."""
    name = str(credentials.get(User.USERNAME_FIELD, ""))[:NAME_LENGTH]
    log.warning(REFUSED)
    rows = AuditEvent.objects.filter(team=None, verb=REFUSED).order_by("-id")
    last_but_most = rows.values("id")[MOST_REFUSED - 1 : MOST_REFUSED]
    within = {"id__in": last_but_most, "at__gt": Now() - timedelta(minutes=1)}
    if not AuditEvent.objects.filter(**within).exists():
        events.record(REFUSED, Subject("user", "", name), by=None)
