"""The page on which many jobs are paused, resumed or tagged: look at which, say why, see what
became of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from jobs import bulk, clock
from jobs.bulk import Differs, Do, Result, TooMany
from jobs.models import Job, Team
from jobs.page_door import jobs_of, page, person
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.many import forms as many_forms
from runs.dashboard.many.forms import ManyForm, PauseManyForm

LISTED = 100  # of those that are meant, by name


@page
@require_http_methods(["GET", "POST"])
def many(request: HttpRequest) -> HttpResponse:
    """The ticked jobs, or those that the filter in the address finds as of now; POST does it."""
    asked = request.GET.get("ticked") or request.GET.get("do")
    do = Do(asked) if asked in list(Do) else Do.PAUSE
    if not Team.objects.where(person(request).id, do.act).exists():
        raise PermissionDenied
    if request.method == "GET":
        return _look(request, do)
    if "undo" in request.POST:
        return _undo(request)
    form = many_forms.FORMS[do](request.POST)
    sound = form.is_valid()
    if not form.says_which:
        return _unclear(request)
    if not sound:
        return _page(request, do, form, 422)
    try:
        ids = _chosen(request, do, form)
        results = _done(request, do, form, ids)
    except Differs as differs:
        messages.error(request, str(differs))
        return redirect(_here(request))
    except TooMany as many:
        messages.error(request, f"{many} Nothing was done.")
        return redirect("jobs")
    return _results(request, do, results)


def _look(request: HttpRequest, do: Do) -> HttpResponse:
    """What is meant just now, before anything is done."""
    if "ticked" in request.GET:
        ids = [one for one in map(_uuid, request.GET.getlist("job")[: bulk.MOST]) if one]
        begun: dict[str, str] = many_forms.of_ticked(ids)
        if not ids:
            messages.error(request, "Tick the jobs that you mean. Nothing was done.")
            return redirect(f"{reverse('jobs')}{_asked(request).address}")
    else:
        as_of = clock.now()
        count = bulk.meant(_rows(request, do), do, as_of)[: bulk.MOST + 1].count()
        if count > bulk.MOST:
            messages.error(request, f"{TooMany()} Nothing was done.")
            return redirect(f"{reverse('jobs')}{_asked(request).address}")
        begun = many_forms.of_found(count, as_of)
    return _page(request, do, many_forms.FORMS[do](initial=begun))


def _chosen(request: HttpRequest, do: Do, form: ManyForm) -> list[UUID]:
    """The ids that a valid form means. Raises Differs, TooMany."""
    said = form.cleaned_data
    if said["jobs"]:
        return list(said["jobs"])
    return bulk.found(_rows(request, do), do, said["as_of"], said["expected"])


def _done(request: HttpRequest, do: Do, form: ManyForm, ids: Sequence[UUID]) -> list[Result]:
    if isinstance(form, PauseManyForm):
        return bulk.pause(ids, form.pause, by=person(request))
    if do is Do.RESUME:
        return bulk.resume(ids, by=person(request))
    change = bulk.tag if do is Do.TAG else bulk.untag
    return change(ids, form.cleaned_data["tags"], by=person(request))


def _undo(request: HttpRequest) -> HttpResponse:
    """Resume what has just been paused, where nobody has changed it since."""
    seen = many_forms.undone(request.POST)
    results = bulk.resume(list(seen), by=person(request), seen=seen)
    return _results(request, Do.RESUME, results)


def _rows(request: HttpRequest, do: Do) -> QuerySet[Job]:
    """What the filter in the address finds of what this person may change so."""
    asked, rows = _asked(request), jobs_of(request, do.act)
    return asked.applied(rows, person(request).id) if asked.is_valid() else rows.none()


def _asked(request: HttpRequest) -> JobFilter:
    return JobFilter(request.GET)


def _here(request: HttpRequest) -> str:
    return f"{reverse('jobs-many')}?{request.GET.urlencode()}"


def _unclear(request: HttpRequest) -> HttpResponse:
    messages.error(request, "It is not clear which jobs are meant. Nothing was done.")
    return redirect("jobs")


def _page(request: HttpRequest, do: Do, form: ManyForm, status: int = 200) -> HttpResponse:
    ids = [one for one in map(_uuid, str(form["jobs"].value() or "").split()) if one]
    ticked = jobs_of(request, do.act).filter(id__in=ids[: bulk.MOST])
    rows = ticked if ids else bulk.meant(_rows(request, do), do, clock.now())
    context = {
        "do": do,
        "form": form,
        "count": form.count,
        "jobs": rows.select_related("team", "due").order_by("name", "id")[:LISTED],
        "more": max(0, form.count - LISTED),
        "filter": _asked(request),
        "back": _asked(request).address,
    }
    return render(request, "dashboard/many.html", context, status=status)


_DID = {Do.PAUSE: "paused", Do.RESUME: "resumed", Do.TAG: "tagged", Do.UNTAG: "untagged"}


def _results(request: HttpRequest, do: Do, results: list[Result]) -> HttpResponse:
    ids = [result.job_id for result in results]
    names = {job.id: job for job in jobs_of(request).filter(id__in=ids).select_related("team")}
    done = [result for result in results if result.done]
    context: dict[str, Any] = {
        "do": do,
        "did": _DID[do],
        "results": [(names.get(result.job_id), result) for result in results],
        "done": len(done),
        "undo": " ".join(f"{one.job_id}:{one.version}" for one in done),
        "back": _asked(request).address,
    }
    return render(request, "dashboard/many_done.html", context)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
