"""The lists as files, by the address of the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from jobs.page_door import jobs_of, page, person
from runs.dashboard.events import events as acts
from runs.dashboard.events.filter import EventFilter
from runs.dashboard.finding.filters import Filter
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.run_filter import RunFilter
from runs.dashboard.lists import exports


class _List(NamedTuple):
    """A list: the page that has it, its filter, what a row of its file says, and its rows."""

    page: str
    asked: type[Filter]
    columns: tuple[str, ...]
    rows: Callable[[HttpRequest, Any], Iterator[exports.Row]]


def _jobs(request: HttpRequest, asked: JobFilter) -> Iterator[exports.Row]:
    rows = asked.applied(jobs_of(request), person(request).id).select_related("team", "due")
    return exports.of_jobs(rows, asked.sorting)


def _runs(request: HttpRequest, asked: RunFilter) -> Iterator[exports.Row]:
    return exports.of_runs(Reader(person(request).id), asked.wanted)


def _events(request: HttpRequest, asked: EventFilter) -> Iterator[exports.Row]:
    return acts.rows(asked.applied(acts.of(person(request))))


_LISTS = {
    "jobs": _List("jobs", JobFilter, exports.JOB_COLUMNS, _jobs),
    "runs": _List("runs", RunFilter, exports.RUN_COLUMNS, _runs),
    "events": _List("audit", EventFilter, acts.COLUMNS, _events),
}


@page
@require_GET
def file(request: HttpRequest, what: str, shape: str) -> HttpResponseBase:
    """All pages of a list; a filter that is none leads back to the list, which says what is wrong
    with it."""
    of = _LISTS[what]
    asked = of.asked(request.GET)
    if not asked.is_valid():
        return redirect(f"{reverse(of.page)}{asked.address}")
    write, kind = exports.SHAPES[shape]
    lines = write(of.columns, of.rows(request, asked))
    by = person(request).get_username()
    told = exports.logged(lines, what=what, by=by, query=asked.query)
    answer = StreamingHttpResponse(told, content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="onebeat-{what}.{shape}"'
    return answer
