"""What the API says when it cannot do what was asked: `application/problem+json` (RFC 9457).

{"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "…",
 "errors": [{"field": "target.url", "message": "…", "hint": "…"}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import IO, Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from rest_framework.exceptions import APIException, NotAcceptable, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from jobs import request_ids, strict_json
from jobs.calendars import editing as calendar_editing
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.deleted import Deleted
from jobs.editing import Changed, Gone, NameTaken, NothingDue, ReadOnly
from jobs.holds import HeldAlready, HoldError, Over
from jobs.json_values import MAX_BYTES
from jobs.maintenance import NotPlanned
from jobs.schedules.instants import canonical_instant
from jobs.schedules.schedules import ScheduleError
from jobs.targets.shapes import TargetError

log = structlog.get_logger("onebeat.api")

NOT_FOUND = "Nothing is here that this token may see."


class BadRequest(APIException):
    """The request says something that cannot be: each problem names its field."""

    status_code = HTTPStatus.BAD_REQUEST

    def __init__(self, *problems: Problem) -> None:
        super().__init__("The request cannot be accepted.")
        self.problems = problems


class Conflict(APIException):
    """What was asked for does not fit what there is by now; `more` are further members."""

    status_code = HTTPStatus.CONFLICT

    def __init__(self, detail: str, *problems: Problem, **more: object) -> None:
        super().__init__(detail)
        self.problems = problems
        self.more = more


class Unprocessable(BadRequest):
    """The request is in order by itself and can never be carried out."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


class NoSuch(Http404):
    """What the request names is not there for this token; the problem names the field."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(NOT_FOUND)
        self.problems = problems


class StrictJSONParser(BaseParser):
    """Bodies of the API: see jobs/strict_json.py."""

    media_type = "application/json"
    most = MAX_BYTES

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The body's value; TargetError names the place of what is refused."""
        return strict_json.read(stream.read(self.most + 1), self.most)


class LongJSONParser(StrictJSONParser):
    """For bodies that may hold the text of a file of 1 MiB."""

    most = 2 * 1024 * 1024


_AGAINST_THE_RULES = (
    *(Changed, ReadOnly, NothingDue, HeldAlready, Over, NotPlanned),
    calendar_editing.Refused,
)


def as_problem(error: Exception, context: Mapping[str, Any]) -> Response:
    """The answer to any exception that leaves a view of the API."""
    match error:
        case DefinitionError():
            return _refused(error.problems)
        case BadRequest():
            return _refused(error.problems, error.status_code)
        case TargetError() | ScheduleError() | HoldError():
            return _refused([Problem(error.field, error.message, error.hint)])
        case NameTaken():
            return _problem(409, str(error), [Problem("name", str(error))])
        case _ if isinstance(error, _AGAINST_THE_RULES):
            return _problem(409, str(error))
        case Conflict():
            return _problem(409, str(error.detail), error.problems, **error.more)
        case Gone() | calendar_editing.Gone() | Http404():
            return _absent(error)
        case PermissionDenied():
            return _problem(403, str(error) or "Your role may not do this.")
        case APIException():
            return _of_framework(error)
        case _:
            return _unexpected(error)


def _absent(error: Exception) -> Response:
    match error:
        case Deleted():
            at, by = canonical_instant(error.at), error.by or None
            return _problem(410, str(error), deleted_at=at, by=by)
        case Gone():
            return _problem(410, "The job was deleted meanwhile. Nothing was done.")
        case NoSuch():
            return _problem(404, NOT_FOUND, error.problems)
        case _:
            return _problem(404, NOT_FOUND)


def _refused(problems: Sequence[Problem], status: int = 400) -> Response:
    fields = ", ".join(problem.field for problem in problems[:5])
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return _problem(status, f"Mend {fields}{more}; nothing was changed.", problems)


def _of_framework(error: APIException) -> Response:
    detail = str(error.detail)
    if isinstance(error, UnsupportedMediaType):
        detail += " Send JSON, as Content-Type: application/json."
    if isinstance(error, NotAcceptable):
        detail = "The answer is JSON: send Accept: application/json, or leave Accept out."
    answer = _problem(error.status_code, detail)
    if header := getattr(error, "auth_header", None):
        answer["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        answer["Retry-After"] = str(int(wait))
    return answer


def _unexpected(error: Exception) -> Response:
    """Nothing of the fault but its number leaves: the log has the rest under it."""
    request_id = request_ids.current()
    log.error("api.error", exc_info=error)
    if isinstance(error, OperationalError):
        detail = "The database does not answer just now. Try again."
        answer = _problem(503, detail, request=request_id)
        answer["Retry-After"] = "5"
        return answer
    detail = f"This is our fault. Report it with the request's number {request_id}."
    return _problem(500, detail, request=request_id)


def _problem(
    status: int, detail: str, problems: Sequence[Problem] = (), **more: object
) -> Response:
    errors = [
        {"field": problem.field, "message": problem.message, "hint": problem.hint}
        for problem in problems
    ]
    shape = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
        "errors": errors,
        **more,
    }
    return Response(shape, status=status, content_type="application/problem+json")
