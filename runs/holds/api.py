"""The API's doors to holds. The rules are in jobs/holds.py and runs/holds/letting_go.py."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, holds, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Hold, Job
from jobs.models.hold import BY_POLICY, CHOICES
from jobs.problems import BadRequest
from runs.holds import letting_go, scopes, window_api

_STATES = {"on": Q(ended_at=None), "over": Q(ended_at__isnull=False)}


class HoldsDoor(Door):
    """`holds/`: those of the team and of the whole installation."""

    def get(self, request: Request) -> Response:
        """The holds, newest first; `?state=on` or `over`. Of `planned` the windows."""
        asked.parameters(request, ("state", *paging.PARAMETERS))
        rows = _holds(request)
        for state in asked.choices(request, "state", (*_STATES, "planned"))[:1]:
            if state == "planned":
                return window_api.planned(request)
            rows = rows.filter(_STATES[state])
        return paging.page(request, rows, ("-began_at", "-id"), _of_hold)

    def post(self, request: Request) -> Response:
        """A hold, 201: `reason`, and `until` an instant or for good. `team`: the token's, or null
        for the whole installation. With `from` it is planned: a maintenance window."""
        data = asked.members(request, ("team", "reason", "from", "until", "dry_run"))
        team = scopes.scope(request, data)
        if data.get("from") is not None:
            return window_api.plan(request, team, data)
        if "dry_run" in data:
            hint = "Give `from`, or leave it out."
            raise BadRequest(Problem("dry_run", "is for a hold that is planned.", hint))
        reason = asked.text(data, "reason")
        until = asked.instant_to_come(data, "until", clock.now())
        hold = holds.begin(team, reason, by=access.person(request), until=until)
        where = request.build_absolute_uri(reverse("api-hold", args=[hold.id]))
        return Response(_of_hold(hold), status=201, headers={"Location": where})


class HoldDoor(Door):
    """`holds/{id}/`: one hold."""

    def get(self, request: Request, hold_id: UUID) -> Response:
        """The hold."""
        asked.parameters(request, ())
        return Response(_of_hold(_hold(request, hold_id)))


class OwedDoor(Door):
    """`holds/{id}/owed/`: what waits for its end."""

    def get(self, request: Request, hold_id: UUID) -> Response:
        """By job: how many moments, the first and the last, and what would become of them."""
        asked.parameters(request, paging.PARAMETERS)
        hold = _hold(request, hold_id)
        rows, now = letting_go.owing(_jobs(request, hold), hold), clock.now()
        return paging.page(request, rows, ("name", "id"), lambda job: _of_owed(job, now))


class EndDoor(Door):
    """`holds/{id}/end/`."""

    def post(self, request: Request, hold_id: UUID) -> Response:
        """The hold ended. `choices`: job id → `policy`, `fire` or `drop`; `others`: the same for
        jobs that are not named."""
        hold = _hold(request, hold_id)
        scopes.demand(request, hold.team_id is None)
        data = asked.members(request, ("choices", "others"))
        choices = _choices(data, _jobs(request, hold))
        others = _choice("others", data.get("others", BY_POLICY))
        ended = holds.end(hold.id, by=access.person(request), choices=choices, others=others)
        return Response(_of_hold(ended))


def _holds(request: Request) -> QuerySet[Hold]:
    rows = Hold.objects.where(access.person(request).id)
    found: QuerySet[Hold] = rows.filter(Q(team=None) | Q(team_id=access.team_id(request)))
    return found.select_related("team", "by", "ended_by")


def _hold(request: Request, hold_id: UUID) -> Hold:
    return get_object_or_404(_holds(request), id=hold_id)


def _jobs(request: Request, hold: Hold) -> QuerySet[Job]:
    """Of the installation's hold the staff, who may end it, see every team's."""
    if hold.team_id is None and access.person(request).is_staff:
        return Job.objects.filter(deleted_at=None).select_related("team")
    return access.jobs(request)


def _choices(data: dict[str, Any], jobs: QuerySet[Job]) -> dict[UUID, str]:
    given = data.get("choices", {})
    if not isinstance(given, dict):
        raise BadRequest(Problem("choices", "must be an object.", 'As {"<job id>": "drop"}.'))
    chosen = {_job_id(text): _choice(f"choices.{text[:40]}", it) for text, it in given.items()}
    known = set(jobs.filter(id__in=chosen).values_list("id", flat=True))
    strange = [
        Problem(f"choices.{job_id}", "is no job under this hold.", "Leave it out.")
        for job_id in chosen.keys() - known
    ]
    if strange:
        raise BadRequest(*strange)
    return chosen


def _job_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        problem = Problem(f"choices.{text[:40]}", "is not the id of a job.", "Give ids as shown.")
        raise BadRequest(problem) from None


def _choice(field: str, given: object) -> str:
    if given not in CHOICES:
        hint = f"Choose from {', '.join(CHOICES)}."
        raise BadRequest(Problem(field, "is not one of the choices.", hint))
    return str(given)


def _of_hold(hold: Hold) -> dict[str, Any]:
    return {
        "id": str(hold.id),
        "team": hold.team.slug if hold.team else None,
        "reason": hold.reason,
        "by": hold.by.get_username() if hold.by else None,
        "began_at": instant(hold.began_at),
        "until": instant(hold.until),
        "ended_at": instant(hold.ended_at),
        "ended_by": hold.ended_by.get_username() if hold.ended_by else None,
        "choices": hold.choices,
        "others": hold.others,
    }


def _of_owed(job: Job, now: datetime) -> dict[str, Any]:
    waits = letting_go.waiting(job, now)
    said = waits.by_policy
    return {
        "job": str(job.id),
        "name": job.name,
        "team": job.team.slug,
        "moments": waits.moments,
        "first": instant(waits.first),
        "last": instant(waits.last),
        "other_runs": waits.others,
        "by_policy": {
            "fire": len(said.go) - waits.others,
            "ask": len(said.ask),
            "skip": said.skipped,
        },
    }
