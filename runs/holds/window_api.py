"""The API's doors to maintenance windows. The rule is in jobs/maintenance.py."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, maintenance, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Job, MaintenanceWindow, Team
from jobs.models.maintenance_window import MaintenanceWindowQuerySet
from jobs.problems import BadRequest
from runs.dashboard.upcoming import falling
from runs.holds import scopes

MEMBERS = ("reason", "from", "until")


class WindowDoor(Door):
    """`holds/windows/{id}/`: a hold that is planned, or was."""

    def get(self, request: Request, window_id: UUID) -> Response:
        """The window."""
        asked.parameters(request, ())
        return Response(_of_window(_window(request, window_id)))

    def patch(self, request: Request, window_id: UUID) -> Response:
        """What is given, changed, while it is planned: `reason`, `from`, `until`."""
        window = _window(request, window_id)
        scopes.demand(request, window.team_id is None)
        data = asked.members(request, MEMBERS)
        reason = asked.text(data, "reason", window.reason)
        begins_at = asked.instant(data, "from") or window.begins_at
        ends_at = asked.instant(data, "until") or window.ends_at
        by = access.person(request)
        return Response(
            _of_window(maintenance.change(window.id, reason, begins_at, ends_at, by=by))
        )

    def delete(self, request: Request, window_id: UUID) -> Response:
        """Cancelled: it stays on record, and never begins."""
        window = _window(request, window_id)
        scopes.demand(request, window.team_id is None)
        maintenance.cancel(window.id, by=access.person(request))
        return Response(status=204)


def plan(request: Request, team: Team | None, data: dict[str, Any]) -> Response:
    """A window, 201; with `dry_run` what would fall into it."""
    reason, begins_at = asked.text(data, "reason"), asked.instant(data, "from")
    ends_at = asked.instant(data, "until")
    if begins_at is None or ends_at is None:
        hint = "Say until when it lasts: a hold that is planned has an end."
        raise BadRequest(Problem("until", "is missing.", hint))
    if asked.flag(data, "dry_run"):
        return Response(_falls(request, team, begins_at, ends_at))
    window = maintenance.plan(team, reason, begins_at, ends_at, by=access.person(request))
    where = request.build_absolute_uri(reverse("api-window", args=[window.id]))
    return Response(_of_window(window), status=201, headers={"Location": where})


def planned(request: Request) -> Response:
    """Those that are still to begin, the next first."""
    rows = _windows(request).planned()
    return paging.page(request, rows, ("begins_at", "id"), _of_window)


def _falls(
    request: Request, team: Team | None, begins_at: datetime, ends_at: datetime
) -> dict[str, Any]:
    now = clock.now()
    maintenance.check(begins_at, ends_at, now)
    jobs = access.jobs(request) if team else Job.objects.filter(deleted_at=None)
    found = falling.into(jobs, now, begins_at, ends_at)
    return {
        "moments": found.moments,
        "jobs": found.jobs,
        "counted_until": instant(found.until),
        "complete": not found.cut,
    }


def _windows(request: Request) -> MaintenanceWindowQuerySet:
    rows = MaintenanceWindow.objects.where(access.person(request).id)
    found: MaintenanceWindowQuerySet = rows.filter(
        Q(team=None) | Q(team_id=access.team_id(request))
    )
    return found


def _window(request: Request, window_id: UUID) -> MaintenanceWindow:
    found: MaintenanceWindow = get_object_or_404(_windows(request), id=window_id)
    return found


def _of_window(window: MaintenanceWindow) -> dict[str, Any]:
    return {
        "id": str(window.id),
        "team": window.team.slug if window.team else None,
        "reason": window.reason,
        "state": window.state,
        "by": window.by.get_username() if window.by else None,
        "from": instant(window.begins_at),
        "until": instant(window.ends_at),
        "created_at": instant(window.created_at),
        "cancelled_at": instant(window.cancelled_at),
        "cancelled_by": window.cancelled_by.get_username() if window.cancelled_by else None,
        "passed_at": instant(window.passed_at),
        "hold": str(window.hold_id) if window.hold_id else None,
    }
