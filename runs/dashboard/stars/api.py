"""The API's door to one's own stars: `jobs/{id}/star/`."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked
from jobs.api_door import Door
from jobs.models import Job
from jobs.roles import Act
from runs.dashboard.stars import stars


class StarDoor(Door):
    """`jobs/{id}/star/`: whether the token's person has starred the job."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """`starred`: true or false."""
        job = _job(request, job_id)
        return Response({"starred": bool(stars.among(access.person(request).id, [job.id]))})

    def put(self, request: Request, job_id: UUID) -> Response:
        """Starred, whether it was or not."""
        asked.members(request, ())
        stars.put(_job(request, job_id), by=access.person(request))
        return Response({"starred": True})

    def delete(self, request: Request, job_id: UUID) -> Response:
        """Not starred any more, 204."""
        stars.take(_job(request, job_id), by=access.person(request))
        return Response(status=204)


def _job(request: Request, job_id: UUID) -> Job:
    asked.parameters(request, ())
    return access.job(request, job_id, Act.READ)
