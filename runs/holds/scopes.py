"""What a request of the API may hold: a team, or the whole installation."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from rest_framework.request import Request

from jobs import access
from jobs.models import Team
from jobs.roles import Act


def scope(request: Request, data: dict[str, Any]) -> Team | None:
    """The `team` of the body: the token's, where it is left out, or null for all of it."""
    whole = "team" in data and data["team"] is None
    team = demand(request, whole)
    if team is not None:
        given = data.get("team", team.slug)
        access.demand_own(team, given, beside="; null is the whole installation")
    return team


def demand(request: Request, whole: bool) -> Team | None:
    """Who may hold: operators their team, the platform's staff the whole installation."""
    if not whole:
        return access.team(request, Act.OPERATE)
    if not access.person(request).is_staff:
        raise PermissionDenied("The whole installation is held by the platform's staff alone.")
    return None
