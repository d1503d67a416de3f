"""The pages of holds: which are on, begin one, see what waits, end it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from jobs import clock, holds
from jobs.models import Hold, Job, MaintenanceWindow, Team
from jobs.page_door import jobs_of, may_hold, page, person
from jobs.roles import Act
from runs.dashboard.live import polling
from runs.holds import letting_go
from runs.holds.forms import WORDS, EndForm, HoldForm

LISTED = 100  # jobs on the page of a hold, and holds that are over
_CHOSEN = 2_000  # jobs that one form may name


@page
@require_http_methods(["GET", "POST"])
def all_holds(request: HttpRequest) -> HttpResponse:
    """The holds that are on and were, and a form to begin one; `scope` in the address opens it
    with that chosen, so that who asked to hold everything does not hold a team."""
    teams = list(Team.objects.where(person(request).id, Act.OPERATE))
    whole = person(request).is_staff
    if request.method == "GET":
        asked = {"scope": request.GET.get("scope", "")}
        return _holds_page(request, HoldForm(teams=teams, whole=whole, initial=asked))
    if not teams and not whole:
        raise PermissionDenied
    form = HoldForm(request.POST, teams=teams, whole=whole)
    if form.is_valid():
        try:
            hold = holds.begin(
                form.team, form.pause.reason, by=person(request), until=form.pause.until
            )
        except holds.HeldAlready as there:
            form.add_error("scope", str(there))
        except holds.HoldError as error:
            form.add_error(error.field, f"{error.message} {error.hint}")
        else:
            messages.success(request, f"On hold: {hold.scope}. Nothing of it starts.")
            return redirect("hold", hold.id)
    return _holds_page(request, form, status=422)


@polling.poll
@require_GET
def holds_live(request: HttpRequest) -> HttpResponse:
    """The part of that page that changes: those that are on."""
    return polling.answer(request, "runs/_holds_on.html", _on(request))


@page
@require_http_methods(["GET", "POST"])
def one_hold(request: HttpRequest, hold_id: UUID) -> HttpResponse:
    """One hold: what waits for its end, and what will become of it."""
    hold = get_object_or_404(Hold.objects.where(person(request).id), id=hold_id)
    if request.method == "GET":
        return _hold_page(request, hold)
    if not may_hold(request, hold.team_id):
        raise PermissionDenied
    form = EndForm(request.POST, _jobs(request, hold).order_by("name")[:_CHOSEN])
    if form.problems:
        return _hold_page(request, hold, form, status=422)
    try:
        holds.end(hold.id, by=person(request), choices=form.choices, others=form.others)
    except holds.Over as over:
        messages.error(request, f"{over} Yours was not recorded.")
    else:
        messages.success(request, "The hold is over. What waited is let go now, job by job.")
    return redirect("hold", hold.id)


def _holds_page(request: HttpRequest, form: HoldForm, status: int = 200) -> HttpResponse:
    rows = Hold.objects.where(person(request).id).select_related("team", "by", "ended_by")
    context = {
        **_on(request),
        "over": rows.filter(ended_at__isnull=False)[:LISTED],
        "windows": MaintenanceWindow.objects.where(person(request).id).planned()[:LISTED],
        "form": form if form.fields["scope"].choices else None,  # type: ignore[attr-defined]
    }
    return render(request, "runs/holds.html", context, status=status)


def _on(request: HttpRequest) -> dict[str, Any]:
    on = list(Hold.objects.where(person(request).id).filter(ended_at=None))
    return polling.region(request, "holds-live", {"on": on}, seen=on)


def _hold_page(
    request: HttpRequest, hold: Hold, form: EndForm | None = None, status: int = 200
) -> HttpResponse:
    owing = letting_go.owing(_jobs(request, hold), hold).order_by("name", "id")
    now = clock.now()
    rows = [(job, letting_go.waiting(job, now)) for job in owing[:LISTED]]
    context = {
        "hold": hold,
        "windows": hold.windows.all(),
        "rows": rows,
        "more": max(0, owing.count() - LISTED) if len(rows) == LISTED else 0,
        "may_end": may_hold(request, hold.team_id) and hold.ended_at is None,
        "choices": WORDS,
        "problems": form.problems if form else (),
    }
    return render(request, "runs/hold.html", context, status=status)


def _jobs(request: HttpRequest, hold: Hold) -> QuerySet[Job]:
    """Of the installation's hold the staff, who may end it, see every team's."""
    if hold.team_id is None and person(request).is_staff:
        return Job.objects.filter(deleted_at=None).select_related("team")
    return jobs_of(request)
