"""The Overview, its regions, and the demo job that a new team may make there."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from jobs.models import Team
from jobs.page_door import demand, page, person
from jobs.roles import Act
from runs.dashboard.finding import refused
from runs.dashboard.live import polling
from runs.dashboard.overview import first_steps, load, tiles
from runs.dashboard.overview.overview import REGIONS, Reader
from runs.dashboard.windows import LENGTHS, USUAL


@page
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Is anything wrong? And how it all stands."""
    reader = _reader(request)
    wrong = _unknown_window(request) | _unknown_team(request, reader)
    context = {
        "only": reader.only,
        "regions": {name: _shown(request, name, reader) for name in REGIONS},
        "teams": load.by_team(reader.user.id) if reader.user.is_staff else [],
        "most_teams": load.MOST,
        "is_member": bool(reader.teams),
        "refused": refused.of(request, beside=("window", "team"), wrong=wrong),
    }
    return render(request, "dashboard/overview.html", context)


def _reader(request: HttpRequest) -> Reader:
    """Who looks, at their teams, or at the one of them that the address names."""
    user, slug = person(request), request.GET.get("team", "")
    teams = dict(Team.objects.where(user.id, Act.READ).values_list("slug", "id"))
    if slug in teams:
        return Reader(user, teams=[teams[slug]], only=slug)
    return Reader(user, teams=list(teams.values()))


def _unknown_team(request: HttpRequest, reader: Reader) -> dict[str, str]:
    is_known = request.GET.get("team", "") in ("", reader.only)
    return {} if is_known else {"team": "It is none of your teams; all of them are shown."}


def _unknown_window(request: HttpRequest) -> dict[str, str]:
    known = request.GET.get("window", USUAL) in LENGTHS
    return {} if known else {"window": f"Choose from {', '.join(LENGTHS)}; {USUAL} is shown."}


@polling.poll
@require_GET
def region(request: HttpRequest, name: str) -> HttpResponse:
    """One region of the page, for its poll."""
    shown = _shown(request, name, _reader(request))
    return polling.answer(request, REGIONS[name].template, {"region": shown, "tag": shown["tag"]})


def _shown(request: HttpRequest, name: str, reader: Reader) -> dict[str, Any]:
    """What a region shows, for its template. Of the page's address the window and the team are
    asked."""
    found, live_url = REGIONS[name], reverse(f"overview-{name}")
    if name == "numbers":
        length = LENGTHS.get(request.GET.get("window", USUAL), LENGTHS[USUAL])
        shows, live_url = found.shows(reader, length.name), f"{live_url}?window={length.name}"
    else:
        shows = found.shows(reader)
    live_url = tiles.within(live_url, reader.only)
    tag = polling.tag_of(request, shows)
    return {**shows, "live_url": live_url, "every": found.every, "tag": tag}


@page
@require_POST
def demo_job(request: HttpRequest) -> HttpResponse:
    """A demo job for the team that is named, else for the first that this person may edit; made
    once however often it is asked for."""
    job = first_steps.demo_job(_team(request), by=person(request))
    messages.success(request, f"{job.name} is there. It runs each minute, ten times.")
    return redirect("job", job.id)


def _team(request: HttpRequest) -> Team:
    user_id = person(request).id
    if slug := request.POST.get("team", ""):
        if "\0" in slug:  # which the database cannot even be asked for
            raise Http404
        team: Team = get_object_or_404(Team.objects.where(user_id, Act.READ), slug=slug)
        demand(request, team.id, Act.EDIT)
        return team
    first = Team.objects.where(user_id, Act.EDIT).first()
    if first is None:
        raise PermissionDenied
    return first
