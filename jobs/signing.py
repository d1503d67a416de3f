"""The secret by which a target can tell that a call is ours (Standard Webhooks)."""

from __future__ import annotations

import base64
import secrets
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from jobs import events, sealing
from jobs.models import Job, User

log = structlog.get_logger("onebeat.job")


def new_secret() -> str:
    """256 random bits as Standard Webhooks writes them."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def sealed(secret: str) -> str:
    """The form in which a job keeps it."""
    return sealing.seal(secret, settings.SEALING_KEYS)


def renew(job_id: UUID, *, by: User | None) -> str | None:
    """A new secret for the job, in clear for this once; runs from now on are signed with it.
    None when the job is gone. No edit: what the job does stays the same."""
    secret = new_secret()
    with transaction.atomic():
        found = Job.objects.filter(id=job_id, deleted_at=None)
        if not found.update(signing_secret=sealed(secret)):
            return None
        events.record("job.secret_renewed", events.of_job(found.get()), by=by)
    log.info("job.signing_secret_renewed", job=str(job_id), by=by and by.get_username())
    return secret
