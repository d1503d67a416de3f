"""The pages of badges: those that stand, and forms to make one of a job, a tag or a team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from jobs.definitions.definitions import DefinitionError
from jobs.models import Job, Team
from jobs.page_door import demand, job_for, page, person
from jobs.roles import Act
from runs.badges import badge
from runs.badges.forms import BadgeForm
from runs.models import Badge

LISTED = 200


@page
@require_http_methods(["GET", "POST"])
def all_badges(request: HttpRequest) -> HttpResponse:
    """The badges of this person's teams; POST makes one of a team or a tag, and its answer is the
    only one that shows the address."""
    teams = list(Team.objects.where(person(request).id, Act.EDIT))
    if request.method == "POST" and not teams:
        raise PermissionDenied
    return _page(request, BadgeForm(request.POST or None, teams=teams) if teams else None)


@page
@require_http_methods(["GET", "POST"])
def job_badge(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The same of one job."""
    job = job_for(request, job_id, Act.EDIT)
    form = BadgeForm(request.POST if request.method == "POST" else None, job=job)
    return _page(request, form, job)


@page
@require_POST
def revoke(request: HttpRequest, badge_id: UUID) -> HttpResponse:
    """Revoke one of a team whose jobs one edits."""
    found = get_object_or_404(Badge.objects.where(person(request).id), id=badge_id)
    demand(request, found.team_id, Act.EDIT)
    if badge.revoke(found, by=person(request)):
        messages.success(request, f"The badge {found} is revoked: its address shows nothing more.")
    else:
        messages.error(request, f"The badge {found} was revoked before.")
    return redirect("badges")


def _page(request: HttpRequest, form: BadgeForm | None, job: Job | None = None) -> HttpResponse:
    issued, status = {}, 200
    if form is not None and request.method == "POST":
        issued = _made(request, form)
        status = 201 if issued else 422
    me = person(request).id
    mine = set(Team.objects.where(me, Act.EDIT).values_list("id", flat=True))
    found = badge.of(me, job.id if job else None)[:LISTED]
    context = {
        "form": form,
        "job": job,
        "badges": [(one, badge.of_what(one), one.team_id in mine) for one in found],
        **issued,
    }
    return render(request, "dashboard/badges.html", context, status=status)


def _made(request: HttpRequest, form: BadgeForm) -> dict[str, Any]:
    """The badge that the form asks for with its addresses; nothing where the form shows why not."""
    content = form.content()
    if content is None:
        return {}
    try:
        made, key = badge.make(content, by=person(request))
    except DefinitionError as error:
        form.refuse(error)
        return {}
    where = request.build_absolute_uri(reverse("badge-svg", args=[key]))
    for_programs = request.build_absolute_uri(reverse("badge-json", args=[key]))
    return {"made": made, "picture": where, "for_programs": for_programs}
