"""The lists as files, by the address of the list."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from jobs.page_door import jobs_of, page, person
from runs.dashboard import events as acts
from runs.dashboard import exports
from runs.dashboard.event_filter import EventFilter
from runs.dashboard.filters import Filter
from runs.dashboard.job_filter import JobFilter
from runs.dashboard.newest import Reader
from runs.dashboard.run_filter import RunFilter


@page
@require_GET
def jobs(request: HttpRequest, shape: str) -> HttpResponseBase:
    """The jobs of the list, all its pages."""
    asked = JobFilter(request.GET)
    if not asked.is_valid():
        return _back("jobs", asked)
    rows = asked.applied(jobs_of(request)).select_related("team", "due")
    found = exports.of_jobs(rows, asked.sorting)
    return _file(request, shape, "jobs", exports.JOB_COLUMNS, found, asked)


@page
@require_GET
def runs(request: HttpRequest, shape: str) -> HttpResponseBase:
    """The runs of the list, all its pages."""
    asked = RunFilter(request.GET)
    if not asked.is_valid():
        return _back("runs", asked)
    found = exports.of_runs(Reader(person(request).id), asked.wanted)
    return _file(request, shape, "runs", exports.RUN_COLUMNS, found, asked)


@page
@require_GET
def events(request: HttpRequest, shape: str) -> HttpResponseBase:
    """Who did what, all its pages."""
    asked = EventFilter(request.GET)
    if not asked.is_valid():
        return _back("audit", asked)
    found = acts.rows(asked.applied(acts.of(person(request))))
    return _file(request, shape, "events", acts.COLUMNS, found, asked)


def _back(name: str, asked: Filter) -> HttpResponseBase:
    """The list, which says what is wrong with its filter."""
    return redirect(f"{reverse(name)}{asked.address}")


def _file(
    request: HttpRequest,
    shape: str,
    what: str,
    columns: tuple[str, ...],
    rows: Iterator[exports.Row],
    asked: Filter,
) -> StreamingHttpResponse:
    write, kind = exports.SHAPES[shape]
    by = person(request).get_username()
    lines = exports.logged(write(columns, rows), what=what, by=by, query=asked.query)
    answer = StreamingHttpResponse(lines, content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="onebeat-{what}.{shape}"'
    return answer
