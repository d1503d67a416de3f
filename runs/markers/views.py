"""The page of markers: what changed and when, write one, remove one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs import paging
from jobs.models import Team
from jobs.page_door import demand, page, person
from jobs.problems import BadRequest
from jobs.roles import Act
from runs.dashboard.finding import refused
from runs.dashboard.lists.views import slugs
from runs.markers import marking
from runs.markers.filter import NEWEST, MarkerFilter
from runs.markers.forms import MarkerForm
from runs.models import Marker
from runs.page_door import address

SIZE = 50  # rows of a page


@page
@require_http_methods(["GET", "POST"])
def all_markers(request: HttpRequest) -> HttpResponse:
    """The markers of this person's teams, the newest first; POST writes one."""
    teams = list(Team.objects.where(person(request).id, Act.OPERATE))
    if request.method == "GET":
        return _list(request, MarkerForm(teams=teams))
    if not teams:
        raise PermissionDenied
    form = MarkerForm(request.POST, teams=teams)
    if not form.is_valid():
        return _list(request, form, status=422)
    marker, _ = marking.write(form.chosen, form.content, by=person(request))
    messages.success(request, f"{marker.text} is marked. It stands with the runs around it.")
    return redirect("markers")


@page
@require_POST
def remove(request: HttpRequest, marker_id: UUID) -> HttpResponse:
    """The marker gone from every page."""
    marker = get_object_or_404(Marker.objects.where(person(request).id), id=marker_id)
    demand(request, marker.team_id, Act.OPERATE)
    if marking.remove(marker, by=person(request)):
        messages.success(request, f"{marker.text} is removed. The audit keeps who did so.")
    else:
        messages.error(request, f"{marker.text} was removed before.")
    return redirect("markers")


def _list(request: HttpRequest, form: MarkerForm, status: int = 200) -> HttpResponse:
    asked = MarkerFilter(request.GET, slugs=slugs(request))
    found, lost = _page(request, asked)
    last = paging.cursor(found[SIZE - 1], NEWEST, request.path) if len(found) > SIZE else None
    context = {
        "filter": asked,
        "form": form if form.teams else None,
        "markers": found[:SIZE],
        "mine": {team.id for team in form.teams.values()},
        "more": address(request, cursor=last) if last else None,
        "first": asked.address if request.GET.get("cursor") else None,
        "refused": refused.of(request, asked, beside=("cursor",), wrong=lost),
    }
    return render(request, "dashboard/markers.html", context, status=status)


def _page(request: HttpRequest, asked: MarkerFilter) -> tuple[list[Marker], dict[str, Any]]:
    """A page, and one more where there is a next; nothing for a filter that is none. With what
    is wrong with its cursor."""
    if not asked.is_valid():
        return [], {}
    lost = {}
    rows = asked.applied(Marker.objects.where(person(request).id)).select_related("team", "by")
    try:
        cursor = request.GET.get("cursor", "")
        rows = paging.after(rows, NEWEST, request.path, cursor) if cursor else rows
    except BadRequest:  # of another list, or of nowhere: from the beginning
        lost = {"cursor": refused.LOST}
    return list(rows.order_by(*NEWEST)[: SIZE + 1]), lost
