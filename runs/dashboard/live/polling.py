"""Regions of a page that keep themselves up to date: a poll that would change nothing is 304.

A region is one element of a template of its own, which its page includes and a small view of its
own serves alone. Both draw it from one context:

    <div id="review-rows" {% live live_url tag 5 %}>…</div>                   {% load live %}

    def queue(request):                                                       # @page
        return render(request, "runs/review.html", _queue(request))

    def queue_live(request):                                                  # @polling.poll
        return polling.answer(request, "runs/_review_rows.html", _queue(request))

    def _queue(request):
        rows = list(…)
        return polling.region(request, "review-live", {"rows": rows}, seen=rows)

static/live.js polls it, and leaves it alone while its reader is at work in it.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec
from uuid import UUID

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from jobs.page_door import View, fragment, person
from jobs.page_sessions import TAG
from jobs.reader import zone_of
from runs.dashboard.live import poll_limit

P = ParamSpec("P")
NOT_MODIFIED, TOO_MANY = 304, 429


def poll(view: View[P]) -> View[P]:
    """As `fragment`, for what pages ask for by themselves: who asks too often is told when to
    come back, before anything is looked up."""

    @wraps(view)
    def limited(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        wait = poll_limit.wait(person(request).id)
        return _too_many(request, wait) if wait else view(request, *args, **kwargs)

    return fragment(limited)


def _too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """The header says of a poll that it is one, and so keeps its session no longer alive."""
    headers = {"Retry-After": str(wait), TAG: request.headers.get(TAG, "")}
    page = render_to_string("429.html", {"wait": wait})
    return HttpResponse(page, status=TOO_MANY, headers=headers)


def tag_of(request: HttpRequest, shown: object) -> str:
    """What this reader sees of `shown`: rows, values, and lists and mappings of them. Of a row
    counts every column that has been read, and every related row that was read with it.

    Whatever the clock alone changes in the region belongs into `shown`, but for relative times,
    which the browser keeps.
    """
    seen = [person(request).id, zone_of(request), _plain(shown, set())]
    text = repr(seen)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def region(
    request: HttpRequest,
    name: str,
    context: Mapping[str, Any],
    *,
    seen: object = None,
    tag: str = "",
    **where: object,
) -> dict[str, Any]:
    """The context of a region with what `{% live %}` writes: `live_url`, the route `name` with
    this page's filter, and `tag`, where it is not given that of what is `seen` of it."""
    query = request.GET.urlencode()
    url = reverse(name, kwargs=where)
    return {
        **context,
        "live_url": f"{url}?{query}" if query else url,
        "tag": tag or tag_of(request, seen),
    }


def answer(request: HttpRequest, template: str, region: Mapping[str, Any]) -> HttpResponse:
    """304 where the page has this already; else what the template makes of it: the region, or the
    main part of a page that extends `shell|default:"base.html"`, of which `hx-select` takes it."""
    return answer_with(request, template, region["tag"], lambda: region)


def answer_with(
    request: HttpRequest, template: str, tag: str, region: Callable[[], Mapping[str, Any]]
) -> HttpResponse:
    """The same, of a region that is put together only where its tag says that it has changed."""
    had = request.headers.get(TAG)
    if had == tag:
        response = HttpResponse(status=NOT_MODIFIED)
    else:
        response = render(request, template, {**region(), "shell": "_part.html"})
    if had is not None:
        response.headers[TAG] = tag  # of a poll: jobs/page_sessions.py
    return response


# Rows are most of what is seen, and most of what a row holds is of these.
_PLAIN = frozenset({type(None), bool, int, float, str, bytes, UUID, datetime, date, timedelta})


def _plain(value: object, met: set[int]) -> object:
    """The value in what `repr` tells apart, the same each time. A row met before is told by its
    key."""
    if type(value) in _PLAIN:
        return value
    match value:
        case Model():
            return _row(value, met)
        case str():  # one of an enumeration, or marked as safe
            return str(value)
        case Mapping():
            return [(name, _plain(one, met)) for name, one in sorted(value.items(), key=_name)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return [_plain(getattr(value, one.name), met) for one in dataclasses.fields(value)]
        case Iterable():
            return [_plain(one, met) for one in value]
        case _:
            return str(value)


def _name(item: tuple[object, object]) -> str:
    return str(item[0])


def _row(row: Model, met: set[int]) -> object:
    if id(row) in met:
        return str(row.pk)
    met.add(id(row))
    columns = [
        (name, one if type(one) in _PLAIN else _plain(one, met))
        for name, one in sorted(vars(row).items())
        if name[0] != "_"
    ]
    related = [(name, _plain(one, met)) for name, one in sorted(row._state.fields_cache.items())]
    return [row._meta.label, columns, related]
