"""Numbers and instants as pictures and addresses write them."""

from __future__ import annotations

import json
from datetime import datetime
from shlex import quote
from typing import Any

from django import template
from django.urls import reverse

from jobs.instants import canonical_instant
from jobs.models import Job

register = template.Library()


@register.filter
def short(count: int) -> str:
    """A number that fits into a cell: `980`, `1.2k`, `14k`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 9_950 else f"{count / 1_000:.0f}k"


@register.filter
def canonical(at: datetime) -> str:
    """An instant for an address."""
    return canonical_instant(at)


@register.simple_tag(takes_context=True)
def curl_run_now(context: Any, job: Job, moment: datetime | None = None) -> str:
    """The command that runs the job now, or for a moment; the token stands in a variable of the
    shell."""
    address = context["request"].build_absolute_uri(reverse("api-job-run", args=[job.id]))
    parts = ["curl -X POST", '-H "Authorization: Token $ONEBEAT_TOKEN"']
    if moment is not None:
        body = json.dumps({"for": canonical_instant(moment)})
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(body)}"]
    return " ".join([*parts, quote(address)])
