"""The API's doors to backfills. The rule is in runs/backfills/backfill.py."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs import api_shapes
from runs.backfills import backfill, span
from runs.backfills.span import Range
from runs.models import Backfill
from runs.models.backfill import MOST_ACTIVE


class BackfillsDoor(Door):
    """`jobs/{id}/backfill/`: the job's backfills."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The backfills of the job, newest first."""
        asked.parameters(request, paging.PARAMETERS)
        job = access.job(request, job_id, Act.READ)
        return paging.page(
            request, _backfills(request).filter(job=job), ("-id",), api_shapes.of_backfill
        )

    def post(self, request: Request, job_id: UUID) -> Response:
        """A backfill of the moments from `from` to `to`, both included, 201; under `dry_run`
        what it would do, 200. 409 where the job has one that is not over."""
        job = access.job(request, job_id, Act.OPERATE)
        data = asked.members(request, ("from", "to", "dry_run", "max_active", "reverse"))
        wanted = Range(_instant(data, "from"), _instant(data, "to"))
        reverse, max_active = asked.flag(data, "reverse"), _max_active(data)
        if asked.flag(data, "dry_run"):
            return Response(api_shapes.of_preview(span.preview(job, wanted)))
        try:
            found = backfill.begin(
                job.id,
                wanted,
                by=access.person(request),
                reverse=reverse,
                max_active=max_active,
            )
        except backfill.AlreadyOpen as there:
            raise Conflict(str(there), backfill=_address(request, there.backfill)) from None
        headers = {"Location": _address(request, found)}
        return Response(api_shapes.of_backfill(found), status=201, headers=headers)


class BackfillDoor(Door):
    """`backfills/{id}/`: one backfill."""

    def get(self, request: Request, backfill_id: UUID) -> Response:
        """The backfill and how far it has come."""
        asked.parameters(request, ())
        return Response(api_shapes.of_backfill(_backfill(request, backfill_id, Act.READ)))


class StopDoor(Door):
    """`backfills/{id}/stop/`."""

    def post(self, request: Request, backfill_id: UUID) -> Response:
        """The backfill stopped; one that is over stays as it is."""
        found = _backfill(request, backfill_id, Act.OPERATE)
        asked.members(request, ())
        backfill.stop(found.id, by=access.person(request))
        return Response(api_shapes.of_backfill(_backfill(request, backfill_id, Act.READ)))


def _backfills(request: Request) -> QuerySet[Backfill]:
    rows = Backfill.objects.where(access.person(request).id, Act.READ)
    found: QuerySet[Backfill] = rows.filter(job__team_id=access.team_id(request))
    return found


def _backfill(request: Request, backfill_id: UUID, act: Act) -> Backfill:
    found = get_object_or_404(_backfills(request), id=backfill_id)
    access.team(request, act)
    return found


def _instant(data: dict[str, Any], field: str) -> datetime:
    given = asked.instant(data, field)
    if given is None:
        hint = "Give an instant, as 2026-11-29T18:00:00Z."
        raise BadRequest(Problem(field, "is required.", hint))
    return given


def _max_active(data: dict[str, Any]) -> int:
    given = asked.whole_number(data, "max_active")
    if given is None:
        return 1
    if not 1 <= given <= MOST_ACTIVE:
        raise BadRequest(Problem("max_active", f"must be a whole number from 1 to {MOST_ACTIVE}."))
    return given


def _address(request: Request, found: Backfill) -> str:
    return request.build_absolute_uri(reverse("api-backfill", args=[found.id]))
