"""What stands beside a form while it is filled in: the moments that it makes or leaves out."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from jobs import clock, editing, stored, typed_numbers
from jobs.definitions.definitions import DefinitionError
from jobs.foresight import foresight, previews
from jobs.forms import JobForm
from jobs.models import Job
from jobs.offer import offered
from jobs.page_door import fragment, job_for
from jobs.pause_forms import PauseForm
from jobs.roles import Act
from jobs.schedules.schedules import ScheduleError
from jobs.targets import previews as target_previews
from jobs.version_lines import Line, lines

SCHEDULE_FIELDS = (
    *("cron", "timezone", "dst", "every", "anchor", "at", "several"),
    *("starts_at", "ends_at", "calendar", "calendar_rule"),
)


@fragment
@require_GET
def job_preview(request: HttpRequest) -> HttpResponse:
    """The next moments of the schedule that is being typed, and what it changes in `?job=`."""
    now, job = clock.now(), _edited(request)
    found = foresight.with_others(previews.of_typed(request.GET, now, offered().calendars), job)
    context = {
        "preview": found,
        "schedule_fields": SCHEDULE_FIELDS,
        "partial": True,
        "job": job,
        "foresight": job and foresight.of_edit(job, found, now),
    }
    return render(request, "jobs/_preview.html", context)


@fragment
@require_POST
def job_filled(request: HttpRequest) -> HttpResponse:
    """What the target that is being typed calls at its next moment, how its attempts wait, and
    what saving would change. A POST, though it changes nothing: a body may be long, and a header
    secret, and addresses are written to logs."""
    job = _edited(request)
    coming = previews.of_typed(request.POST, clock.now(), offered().calendars)
    context = {
        "filled": target_previews.of_typed(request.POST, coming, str(job.id) if job else None),
        "waits": typed_numbers.waits_of(request.POST),
        "answer": request.POST.get("idempotent", ""),
        "changes": job and changes_of(job, JobForm(request.POST, **of_edit(job))),
        "job": job,
        "partial": True,
    }
    return render(request, "jobs/_filled.html", context)


_BESIDE = ("paused", "paused_until", "paused_reason", "skip_next", "skip_reason")


def of_edit(job: Job) -> dict[str, Any]:
    """What the form of an edit is told of its job. Raises ScheduleError where its zone is gone."""
    shape = stored.shape(job)
    return {"kept": stored.kept(job), "beside": {name: shape[name] for name in _BESIDE}}


def changes_of(job: Job, form: JobForm) -> list[Line] | None:
    """What saving the form would change of the job; None while the form is not in order."""
    if not form.is_bound or not form.is_valid():
        return None
    try:
        return lines(editing.would_change(job, form.definition))
    except DefinitionError:
        return None


@fragment
@require_GET
def job_pause_preview(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """What a pause of the job until `?until=` leaves out."""
    job = job_for(request, job_id, Act.OPERATE)
    context = {"job": job, "partial": True, **pause_context(job, PauseForm(request.GET))}
    return render(request, "jobs/_left_out.html", context)


def pause_context(job: Job, form: PauseForm) -> dict[str, object]:
    """What the dialog of a pause says; nothing where the job's zone is gone."""
    try:
        pausing = foresight.of_pause(job, form.end, clock.now())
    except ScheduleError:
        pausing = None
    return {"pause": form, "pausing": pausing}


def _edited(request: HttpRequest) -> Job | None:
    if "job" not in request.GET:
        return None
    try:
        return job_for(request, UUID(request.GET["job"]), Act.EDIT)
    except ValueError:
        raise Http404 from None
