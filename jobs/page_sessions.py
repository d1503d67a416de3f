"""Sessions as pages need them: a poll does not keep one alive, and its end leads to sign-in."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.cache import add_never_cache_headers, patch_vary_headers

TAG = "HX-PTag"  # the header that an answer to a poll carries: runs/dashboard/live/polling.py


class PolledSessions(SessionMiddleware):
    """Django's, but a page that is left open signs its reader out in the end as any other: what
    it asks for by itself is no sign of a person. It also spares a poll its only write."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if TAG in response.headers and not request.session.modified:
            patch_vary_headers(response, ("Cookie",))
            return response
        return super().process_response(request, response)


class SessionEnd:
    """The browser would follow a redirect to the sign-in page, and htmx would put that page into
    a table. It is told to leave the page instead."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._next(request)
        if request.headers.get("HX-Request") and _leads_to_sign_in(response):
            return _leave(request)
        return response


def _leads_to_sign_in(response: HttpResponse) -> bool:
    where = urlsplit(response.headers.get("Location", ""))
    return response.status_code == 302 and where.path == resolve_url("sign-in")


def _leave(request: HttpRequest) -> HttpResponse:
    """Back to where the reader was, if that is a page of this site."""
    htmx = getattr(request, "htmx", None)
    back = (htmx and htmx.current_url_abs_path) or "/"
    response = HttpResponse(status=204)
    response.headers["HX-Redirect"] = f"{resolve_url('sign-in')}?{urlencode({'next': back})}"
    add_never_cache_headers(response)
    return response
