"""Who signed in, and out: Django says so by signals alone."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out

from jobs import events
from jobs.models import User


def watch() -> None:
    """Put sign-ins and sign-outs on record from now on."""
    user_logged_in.connect(_signed_in, dispatch_uid="onebeat.signed_in")
    user_logged_out.connect(_signed_out, dispatch_uid="onebeat.signed_out")


def _signed_in(user: Any, **_: Any) -> None:
    events.record("person.signed_in", events.of_person(user), by=user)


def _signed_out(user: Any, **_: Any) -> None:
    if isinstance(user, User):
        events.record("person.signed_out", events.of_person(user), by=user)
