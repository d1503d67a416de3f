"""The API's lists of jobs and runs: the filters of the pages, by the same names."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api import RegisterDoor
from jobs.api_door import Door
from jobs.api_shapes import of_job
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest
from runs import api_shapes
from runs.dashboard.finding import job_pages, newest
from runs.dashboard.finding.filters import Filter
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.run_filter import RunFilter
from runs.decide_door import runs_of

_BY_BIRTH = ("-id",)
Asked = TypeVar("Asked", bound=Filter)


class JobsDoor(RegisterDoor):
    """`jobs/`: the team's jobs."""

    def get(self, request: Request) -> Response:
        """Those of a JobFilter, in its order; by name unless it says another."""
        wanted = filter_of(request, JobFilter)
        rows = wanted.applied(access.jobs(request), access.person(request).id)
        size, cursor = paging.size_of(request), request.query_params.get("cursor", "")
        _refuse_empty(request, "cursor")
        found, more = job_pages.page(rows, wanted.sorting, cursor, size)
        following = paging.following_page(request, more) if more else None
        return Response({"results": [of_job(job) for job in found], "next": following})


class RunsDoor(Door):
    """`runs/`: the team's runs, newest first."""

    def get(self, request: Request) -> Response:
        """Those of a RunFilter."""
        wanted = filter_of(request, RunFilter).wanted
        size, below = paging.size_of(request), None
        if (given := request.query_params.get("cursor")) is not None:
            below = UUID(paging.opened(given, _BY_BIRTH, request.path)[0])
        reader = Reader(access.person(request).id, access.team_id(request))
        ids = newest.ids(reader, wanted, size + 1, below=below)
        rows = runs_of(request).select_related(None).only(*api_shapes.COLUMNS)
        shown = rows.filter(id__in=ids[:size]).order_by(*_BY_BIRTH)
        last = ids[size - 1] if len(ids) > size else None
        following = last and _behind(request, last)
        return Response({"results": [api_shapes.of_run(run) for run in shown], "next": following})


def _behind(request: Request, last: UUID) -> str:
    """The address of the page behind this run."""
    cursor = paging.cursor({"id": last}, _BY_BIRTH, request.path)
    return paging.following_page(request, cursor)


def filter_of(request: Request, kind: type[Asked]) -> Asked:
    """The valid filter in a request's parameters. Raises BadRequest, which names each that is
    unknown, empty or none of the choices."""
    asked.parameters(request, (*kind.names(), *paging.PARAMETERS))
    for name in kind.names():
        _refuse_empty(request, name)
    found = kind(request.query_params)
    if not found.is_valid():
        raise BadRequest(*problems_of(found))
    return found


def problems_of(form: Filter) -> list[Problem]:
    """What is wrong with a filter, by parameter."""
    return [
        Problem(name, " ".join(str(one) for one in errors)) for name, errors in form.errors.items()
    ]


def _refuse_empty(request: Request, name: str) -> None:
    if "" in request.query_params.getlist(name):
        raise BadRequest(Problem(name, "is empty.", "Give a value, or leave it out."))
