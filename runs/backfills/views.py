"""The pages of backfills: choose a range, look what it holds, begin, watch, stop."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import editing
from jobs.definitions.definitions import DefinitionError
from jobs.models import Job
from jobs.page_door import acts, demand, job_for, page, person
from jobs.roles import Act
from jobs.schedules.errors import ScheduleError
from runs.backfills import backfill, span
from runs.backfills.forms import BackfillForm
from runs.dashboard.live import polling
from runs.models import Backfill
from runs.page_door import listed
from runs.states import RESTING, UNDER_WAY, State

_SHOWN = 10  # runs, and backfills of a job


@page
@require_http_methods(["GET", "POST"])
def job_backfill(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Choose a range; with one in the address, what it holds; POST begins."""
    job = job_for(request, job_id, Act.OPERATE)
    if request.method == "POST":
        return _begin(request, job, BackfillForm(request.POST, job=job))
    form = BackfillForm(request.GET or None, job=job)
    return _form_page(request, job, form)


@page
@require_GET
def backfill_page(request: HttpRequest, backfill_id: UUID) -> HttpResponse:
    """One backfill: how far it has come."""
    found = _backfill_for(request, backfill_id)
    context = {**_progress(request, found), "acts": acts(request, found.job.team_id)}
    return render(request, "runs/backfill.html", context)


@polling.poll
@require_GET
def backfill_progress(request: HttpRequest, backfill_id: UUID) -> HttpResponse:
    """The part of that page that changes."""
    found = _backfill_for(request, backfill_id)
    return polling.answer(request, "runs/_backfill.html", _progress(request, found))


@page
@require_POST
def backfill_stop(request: HttpRequest, backfill_id: UUID) -> HttpResponse:
    """Stop a backfill."""
    found = _backfill_for(request, backfill_id, Act.OPERATE)
    was_open = found.is_open
    found = backfill.stop(found.id, by=person(request))
    if was_open:
        messages.success(request, "Stopped. It makes no more runs; those under way go on.")
    else:
        messages.error(request, f"The backfill was {found.state} already.")
    return redirect("backfill", found.id)


def _begin(request: HttpRequest, job: Job, form: BackfillForm) -> HttpResponse:
    if not form.is_valid():
        return _form_page(request, job, form, status=422)
    how = {name: form.cleaned_data[name] for name in ("reverse", "max_active")}
    try:
        found = backfill.begin(job.id, form.range, by=person(request), **how)
    except editing.Gone:
        messages.error(request, f"Somebody deleted {job.name} meanwhile. Nothing was begun.")
        return redirect("jobs")
    except backfill.AlreadyOpen as there:
        messages.error(request, f"Nothing was begun. {there}")
        return redirect("backfill", there.backfill.id)
    except (DefinitionError, ScheduleError):
        return _form_page(request, job, form, status=422)  # which says it
    messages.success(request, "The backfill has begun.")
    return redirect("backfill", found.id)


def _form_page(
    request: HttpRequest, job: Job, form: BackfillForm, status: int = 200
) -> HttpResponse:
    context = {
        "job": job,
        "form": form,
        "preview": _preview(job, form) if form.is_bound and form.is_valid() else None,
        "open": Backfill.objects.filter(job=job, state="open").first(),
        "earlier": Backfill.objects.filter(job=job).select_related("by")[:_SHOWN],
    }
    return render(request, "runs/backfill_form.html", context, status=status)


def _preview(job: Job, form: BackfillForm) -> span.Preview | None:
    """What the range holds; None where the form says what is wrong with it."""
    try:
        return span.preview(job, form.range)
    except DefinitionError as error:
        form.refuse(error.problems)
    except ScheduleError as error:
        form.add_error(None, str(error))
    return None


def _backfill_for(request: HttpRequest, backfill_id: UUID, act: Act = Act.READ) -> Backfill:
    """The backfill, for this. Another team's is 404; without leave, 403."""
    found = get_object_or_404(Backfill.objects.where(person(request).id), id=backfill_id)
    demand(request, found.job.team_id, act)
    return found


def _progress(request: HttpRequest, found: Backfill) -> dict[str, Any]:
    counts = backfill.counts(found)
    under_way = sum(counts.get(state, 0) for state in UNDER_WAY)
    context = {
        "backfill": found,
        "job": found.job,
        "counts": [(state, counts[state]) for state in State if state in counts],
        "under_way": under_way,
        "resting": sum(counts.get(state, 0) for state in RESTING),
        "left": max(0, found.moments - found.made - found.passed),
        "dealt_with": min(found.moments, max(0, found.made + found.passed - under_way)),
        "runs": listed(request).filter(backfill=found)[:_SHOWN],
        "every": 2 if found.is_open or under_way else 0,
    }
    seen = [context[name] for name in ("backfill", "counts", "runs")]
    return polling.region(request, "backfill-progress", context, seen=seen, backfill_id=found.id)
