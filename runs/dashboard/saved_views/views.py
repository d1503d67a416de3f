"""The pages of saved views: save one, change it, delete it; and where a person begins."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs.models import Team
from jobs.page_door import page, person
from jobs.roles import Act
from runs.dashboard.finding.filters import Query, address_of
from runs.dashboard.saved_views import saved_views
from runs.dashboard.saved_views.form import ViewForm
from runs.dashboard.saved_views.saved_views import NotYours, Refused
from runs.models import SavedView


@page
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Where this person begins."""
    view = saved_views.home_of(person(request))
    return redirect(saved_views.address(view) if view else "home")


@page
@require_http_methods(["GET", "POST"])
def view_new(request: HttpRequest) -> HttpResponse:
    """Save the filter that stands in the address, of the list that it names as `page`."""
    given = {name: request.GET.getlist(name) for name in request.GET if name != "page"}
    given.pop("cursor", None)
    try:
        content = saved_views.read(request.GET.get("page", ""), "new", given)
    except Refused as refused:
        messages.error(request, f"This cannot be saved: {refused} Nothing was saved.")
        return redirect("jobs")
    form = ViewForm(request.POST or None, teams=_teams(request))
    if request.method == "POST" and form.is_valid():
        view = _saved(request, form, content.page, content.query, None)
        if view:
            messages.success(request, f"Saved as “{view.name}”.")
            return redirect(saved_views.address(view))
    return _form_page(request, form, content.page, content.query)


@page
@require_http_methods(["GET", "POST"])
def view(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Rename a view, share it, begin with it; who may not change it may begin with it."""
    found = _view_for(request, view_id)
    home = saved_views.home_of(person(request)) == found
    typed = {"name": found.name, "team": found.team.slug if found.team else "", "home": home}
    teams = _teams(request)
    if found.team and found.team not in teams:
        teams.append(found.team)
    form = ViewForm(request.POST or None, teams=teams, initial=typed)
    if request.method == "POST" and not saved_views.may_change(found, person(request)):
        _begin(request, found, "home" in request.POST)
        return redirect(saved_views.address(found))
    sent = request.method == "POST" and form.is_valid()
    if sent and _saved(request, form, found.page, found.query, found):
        messages.success(request, f"The view “{found.name}” is changed.")
        return redirect(saved_views.address(found))
    return _form_page(request, form, found.page, found.query, found)


@page
@require_POST
def view_delete(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Delete a view; the jobs and runs that it shows stay."""
    found = _view_for(request, view_id)
    try:
        saved_views.delete(found, by=person(request))
    except NotYours as theirs:
        raise PermissionDenied(str(theirs)) from None
    messages.success(request, f"The view “{found.name}” is deleted.")
    return redirect(found.page)


def _saved(
    request: HttpRequest, form: ViewForm, page: str, query: Query, found: SavedView | None
) -> SavedView | None:
    """The view as the form says; None where the form shows why not."""
    try:
        content = saved_views.read(page, form.cleaned_data["name"], query, form.team_chosen)
        if found is None:
            saved = saved_views.save(content, by=person(request))
        else:
            saved = saved_views.change(found, content, by=person(request))
    except Refused as refused:
        form.refuse(refused.problems)
        return None
    except NotYours as theirs:
        form.add_error("team", str(theirs))
        return None
    _begin(request, saved, form.cleaned_data["home"])
    return saved


def _begin(request: HttpRequest, found: SavedView, wanted: bool) -> None:
    is_home = saved_views.home_of(person(request)) == found
    if wanted != is_home:
        saved_views.begin_with(found if wanted else None, by=person(request))


def _view_for(request: HttpRequest, view_id: UUID) -> SavedView:
    rows = SavedView.objects.where(person(request).id).select_related("team", "owner")
    return get_object_or_404(rows, id=view_id)


def _teams(request: HttpRequest) -> list[Team]:
    return list(Team.objects.where(person(request).id, Act.OPERATE))


def _form_page(
    request: HttpRequest, form: ViewForm, page: str, query: Query, found: SavedView | None = None
) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "view": found,
        "page": page,
        "asked": saved_views.FILTERS[page](QueryDict(address_of(query)[1:])),
        "back": saved_views.address(found) if found else None,
        "may_change": found is None or saved_views.may_change(found, person(request)),
    }
    status = 422 if form.errors else 200
    return render(request, "dashboard/view.html", context, status=status)
