"""Regions of a page that keep themselves up to date: a poll that would change nothing is 304.

A region is one element of a template of its own, which its page includes and a small view of its
own serves alone. Both draw it from one context:

    <div id="review-rows" {% live live_url tag 5 %}>…</div>                   {% load live %}

    def queue(request):                                                       # @page
        return render(request, "runs/review.html", _queue(request))

    def queue_live(request):                                                  # @fragment
        return polling.answer(request, "runs/_review_rows.html", _queue(request))

    def _queue(request):
        rows = list(…)
        return polling.region(request, "review-live", {"rows": rows}, seen=rows)

static/live.js polls it, and leaves it alone while its reader is at work in it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from jobs.page_door import person
from jobs.page_sessions import TAG
from jobs.reader import zone_of

NOT_MODIFIED = 304


def tag(request: HttpRequest, shown: object) -> str:
    """What this reader sees of `shown`: rows, values, and lists and mappings of them. Of a row
    counts every column that has been read, and every related row that was read with it.

    Whatever the clock alone changes in the region belongs into `shown`, but for relative times,
    which the browser keeps.
    """
    seen = [person(request).id, zone_of(request), _plain(shown, set())]
    text = json.dumps(seen, default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def region(
    request: HttpRequest, name: str, context: Mapping[str, Any], *, seen: object, **where: object
) -> dict[str, Any]:
    """The context of a region with what `{% live %}` writes: `live_url`, the route `name` with
    this page's filter, and `tag`, that of what is `seen` of it."""
    query = request.GET.urlencode()
    url = reverse(name, kwargs=where)
    return {
        **context,
        "live_url": f"{url}?{query}" if query else url,
        "tag": tag(request, seen),
    }


def answer(request: HttpRequest, template: str, region: Mapping[str, Any]) -> HttpResponse:
    """304 where the page has this already; else what the template makes of it: the region, or the
    main part of a page that extends `shell|default:"base.html"`, of which `hx-select` takes it."""
    had = request.headers.get(TAG)
    if had == region["tag"]:
        response = HttpResponse(status=NOT_MODIFIED)
    else:
        response = render(request, template, {**region, "shell": "_part.html"})
    if had is not None:
        response.headers[TAG] = region["tag"]  # of a poll: jobs/page_sessions.py
    return response


def _plain(value: object, met: set[int]) -> object:
    """The value in what JSON knows; text for all else. A row met before is told by its key."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Model():
            return _row(value, met)
        case Mapping():
            return {str(name): _plain(one, met) for name, one in value.items()}
        case bytes():
            return value.hex()
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return [_plain(getattr(value, one.name), met) for one in dataclasses.fields(value)]
        case Iterable():
            return [_plain(one, met) for one in value]
        case _:
            return str(value)


def _row(row: Model, met: set[int]) -> object:
    if id(row) in met:
        return str(row.pk)
    met.add(id(row))
    columns = {name: one for name, one in vars(row).items() if not name.startswith("_")}
    related = {name: _plain(one, met) for name, one in row._state.fields_cache.items()}
    return [row._meta.label, _plain(columns, met), related]
