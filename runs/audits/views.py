"""The page of the audits."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.page_door import page, person
from runs.audits import kept
from runs.dashboard.finding import refused

_SHOWN = 50


@page
@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """What the audits of this person's teams found, the newest first."""
    before, wrong = request.GET.get("before", ""), {}
    rows = kept.of(person(request).id)
    if before.isascii() and before.isdecimal() and len(before) < 19:
        rows = rows.filter(id__lt=int(before))
    elif before:
        wrong = {"before": "This is no audit’s number, so the newest are shown."}
    found = list(rows[: _SHOWN + 1])
    more = f"?before={found[_SHOWN - 1].id}" if len(found) > _SHOWN else None
    context = {
        "audits": found[:_SHOWN],
        "more": more,
        "before": before,
        "refused": refused.of(request, beside=("before",), wrong=wrong),
    }
    return render(request, "runs/audit.html", context)
