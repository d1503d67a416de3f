"""The team that a person of several looks at: chosen at the head of every page, remembered with
the session. What a list shows stands in its address alone; what is remembered tells the links of
the rail which team to ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

from jobs.models import Team
from jobs.page_door import back_of, page, person
from jobs.roles import Act

# The pages whose address may name a team, and that then show no other.
PAGES = {"home", "jobs", "runs", "review", "dead-letters", "upcoming", "audit", "markers"}
MOST = 100  # that are offered
_KEY = "team"


@dataclass(frozen=True)
class Switch:
    """The teams of the reader (slug, name), and the one that is looked at (empty: all of them);
    none where there is nothing to choose."""

    teams: tuple[tuple[str, str], ...] = ()
    chosen: str = ""

    @property
    def name(self) -> str:
        """What is looked at, in words."""
        return dict(self.teams).get(self.chosen, "All teams")

    @property
    def query(self) -> str:
        """What a link of the rail says more."""
        return f"?team={self.chosen}" if self.chosen else ""


def of(request: HttpRequest) -> Switch:
    """For the page of this request."""
    rows = Team.objects.where(request.user.pk, Act.READ)
    teams = tuple(rows.order_by("name", "slug").values_list("slug", "name")[:MOST])
    if len(teams) < 2:
        return Switch()
    here = request.resolver_match.url_name if request.resolver_match else ""
    session = getattr(request, "session", {})
    said = request.GET.get("team", "") if here in PAGES else session.get(_KEY, "")
    return Switch(teams, said if said in dict(teams) else "")


@page
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Look at one team (`team`), or at all (empty): the page that it was chosen on (`next`) where
    that can show one team, else the Overview."""
    slug = request.POST.get("team", "")
    teams = Team.objects.where(person(request).id, Act.READ).values_list("slug", flat=True)
    if slug and slug not in set(teams):
        raise Http404
    request.session[_KEY] = slug
    return redirect(_page(request) + (f"?team={slug}" if slug else ""))


def _page(request: HttpRequest) -> str:
    path = (back_of(request) or "/").partition("?")[0]
    try:
        return path if resolve(path).url_name in PAGES else "/"
    except Resolver404:
        return "/"
