"""The two ways to a channel: mail, and a signed webhook through the egress."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from standardwebhooks import Webhook

from jobs import sealing
from jobs.targets.addresses import AllowList
from runs import evidence
from runs.channels import messages
from runs.models import Channel
from runs.models.channel import MAIL
from runs.targets import egress

WITHIN = 10.0  # seconds for a whole call
_KEEP = 500  # bytes of an answer


class NotTaken(Exception):
    """The other side did not say yes; the text says what it did. `gone`: nor ever will."""

    def __init__(self, said: str, *, gone: bool = False) -> None:
        super().__init__(said)
        self.gone = gone


def to(
    channel: Channel,
    told: Sequence[messages.Message],
    *,
    id: UUID,
    at: datetime,
    now: datetime,
) -> str:
    """Send these messages as one, under this id, to the channel; what the other side said. Raises
    NotTaken. `at`: when the sending was made, the same at each try; `now` stamps a signature.
    Asks no database."""
    if channel.way == MAIL:
        return _mail(channel, told, id)
    return _webhook(channel, told, id, at, now)


def call(
    method: str, url: str, headers: Mapping[str, str], content: bytes | None, *, secret: str = ""
) -> str:
    """One request through the egress; what came back, for people. Raises NotTaken for anything
    but a 2xx."""
    allow = AllowList.parse(settings.EGRESS_ALLOW)
    try:
        with egress.prepare(url, allow=allow, deadline=time.monotonic() + WITHIN) as line:
            answer = line.send(method, headers, content, keep=_KEEP)
    except (egress.NotSent, egress.Broken) as error:
        raise NotTaken(error.reason) from error
    said = _said(answer, secret)
    if not 200 <= answer.status < 300:
        raise NotTaken(said, gone=answer.status == 410)
    return said


def _webhook(
    channel: Channel, told: Sequence[messages.Message], id: UUID, at: datetime, now: datetime
) -> str:
    try:
        secret = sealing.unseal(channel.secret, settings.SEALING_KEYS)
    except sealing.SealingError as error:
        raise NotTaken("Its secret cannot be opened: make a new one.") from error
    text = json.dumps(messages.body(told, settings.URL, id=str(id), at=at), ensure_ascii=False)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Onebeat",
        "webhook-id": str(id),
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(str(id), now, text),
    }
    return call("POST", channel.address, headers, text.encode(), secret=secret)


def _mail(channel: Channel, told: Sequence[messages.Message], id: UUID) -> str:
    if not settings.EMAIL_URL:
        raise NotTaken("This installation sends no mail: EMAIL_URL is not set.")
    host = urlsplit(settings.URL).hostname or "onebeat.invalid"
    headers: dict[str, Any] = {
        "Message-ID": f"<{id}@{host}>",
        "Auto-Submitted": "auto-generated",
    }
    mail = EmailMessage(
        messages.subject(told),
        messages.text(told, settings.URL),
        to=channel.addresses,
        headers=headers,
    )
    try:
        mail.send()
    except (OSError, ValueError) as error:  # every error of smtplib is an OSError
        raise NotTaken(_of_mail(error)) from error
    return "The mail server took it."


def _of_mail(error: Exception) -> str:
    """What went wrong, without the words of an error that might hold a password."""
    code = getattr(error, "smtp_code", "")
    return evidence.sentence(f"The mail server did not take it: {type(error).__name__} {code}")


def _said(answer: egress.Answer, secret: str) -> str:
    body = answer.body_excerpt.decode("utf-8", "replace")
    return evidence.sentence(f"{answer.status} {evidence.redact(body, [secret] if secret else [])}")
