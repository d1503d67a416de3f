"""Saved views as tabs above their list, with how much each finds, counted up to a bound."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, QueryDict

from jobs.page_door import jobs_of, person
from runs.dashboard.finding import newest
from runs.dashboard.finding.filters import Filter
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.run_filter import RunFilter
from runs.dashboard.saved_views import saved_views
from runs.models import SavedView

MOST = 99  # a count reads no more rows than that
COUNTED = 8  # tabs; the others have no number


@dataclass(frozen=True)
class Tab:
    """A view, where it is, whether it is the one that is open, and how much it finds."""

    view: SavedView
    address: str
    is_open: bool
    count: str


def of(request: HttpRequest, page: str, asked: Filter) -> list[Tab]:
    """The tabs of a list: this person's own views, and those that are shared with them."""
    rows = SavedView.objects.where(person(request).id).filter(page=page)
    views = list(rows.select_related("team")[: 4 * saved_views.MOST])
    return [
        Tab(
            view,
            saved_views.address(view),
            view.query == asked.query,
            _count(request, view) if place < COUNTED else "",
        )
        for place, view in enumerate(views)
    ]


def _count(request: HttpRequest, view: SavedView) -> str:
    data = QueryDict(saved_views.address(view).partition("?")[2])
    found = _jobs(request, data) if view.page == "jobs" else _runs(request, data)
    return "" if found is None else f"{MOST}+" if found > MOST else str(found)


def _jobs(request: HttpRequest, data: QueryDict) -> int | None:
    asked = JobFilter(data)
    if not asked.is_valid():
        return None
    rows = asked.applied(jobs_of(request).select_related(None), person(request).id)
    return rows.order_by()[: MOST + 1].count()


def _runs(request: HttpRequest, data: QueryDict) -> int | None:
    asked = RunFilter(data)
    if not asked.is_valid():
        return None
    return newest.count(Reader(person(request).id), asked.wanted, MOST + 1)
