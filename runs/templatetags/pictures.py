"""Numbers and instants as pictures and addresses write them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse

from jobs import api_shapes
from jobs.models import Job
from jobs.schedules.instants import canonical_instant
from runs.dashboard import curl

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
    return curl.command("POST", address, moment and {"for": canonical_instant(moment)})


@register.simple_tag(takes_context=True)
def curl_register(context: Any, job: Job) -> str:
    """The command that registers a job like this one; its secrets are masked, to be typed anew."""
    address = context["request"].build_absolute_uri(reverse("api-jobs"))
    shape = api_shapes.of_job(job)
    told = (*api_shapes.TOLD, *_PASSING)
    return curl.command("POST", address, {k: v for k, v in shape.items() if k not in told})


# What says how the job stands, not what it is.
_PASSING = ("paused", "paused_until", "paused_reason", "skip_next", "skip_reason")
