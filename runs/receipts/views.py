"""The receipt of a run as a page, and as a file that can be verified."""

from __future__ import annotations

import json
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs import clock
from jobs.page_door import page
from runs import story
from runs.page_door import run_for
from runs.receipts import keys
from runs.receipts import receipt as receipts


@page
@require_GET
def receipt(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The story of a run from top to bottom, with everything that is on record."""
    run = run_for(request, run_id)
    attempts = list(run.attempts.all())
    decisions = list(run.decisions.select_related("by").order_by("at"))
    context = {
        "run": run,
        "job": run.job,
        "attempts": attempts,
        "story": story.tell(run, attempts, decisions),
        "document": keys.signed(receipts.of_run(run, now=clock.now())),
    }
    return render(request, "runs/receipt.html", context)


@page
@require_GET
def receipt_file(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The signed document, to be kept."""
    run = run_for(request, run_id)
    document = keys.signed(receipts.of_run(run, now=clock.now()))
    text = json.dumps(document, ensure_ascii=False, indent=2)
    name = f"receipt-{run.id}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="application/json", headers=headers)
