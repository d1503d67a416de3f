"""What everybody with a badge's address is answered: a picture, or the same for a program. Nobody
signs in here, and nothing is said but the name that the maker typed and a state."""

from __future__ import annotations

import hashlib
import json

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from jobs.api_shapes import instant
from runs.badges import badge, picture

UNKNOWN = picture.UNKNOWN
_HEADERS = {
    "Cache-Control": "public, max-age=60",
    "X-Robots-Tag": "noindex",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",  # it is for pages of other systems
}


@require_safe
def svg(request: HttpRequest, key: str) -> HttpResponse:
    """The picture; of an address that leads nowhere, always the same one, with 404."""
    told = badge.told(key)
    if told is None:
        return _answer(request, picture.svg("", UNKNOWN, None), "image/svg+xml", 404)
    return _answer(request, picture.svg(told.label, told.words, told.stance), "image/svg+xml")


@require_safe
def as_json(request: HttpRequest, key: str) -> HttpResponse:
    """`label`, `state`, `count` (of the jobs that stand so), `since`."""
    told = badge.told(key)
    if told is None:
        return _answer(request, json.dumps({"state": UNKNOWN}), "application/json", 404)
    shown = {
        "label": told.label,
        "state": told.stance or "no_jobs",
        "count": told.count,
        "since": instant(told.since),
    }
    return _answer(request, json.dumps(shown), "application/json")


def _answer(request: HttpRequest, body: str, kind: str, status: int = 200) -> HttpResponse:
    content = body.encode(errors="replace")
    headers = {**_HEADERS, "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
    answer = HttpResponse(content, status=status, content_type=kind, headers=headers)
    if status != 200:
        return answer
    kept = get_conditional_response(request, etag=headers["ETag"], response=answer) or answer
    for name, value in headers.items():  # of which a 304 leaves some out
        kept.headers[name] = value
    return kept
