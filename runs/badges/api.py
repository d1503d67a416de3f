"""The API's doors to badges: `badges/`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Job
from jobs.problems import BadRequest
from jobs.roles import Act
from runs.badges import badge
from runs.models import Badge

_MEMBERS = ("label", "job", "tag")


class BadgesDoor(Door):
    """`badges/`: those of the team that stand."""

    def get(self, request: Request) -> Response:
        """The newest first; their addresses are told by no one."""
        asked.parameters(request, paging.PARAMETERS)
        rows = badge.of(access.person(request).id).filter(team_id=access.team_id(request))
        return paging.page(request, rows, ("-created_at", "id"), of_badge)

    def post(self, request: Request) -> Response:
        """A badge, 201: `label`, and of the `job` (an id) or the `tag`, else of the whole team. The
        answer alone tells its addresses."""
        data = asked.members(request, _MEMBERS)
        team = access.team(request, Act.EDIT)
        content = badge.read(
            team, asked.text(data, "label"), _job(request, data), asked.text(data, "tag")
        )
        made, key = badge.make(content, by=access.person(request))
        told = {
            "svg": request.build_absolute_uri(reverse("badge-svg", args=[key])),
            "json": request.build_absolute_uri(reverse("badge-json", args=[key])),
        }
        return Response({**of_badge(made), **told}, status=201)


class BadgeDoor(Door):
    """`badges/{id}/`: one of them."""

    def delete(self, request: Request, badge_id: UUID) -> Response:
        """Revoked, 204."""
        rows = Badge.objects.where(access.person(request).id)
        mine = rows.filter(team_id=access.team_id(request), revoked_at=None)
        found = get_object_or_404(mine, id=badge_id)
        access.team(request, Act.EDIT)
        badge.revoke(found, by=access.person(request))
        return Response(status=204)


def of_badge(row: Badge) -> dict[str, Any]:
    """A badge as the API shows it: without its address."""
    return {
        "id": str(row.id),
        "label": row.label,
        "job": str(row.job_id) if row.job_id else None,
        "tag": row.tag or None,
        "by": row.by.get_username() if row.by else None,
        "created_at": instant(row.created_at),
    }


def _job(request: Request, data: dict[str, Any]) -> Job | None:
    given = data.get("job")
    if given is None:
        return None
    try:
        found = access.jobs(request).filter(id=UUID(given)).first()
    except (TypeError, ValueError, AttributeError):
        found = None
    if found is None:
        raise BadRequest(Problem("job", "is no job of the team.", "Give its id."))
    return found
