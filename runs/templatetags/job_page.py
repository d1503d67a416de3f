"""What the page of a job shows of its runs: the pages of jobs know nothing of them themselves."""

from __future__ import annotations

from typing import Any

from django import template

from jobs import clock
from jobs.models import Job
from runs.dashboard import activity, month, why
from runs.dashboard.activity import Activity
from runs.dashboard.why import Why

register = template.Library()


@register.simple_tag
def why_not(job: Job) -> Why:
    """Why the job has not run."""
    return why.of_job(job, clock.now())


@register.simple_tag
def activity_of(job: Job) -> Activity:
    """Its newest runs as pictures."""
    return activity.of_job(job)


@register.simple_tag(takes_context=True)
def month_of(context: Any, job: Job) -> month.Month:
    """The month that `?month=` names, in the reader's zone."""
    asked = context["request"].GET.get("month", "")
    return month.of_job(job, clock.now(), context["reader_zone"], asked)
