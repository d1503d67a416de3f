"""The pages that show one run, and the runs of one job."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs import clock
from jobs.page_door import acts, job_for, page
from jobs.roles import Act
from jobs.targets.shapes import TargetError, load, masked
from runs import last_attempt, story
from runs.dashboard import marked, run_facts
from runs.dashboard.live import polling
from runs.forms import NoteForm
from runs.markers import kept
from runs.models import Run
from runs.page_door import listed, run_for
from runs.review import queue, run_again
from runs.review import shown as review_shown
from runs.review.forms import DecisionForm
from runs.states import TAKEN_BACK_FROM, UNDER_WAY, State

RECENT = 10  # runs on a job's page


@page
@require_GET
def more(request: HttpRequest) -> HttpResponse:
    """The pages that have no place at the edge of a narrow screen."""
    return render(request, "runs/more.html")


@polling.poll
@require_GET
def job_runs(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The newest runs of a job, for its page."""
    job = job_for(request, job_id)
    rows = list(last_attempt.with_end(listed(request).filter(job=job))[:RECENT])
    lines = marked.lines(job, rows)
    context = {"job": job, "lines": lines}
    region = polling.region(request, "job-runs", context, seen=[job.name, lines], job_id=job.id)
    return polling.answer(request, "runs/_job_runs.html", region)


@page
@require_GET
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One run: what it was to do, what happened, what may be done now."""
    return run_page(request, run_for(request, run_id))


@polling.poll
@require_GET
def run_live(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The part of that page that changes."""
    return polling.answer(request, "runs/run.html", _run(request, run_for(request, run_id)))


def run_page(
    request: HttpRequest, run: Run, form: NoteForm | None = None, status: int = 200
) -> HttpResponse:
    """The page of a run; `form` shows what was wrong with the decision just sent."""
    context = _run(request, run, form)
    if form is not None:
        context["every"] = 0  # what was typed stands in it
    return render(request, "runs/run.html", context, status=status)


def _run(request: HttpRequest, run: Run, form: NoteForm | None = None) -> dict[str, Any]:
    attempts = list(run.attempts.all())
    decisions = list(run.decisions.select_related("by", "second").order_by("at"))
    context = {
        "attempts": attempts,
        "story": story.tell(run, attempts, decisions),
        "decisions": decisions,
        "every": 2 if run.state in UNDER_WAY else 0,
        "cancellable": run.state in TAKEN_BACK_FROM,
        "stoppable": run.state == State.RUNNING and run.stop_asked_at is None,
        **review_context(request, run, form),
    }
    may_act = bool(context["may_act"])
    context["facts"] = run_facts.of(run, attempts, clock.now(), may_act=may_act)
    context["near"] = kept.before_failure(run.job, attempts)
    may = [may_act, context["may_edit"]]
    seen = [run, attempts, decisions, may, context["facts"].seen, context["near"]]
    return polling.region(request, "run-live", context, seen=seen, run_id=run.id)


def review_context(request: HttpRequest, run: Run, form: NoteForm | None) -> dict[str, Any]:
    """The run, what it calls, and what a person may say about it, with the evidence where it
    waits for a decision."""
    in_review = run.state == State.REVIEW
    may = acts(request, run.job.team_id)
    return {
        "run": run,
        "job": run.job,
        "target": _target(run.snapshot),
        "evidence": queue.evidence(run) if in_review else None,
        "news": review_shown.news(request, run, beside=False) if in_review else None,
        "risk": run_again.RISK,
        "form": _form(run, form),
        "may_act": Act.OPERATE in may,
        "may_edit": Act.EDIT in may,
    }


def _form(run: Run, sent: NoteForm | None) -> NoteForm:
    """The form that was sent, if it is still the one for this state; else a blank one."""
    blank = {"token": run.attempt}
    if run.state == State.REVIEW:
        return sent if type(sent) is DecisionForm else DecisionForm(initial=blank, run=run)
    return sent if type(sent) is NoteForm else NoteForm(initial=blank, label_suffix="")


def _target(snapshot: dict[str, Any]) -> Any:
    """What the run calls, secrets masked; None where a newer version wrote it."""
    try:
        return masked(load(snapshot))
    except TargetError:
        return None
