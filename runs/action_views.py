"""What a person does with a run: run now, decide, replay, discard, cancel.

Each opens one arrow. Whoever comes too late is sent to the run with who was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs import editing
from jobs.page_door import job_for, page, person
from jobs.roles import Act
from runs import by_hand, replay
from runs import cancel as cancelling
from runs import review as reviewing
from runs.decisions import NoteMissing, Stale
from runs.forms import DecisionForm, NoteForm
from runs.models import Run
from runs.page_door import listed, run_for
from runs.states import ACTIVE
from runs.views import run_page


@page
@require_http_methods(["GET", "POST"])
def run_now(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Run a job now. GET says what that means and asks."""
    job = job_for(request, job_id, Act.OPERATE)
    if request.method == "GET":
        active = listed(request).filter(job=job, state__in=ACTIVE).first()
        return render(request, "runs/run_now.html", {"job": job, "active": active})
    try:
        run = by_hand.run_now(job.id, by=person(request))
    except editing.Gone:
        messages.error(request, f"Somebody deleted {job.name} meanwhile. Nothing was run.")
        return redirect("jobs")
    except by_hand.Busy as busy:
        messages.error(request, f"Nothing was started. {busy}")
        return redirect("run", busy.run.id)
    messages.success(request, f"A run of {job.name} is on its way.")
    return redirect("run", run.id)


@page
@require_POST
def decide(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Decide about a run in review."""
    run = run_for(request, run_id, Act.OPERATE)
    form = DecisionForm(request.POST, label_suffix="")
    if not form.is_valid():
        return run_page(request, run, form, status=422)
    token, note = form.said
    return _move(
        request,
        run,
        form,
        lambda: reviewing.decide(run.id, form.choice, token=token, note=note, by=person(request)),
        "Decided, and recorded with your name.",
    )


@page
@require_POST
def replay_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Send a dead letter again: the same run, the same key."""
    return _with_note(
        request, run_id, replay.replay, "It is sent again with the same key, in its turn."
    )


@page
@require_POST
def discard_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Close a dead letter for good."""
    return _with_note(request, run_id, replay.discard, "Discarded, and recorded with your name.")


@page
@require_POST
def cancel_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Take back a run that has not started."""
    run = run_for(request, run_id, Act.OPERATE)
    form = NoteForm(request.POST, label_suffix="")
    if not form.is_valid():
        return run_page(request, run, form, status=422)
    note = form.said[1]
    return _move(
        request,
        run,
        form,
        lambda: cancelling.cancel(run.id, by=person(request), note=note),
        "Cancelled. It will not start.",
    )


def _with_note(
    request: HttpRequest, run_id: UUID, arrow: Callable[..., Run], done: str
) -> HttpResponse:
    run = run_for(request, run_id, Act.OPERATE)
    form = NoteForm(request.POST, label_suffix="")
    if not form.is_valid():
        return run_page(request, run, form, status=422)
    token, note = form.said
    return _move(
        request, run, form, lambda: arrow(run.id, token=token, note=note, by=person(request)), done
    )


def _move(
    request: HttpRequest, run: Run, form: NoteForm, move: Callable[[], Run], done: str
) -> HttpResponse:
    try:
        move()
    except Stale as stale:
        messages.error(request, f"{stale} Yours was not recorded.")
    except NoteMissing as missing:
        form.add_error("note", str(missing))
        return run_page(request, run, form, status=422)
    else:
        messages.success(request, done)
    return redirect("run", run.id)
