"""What a person does with a run: run now, replay, discard, cancel.

Each opens one arrow. Whoever comes too late is sent to the run with who was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST

from jobs import editing, holds, reader
from jobs.models import Job
from jobs.page_door import acts, job_for, page, person
from jobs.roles import Act
from jobs.schedules.instants import canonical_instant
from runs import by_hand, moments
from runs import cancel as cancelling
from runs.decisions import NoteMissing, Stale
from runs.forms import NOW, NoteForm, RunNowForm
from runs.letters import replay
from runs.models import Run
from runs.page_door import listed, run_for
from runs.states import ACTIVE, ReviewClass, State
from runs.templatetags.told import link_to
from runs.views import run_page


@page
@require_http_methods(["GET", "POST"])
def run_now(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Run a job now, or for a moment that was not carried out. GET says what that means and
    asks; one click without a choice asks too, where there is one."""
    job = job_for(request, job_id, Act.OPERATE)
    if request.method == "GET":
        return _run_now_page(request, job, RunNowForm())
    if "moment" not in request.POST and "offered" not in request.POST:
        if holds.over(job.team_id) or moments.on_offer(job.id, 1):
            return redirect("job-run-now", job.id)
        return _start(request, job, RunNowForm({"moment": NOW}))
    return _start(request, job, RunNowForm(request.POST))


def _start(request: HttpRequest, job: Job, form: RunNowForm) -> HttpResponse:
    if not form.is_valid():
        return _run_now_page(request, job, form, status=422)
    try:
        run = by_hand.run(job.id, form.chosen, by=person(request))
    except editing.Gone:
        messages.error(request, f"Somebody deleted {job.name} meanwhile. Nothing was run.")
        return redirect("jobs")
    except by_hand.NotDue as wrong:
        form.add_error("moment", str(wrong))
        return _run_now_page(request, job, form, status=422)
    except (by_hand.Busy, by_hand.HasRun) as found:
        messages.error(request, f"Nothing was started. {found}")
        return redirect("run", found.run.id) if found.run else redirect("job-run-now", job.id)
    except by_hand.Held as held:
        messages.error(request, f"Nothing was started. {held}")
        return redirect("job-run-now", job.id)
    _say(request, f"A run of {job.name} is on its way.", run)
    return redirect("run", run.id)


def _say(request: HttpRequest, done: str, run: Run) -> None:
    """What was done, and to which run: the message may be read on another page."""
    messages.success(request, format_html("{} {}", done, link_to(run, reader.zone_of(request))))


def _run_now_page(
    request: HttpRequest, job: Job, form: RunNowForm, status: int = 200
) -> HttpResponse:
    runs = listed(request).filter(job=job)
    hold = holds.over(job.team_id)
    held = runs.filter(state=State.WAITING, hold__isnull=False).order_by("due_at")
    waiting = [run.due_at for run in held[:_OFFERED] if run.due_at]
    context = {
        "job": job,
        "hold": hold,
        "form": form,
        "may_edit": Act.EDIT in acts(request, job.team_id),
        "active": runs.filter(state__in=ACTIVE).first(),
        "held": [(canonical_instant(at), at) for at in waiting],
        "offered": []
        if hold
        else [(canonical_instant(at), at) for at in moments.on_offer(job.id, _OFFERED)],
        "missed": runs.filter(state=State.REVIEW, review_class=ReviewClass.MISSED)[:_OFFERED],
    }
    return render(request, "runs/run_now.html", context, status=status)


_OFFERED = 5  # of the newest moments


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
    """Take back a run that has not started, or ask a running one to stop."""
    run = run_for(request, run_id, Act.OPERATE)
    form = NoteForm(request.POST, label_suffix="")
    if not form.is_valid():
        return run_page(request, run, form, status=422)
    note, running = form.said[1], run.state == State.RUNNING
    take_back = cancelling.stop if running else cancelling.cancel
    return _move(
        request,
        run,
        form,
        lambda: take_back(run.id, by=person(request), note=note),
        "It was asked to stop." if running else "Cancelled. It will not start.",
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
        _say(request, done, run)
    return redirect("run", run.id)
