"""One id a request: in every log line that it causes, in a header of its answer, and on the page
that says that something broke. Who reports the one finds the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from structlog.contextvars import bound_contextvars, get_contextvars

from jobs import whence
from jobs.whence import Whence

HEADER = "X-Request-ID"
_NAME = "request_id"
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")


class RequestIds:
    """The middleware, outermost of all: whatever breaks further in has an id by then."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = _named_by_proxy(request) or uuid4().hex
        here = Whence(_door(request), _address(request), request_id=request_id)
        with bound_contextvars(**{_NAME: request_id}), whence.bound(here):
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


def _door(request: HttpRequest) -> str:
    """Which door the address of a request leads to."""
    if request.path.startswith("/api/"):
        return whence.API
    return whence.ADMIN if request.path.startswith("/admin/") else whence.PAGE


def _address(request: HttpRequest) -> str | None:
    """Who speaks to us; behind the TLS of a proxy, who spoke to that: the last one that it names,
    since anybody may write those before it."""
    named = str(request.META.get("REMOTE_ADDR", ""))
    if settings.SECURE:
        named = str(request.headers.get("X-Forwarded-For", named)).rpartition(",")[2].strip()
    try:
        return str(ip_address(named))
    except ValueError:
        return None
