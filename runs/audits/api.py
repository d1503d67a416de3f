"""The API's doors to the audit: what was due against what was done."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, paging
from jobs.api_door import Door
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest
from jobs.roles import Act
from runs.audits import audit, kept
from runs.dashboard.finding.filters import InstantField

LONGEST = timedelta(days=31)


class AuditDoor(Door):
    """`audit/`: the team's moments of a window, compared with its runs now."""

    def get(self, request: Request) -> Response:
        """From `?since=` (a day ago) to `?until=` (a minute ago), at most 31 days."""
        asked.parameters(request, ("since", "until"))
        team = access.team(request, Act.READ)
        now = clock.now()
        since = _instant(request, "since") or now - timedelta(days=1)
        until = _instant(request, "until") or now
        if since >= min(until, now):
            raise BadRequest(Problem("since", "is not before the end of the window."))
        if min(until, now) - since > LONGEST:
            hint = "Ask for it in parts."
            raise BadRequest(Problem("since", "is more than 31 days before the end.", hint))
        return Response(audit.report(since, until, team=team.id).as_json())


class AuditReportsDoor(Door):
    """`audit/reports/`: what the daily audits found, the newest first."""

    def get(self, request: Request) -> Response:
        """Each with its window, its counts and its gaps."""
        asked.parameters(request, paging.PARAMETERS)
        rows = kept.of(access.person(request).id).filter(team_id=access.team_id(request))
        return paging.page(request, rows, ("-id",), kept.as_json)


def _instant(request: Request, name: str) -> datetime | None:
    """An instant, or an age as `24h`, as the lists take them; None where it is left out."""
    if name not in request.query_params:
        return None
    try:
        found: datetime | None = InstantField(name).clean(request.query_params[name])
    except ValidationError as error:
        raise BadRequest(Problem(name, " ".join(error.messages))) from None
    if found is None:
        raise BadRequest(Problem(name, "is empty.", "Give a value, or leave it out."))
    return found
