"""The API's door for a target that reports on its run: the secret of the attempt lets it in."""

from __future__ import annotations

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import asked
from jobs.api_door import Door
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict, NoSuch
from runs import reports
from runs.reports import NoSuchReport, NotAwaited, Report

HEADER = "Onebeat-Callback"


class CompleteDoor(Door):
    """`runs/{id}/complete/`: needs no token but the secret that the call to the target had."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Request, run_id: UUID) -> Response:
        """`outcome`, and `reason` and `answer` where there is more to say. 404 for another's
        secret as for none, 409 with the state once the report is not waited for any more."""
        secret = request.headers.get(HEADER, "")
        try:
            reports.attempt_of(run_id, secret)  # before anything that is said is looked at
            run = reports.complete(run_id, secret, _report(request))
        except NoSuchReport:
            hint = f"Send what the call to you had in {HEADER}, to the run that it named."
            raise NoSuch(
                Problem(HEADER, "is the secret of no attempt of this run.", hint)
            ) from None
        except NotAwaited as late:
            state, attempt = late.run.state, late.run.attempt
            raise Conflict(str(late), state=state, attempt=attempt) from None
        return Response({"id": str(run.id), "state": run.state, "attempt": run.attempt})


def _report(request: Request) -> Report:
    data = asked.members(request, ("outcome", "reason", "answer"))
    outcome = reports.word(data.get("outcome"))
    if outcome is None:
        hint = f"Choose from {', '.join(reports.WORDS)}."
        raise BadRequest(Problem("outcome", "is not one of the choices.", hint))
    return Report(outcome, asked.text(data, "reason"), data.get("answer"))
