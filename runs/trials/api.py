"""The API's door to test requests: a job's target, tried out."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs.by_hand import Held
from runs.models import Trial
from runs.trials import trial


class TrialsDoor(Door):
    """`jobs/{id}/test/`."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The test requests of a job, the newest first."""
        job = access.job(request, job_id, Act.READ)
        asked.parameters(request, paging.PARAMETERS)
        rows = Trial.objects.filter(job=job).select_related("by")
        return paging.page(request, rows, ("-at", "id"), of_trial)

    def post(self, request: Request, job_id: UUID) -> Response:
        """Send one, 201 with what came of it. `confirm`: the job's name, where it is not safe to
        repeat. `same_key_as`: the id of an earlier one, to be sent once more with its key."""
        job = access.job(request, job_id, Act.OPERATE)
        data = asked.members(request, ("confirm", "same_key_as"))
        try:
            wanted = (
                trial.once_more(found) if (found := _earlier(data, job.id)) else trial.of_job(job)
            )
            sent = trial.send(
                wanted, confirmed=asked.text(data, "confirm"), by=access.person(request)
            )
        except trial.NotHttp as wrong:
            raise BadRequest(Problem("target", str(wrong))) from None
        except trial.NotConfirmed as missing:
            raise BadRequest(Problem("confirm", str(missing))) from None
        except Held as held:
            raise Conflict(str(held), reason=held.hold.reason) from None
        except trial.TooMany as many:
            raise Throttled(many.wait, str(many)) from None
        return Response(of_trial(sent), status=201)


def of_trial(found: Trial) -> dict[str, Any]:
    """A test request as the API shows it."""
    took: datetime | None = found.ended_at
    return {
        "id": str(found.id),
        "job": str(found.job_id),
        "key": found.key,
        "by": found.by and found.by.get_username(),
        "at": instant(found.at),
        "ended_at": instant(took),
        "outcome": found.outcome or None,
        "effect": found.effect or None,
        "reason": found.reason,
        "sent": found.sent,
        "answer": found.answer,
    }


def _earlier(data: dict[str, Any], job_id: UUID) -> Trial | None:
    given = data.get("same_key_as")
    if given is None:
        return None
    try:
        found: Trial | None = Trial.objects.filter(job_id=job_id, id=UUID(given)).first()
    except (ValueError, TypeError, AttributeError):
        found = None
    if found is None:
        hint = "Give the id of one of GET."
        raise BadRequest(Problem("same_key_as", "is no test request of this job.", hint))
    return found
