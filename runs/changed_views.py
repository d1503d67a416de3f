"""The page that runs a job with changes: prefilled from the job, or from one of its runs."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods

from jobs import editing, reader
from jobs.definitions.errors import Problem
from jobs.models import Job
from jobs.page_door import job_for, page, person
from jobs.roles import Act
from jobs.targets.shapes import TargetError
from runs import by_hand, changed
from runs.changed import Changes
from runs.forms import ChangedForm
from runs.models import Run
from runs.page_door import runs_of
from runs.templatetags.told import link_to


@page
@require_http_methods(["GET", "POST"])
def run_changed(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Run a job once with another payload. `like`: the run that it is prefilled from."""
    job = job_for(request, job_id, Act.EDIT)
    like = _like(request, job)
    shown = changed.parts_of(job, like)
    if request.method == "GET":
        return _page(request, ChangedForm(job, shown=shown), like)
    form = ChangedForm(job, request.POST, shown=shown)
    if not form.is_valid():
        return _page(request, form, like, status=422)
    return _start(request, form, like)


def _start(request: HttpRequest, form: ChangedForm, like: Run | None) -> HttpResponse:
    job, changes = form.job, Changes(form.parts, like.id if like else None)
    try:
        run = by_hand.run_now(job.id, by=person(request), changes=changes)
    except editing.Gone:
        messages.error(request, f"Somebody deleted {job.name} meanwhile. Nothing was run.")
        return redirect("jobs")
    except TargetError as wrong:
        form.refuse(Problem(wrong.field, wrong.message, wrong.hint))
        return _page(request, form, like, status=422)
    except (by_hand.Busy, by_hand.Held) as found:
        form.add_error(None, str(found))
        busy = found.run if isinstance(found, by_hand.Busy) else None
        return _page(request, form, like, status=409, busy=busy)
    said = f"A run of {job.name} with changes is on its way."
    messages.success(request, format_html("{} {}", said, link_to(run, reader.zone_of(request))))
    return redirect("run", run.id)


def _like(request: HttpRequest, job: Job) -> Run | None:
    """The run of this job that the page was opened from; None: from none."""
    given = (request.POST if request.method == "POST" else request.GET).get("like", "")
    try:
        return runs_of(request).filter(job=job, id=UUID(given)).first()
    except ValueError:
        return None


def _page(
    request: HttpRequest,
    form: ChangedForm,
    like: Run | None,
    *,
    status: int = 200,
    busy: Run | None = None,
) -> HttpResponse:
    job = form.job
    context = {"job": job, "form": form, "like": like, "target": job.target, "busy": busy}
    return render(request, "runs/run_changed.html", context, status=status)
