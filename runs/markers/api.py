"""The API's doors to markers: `markers/`. The rule is in runs/markers/marking.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Team
from jobs.problems import Unprocessable
from jobs.roles import Act
from runs.dashboard.lists.api import filter_of
from runs.markers import content, marking
from runs.markers.filter import NEWEST, MarkerFilter
from runs.models import Marker

_MEMBERS = ("team", "text", "at", "url", "tag", "key")


class MarkersDoor(Door):
    """`markers/`: those of the token's team."""

    def get(self, request: Request) -> Response:
        """Those of a MarkerFilter, the newest first."""
        wanted = filter_of(request, MarkerFilter)
        return paging.page(request, wanted.applied(_seen(request)), NEWEST, of_marker)

    def post(self, request: Request) -> Response:
        """A marker, 201: `text`, and `at`, `url`, `tag`, `key`, which may be left out. With a key
        that the team has used for the same, that one, 200."""
        data = asked.members(request, _MEMBERS)
        team = _team(request, data)
        wanted = content.read(data, clock.now())
        try:
            marker, new = marking.write(team, wanted, by=access.person(request))
        except marking.KeyTaken as taken:
            hint = "Give each marker a key of its own, as the number of the deploy."
            raise Unprocessable(Problem("key", str(taken), hint)) from None
        where = request.build_absolute_uri(reverse("api-marker", args=[marker.id]))
        status = 201 if new else 200
        return Response(of_marker(marker), status=status, headers={"Location": where})


class MarkerDoor(Door):
    """`markers/{id}/`: one of them."""

    def get(self, request: Request, marker_id: UUID) -> Response:
        """The marker."""
        asked.parameters(request, ())
        return Response(of_marker(_marker(request, marker_id)))

    def delete(self, request: Request, marker_id: UUID) -> Response:
        """The marker gone, 204."""
        marker = _marker(request, marker_id)
        access.team(request, Act.OPERATE)
        marking.remove(marker, by=access.person(request))
        return Response(status=204)


def of_marker(marker: Marker) -> dict[str, Any]:
    """A marker as the API shows it."""
    return {
        "id": str(marker.id),
        "team": marker.team.slug,
        "at": instant(marker.at),
        "text": marker.text,
        "url": marker.url or None,
        "tag": marker.tag or None,
        "key": marker.key or None,
        "by": marker.by.get_username() if marker.by else None,
        "created_at": instant(marker.created_at),
    }


def _team(request: Request, data: Mapping[str, Any]) -> Team:
    team = access.team(request, Act.OPERATE)
    access.demand_own(team, data.get("team", team.slug))
    return team


def _seen(request: Request) -> QuerySet[Marker]:
    rows = Marker.objects.where(access.person(request).id).select_related("team", "by")
    found: QuerySet[Marker] = rows.filter(team=access.team_id(request))
    return found


def _marker(request: Request, marker_id: UUID) -> Marker:
    return get_object_or_404(_seen(request), id=marker_id)
