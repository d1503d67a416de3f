"""The API's door to why a job has not run. The rule is runs/dashboard/job/why.py."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.roles import Act
from runs.dashboard.job import why
from runs.dashboard.job.why import Answer


class WhyDoor(Door):
    """`jobs/{id}/why/`: why the job has not run."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """Every reason as of now; none: it runs as it should."""
        asked.parameters(request, ())
        job = access.job(request, job_id, Act.READ)
        now = clock.now()
        found = why.of_job(job, now)
        answers = [_of_answer(answer) for answer in found.answers]
        return Response({"as_of": instant(now), "late": found.late, "answers": answers})


def _of_answer(answer: Answer) -> dict[str, Any]:
    return {
        "kind": answer.kind,
        "text": answer.text,
        "remedy": answer.remedy,
        "since": instant(answer.since),
        "until": instant(answer.until),
        "run": answer.run_id and str(answer.run_id),
        "hold": answer.hold_id and str(answer.hold_id),
    }
