"""One id a request: in every log line that it causes, in a header of its answer, and on the page
that says that something broke. Who reports the one finds the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from structlog.contextvars import bound_contextvars, get_contextvars

HEADER = "X-Request-ID"
_NAME = "request_id"
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")


class RequestIds:
    """The middleware, outermost of all: whatever breaks further in has an id by then."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = _named_by_proxy(request) or uuid4().hex
        with bound_contextvars(**{_NAME: request_id}):
            response = self._next(request)
        response.headers[HEADER] = request_id
        return response


def current() -> str:
    """The id of the request under way; a fresh one where there is none."""
    return str(get_contextvars().get(_NAME) or uuid4().hex)


def unexpected_error(request: HttpRequest) -> HttpResponse:
    """The page for an error that nobody foresaw. It asks nothing of the database, which may be
    what broke."""
    page = render_to_string("500.html", {"request_id": current()})
    return HttpResponseServerError(page)


def _named_by_proxy(request: HttpRequest) -> str:
    """The id that a proxy has given already; empty for none, or for one that could be anything."""
    named = str(request.headers.get(HEADER, ""))
    return named if _WELL_FORMED.fullmatch(named) else ""
