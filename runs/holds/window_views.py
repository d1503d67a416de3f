"""The pages of maintenance windows: plan one, see what falls into it, change it, cancel it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import clock, maintenance, reader
from jobs.holds import HoldError
from jobs.maintenance import NotPlanned
from jobs.models import Job, MaintenanceWindow, Team
from jobs.page_door import fragment, jobs_of, may_hold, page, person
from jobs.roles import Act
from runs.dashboard.upcoming import falling
from runs.holds.window_forms import WindowForm, typed_of


@page
@require_http_methods(["GET", "POST"])
def new_window(request: HttpRequest) -> HttpResponse:
    """Plan maintenance."""
    form = _form(request, request.POST if request.method == "POST" else None)
    if request.method == "GET":
        return _form_page(request, form)
    if "look" in request.POST or not form.is_valid():
        return _form_page(request, form, status=200 if "look" in request.POST else 422)
    begins_at, ends_at = form.cleaned_data["from"], form.cleaned_data["until"]
    try:
        reason, by = form.pause.reason, person(request)
        window = maintenance.plan(form.team, reason, begins_at, ends_at, by=by)
    except HoldError as error:
        form.add_error(error.field, f"It {error.message} {error.hint}")
        return _form_page(request, form, status=422)
    messages.success(request, f"Maintenance of {window.scope} is planned.")
    return redirect("window", window.id)


@fragment
@require_GET
def window_preview(request: HttpRequest) -> HttpResponse:
    """What falls into the window that is being typed."""
    form = _form(request, request.GET)
    context = {"falls": _falls(request, form), "form": form, "partial": True}
    return render(request, "runs/_window_falls.html", context)


@page
@require_http_methods(["GET", "POST"])
def one_window(request: HttpRequest, window_id: UUID) -> HttpResponse:
    """One window, and the form to change it while it is planned."""
    window = _window(request, window_id)
    if request.method == "GET":
        return _window_page(request, window)
    _demand(request, window)
    form = _form(request, request.POST, window)
    if "look" in request.POST or not form.is_valid():
        return _window_page(request, window, form, 200 if "look" in request.POST else 422)
    begins_at, ends_at = form.cleaned_data["from"], form.cleaned_data["until"]
    try:
        reason, by = form.pause.reason, person(request)
        maintenance.change(window.id, reason, begins_at, ends_at, by=by)
    except NotPlanned as error:
        return _refused(request, window, error)
    except HoldError as error:
        form.add_error(error.field, f"It {error.message} {error.hint}")
        return _window_page(request, window, form, status=422)
    messages.success(request, f"The maintenance of {window.scope} is changed.")
    return redirect("window", window.id)


@page
@require_POST
def cancel_window(request: HttpRequest, window_id: UUID) -> HttpResponse:
    """Cancel a window that has not begun."""
    window = _window(request, window_id)
    _demand(request, window)
    try:
        maintenance.cancel(window.id, by=person(request))
    except NotPlanned as error:
        return _refused(request, window, error)
    messages.success(request, f"The maintenance of {window.scope} is cancelled. Nothing waits.")
    return redirect("window", window.id)


def _window_page(
    request: HttpRequest,
    window: MaintenanceWindow,
    form: WindowForm | None = None,
    status: int = 200,
) -> HttpResponse:
    may = window.state == "planned" and may_hold(request, window.team_id)
    if may and form is None:
        form = _form(request, typed_of(window, reader.zone_of(request)), window)
    context = {
        "window": window,
        "form": form if may else None,
        "falls": _planned_falls(request, window, form if may else None),
    }
    return render(request, "runs/window.html", context, status=status)


def _form_page(request: HttpRequest, form: WindowForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "falls": _falls(request, form)}
    return render(request, "runs/window_form.html", context, status=status)


def _form(request: HttpRequest, data: Any, window: MaintenanceWindow | None = None) -> WindowForm:
    """For whom may hold something; of a window that is there its scope stays."""
    teams = list(Team.objects.where(person(request).id, Act.OPERATE))
    whole = person(request).is_staff
    if not teams and not whole:
        raise PermissionDenied
    zone = reader.zone_of(request)
    if window is not None:
        data = {**dict(data.items()), "scope": typed_of(window, zone)["scope"]}
    kept = window.begins_at if window else None
    return WindowForm(data, teams=teams, whole=whole, zone=zone, kept=kept)


def _falls(request: HttpRequest, form: WindowForm) -> falling.Falling | None:
    """What falls into the times of a form; None while they are not known, or make no window."""
    if not form.is_bound or form.times is None or "scope" in form.errors:
        return None
    return falling.into(_jobs(request, form.team), clock.now(), *form.times)


def _planned_falls(
    request: HttpRequest, window: MaintenanceWindow, form: WindowForm | None
) -> falling.Falling | None:
    if form is not None:
        return _falls(request, form)
    if window.state != "planned":
        return None
    jobs = _jobs(request, window.team)
    return falling.into(jobs, clock.now(), window.begins_at, window.ends_at)


def _jobs(request: HttpRequest, team: Team | None) -> QuerySet[Job]:
    """Of the installation's window the staff, who may plan it, count every team's jobs."""
    if team is not None:
        return jobs_of(request).filter(team=team)
    if person(request).is_staff:
        return Job.objects.filter(deleted_at=None)
    return jobs_of(request)


def _refused(request: HttpRequest, window: MaintenanceWindow, error: Exception) -> HttpResponse:
    messages.error(request, str(error))
    return redirect("window", window.id)


def _window(request: HttpRequest, window_id: UUID) -> MaintenanceWindow:
    rows = MaintenanceWindow.objects.where(person(request).id)
    found: MaintenanceWindow = get_object_or_404(rows, id=window_id)
    return found


def _demand(request: HttpRequest, window: MaintenanceWindow) -> None:
    if not may_hold(request, window.team_id):
        raise PermissionDenied
