"""The pages of who did what."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs import paging
from jobs.models import AuditEvent
from jobs.page_door import page, person
from jobs.problems import BadRequest
from runs.dashboard.events import events
from runs.dashboard.events.filter import EventFilter
from runs.dashboard.finding import refused
from runs.dashboard.lists import exports
from runs.dashboard.lists.views import slugs
from runs.page_door import address

SIZE = 50  # rows of a page


@page
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """What was done in this person's teams, and by whom, the newest first."""
    asked = EventFilter(request.GET, slugs=slugs(request))
    found, lost = _page(request, asked)
    last = (
        paging.cursor(found[SIZE - 1], events.NEWEST, request.path) if len(found) > SIZE else None
    )
    context = {
        "filter": asked,
        "events": events.shown(found[:SIZE]),
        "more": address(request, cursor=last) if last else None,
        "first": asked.address if request.GET.get("cursor") else None,
        "file_most": f"{exports.MOST:,}",
        "refused": refused.of(request, asked, beside=("cursor",), wrong=lost),
    }
    return render(request, "dashboard/audit.html", context)


def _page(request: HttpRequest, asked: EventFilter) -> tuple[list[AuditEvent], dict[str, str]]:
    """A page, and one more where there is a next; nothing for a filter that is none. With what
    is wrong with its cursor."""
    if not asked.is_valid():
        return [], {}
    lost = {}
    rows = asked.applied(events.of(person(request)))
    try:
        cursor = request.GET.get("cursor", "")
        rows = paging.after(rows, events.NEWEST, request.path, cursor) if cursor else rows
    except BadRequest:  # of another list, or of nowhere: from the beginning
        lost = {"cursor": refused.LOST}
    return list(rows[: SIZE + 1]), lost
