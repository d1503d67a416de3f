"""The pages of test requests: what would be sent, and what became of it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.definitions.definitions import DefinitionError, Problem
from jobs.forms import JobForm
from jobs.models import Job, Team
from jobs.page_door import acts, demand, job_for, page, person
from jobs.roles import Act
from runs import key_proof, story
from runs.by_hand import Held
from runs.models import Trial
from runs.trials import trial, typed
from runs.trials.trial import Asked

_REFUSALS: dict[type[Exception], int] = {
    trial.NotConfirmed: 422,
    trial.TooMany: 429,
    trial.Taken: 409,
    Held: 409,
}
_TYPED = (*JobForm.base_fields, "team", "job")  # what the page of a typed one carries along


@page
@require_http_methods(["GET", "POST"])
def job_test(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Try a job's target out as it is saved: GET shows what would be sent, and asks."""
    job = job_for(request, job_id, Act.OPERATE)
    try:
        asked = trial.of_job(job, _id(request))
    except trial.NotHttp as wrong:
        messages.error(request, str(wrong))
        return redirect("job", job.id)
    if request.method == "GET":
        return _asking(request, asked)
    return _sent(request, asked)


@page
@require_POST
def typed_test(request: HttpRequest) -> HttpResponse:
    """Try out the target that stands in the form of a job. Nothing of the job is saved."""
    job = _edited(request)
    fields = {name: request.POST[name] for name in _TYPED if name in request.POST}
    try:
        team = job.team if job else _team(request)
        asked = typed.read(fields, team, job, _id(request))
    except (DefinitionError, trial.NotHttp) as wrong:
        problems = wrong.problems if isinstance(wrong, DefinitionError) else [wrong]
        return render(request, "runs/trial_refused.html", {"problems": _said(problems)}, status=422)
    if "send" not in request.POST:
        return _asking(request, asked, fields)
    return _sent(request, asked, fields)


@page
@require_http_methods(["GET", "POST"])
def one(request: HttpRequest, trial_id: UUID) -> HttpResponse:
    """What became of one. POST sends the same once more, with the same key."""
    rows = Trial.objects.where(person(request).id)
    found = get_object_or_404(rows, id=trial_id)
    if request.method == "POST":
        demand(request, found.team_id, Act.OPERATE)
        return _sent(request, trial.once_more(found), shown=found)
    return _result(request, found)


def _sent(
    request: HttpRequest,
    asked: Asked,
    fields: dict[str, str] | None = None,
    shown: Trial | None = None,
) -> HttpResponse:
    said = request.POST.get("confirmed", "")
    try:
        done = trial.send(asked, confirmed=said, by=person(request))
    except tuple(_REFUSALS) as refused:
        again = _REFUSALS[type(refused)]
        page = (
            _result(request, shown, str(refused), again)
            if shown
            else _asking(request, asked, fields, str(refused), again)
        )
        if isinstance(refused, trial.TooMany):
            page["Retry-After"] = str(refused.wait)
        return page
    return redirect("trial", done.id)


def _asking(
    request: HttpRequest,
    asked: Asked,
    fields: dict[str, str] | None = None,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "asked": asked,
        "job": asked.job,
        "fields": fields,
        "error": error,
        "longest": trial.LONGEST,
        "earlier": trial.of_a_job(asked.job) if asked.job else [],
    }
    return render(request, "runs/trial_ask.html", context, status=status)


def _result(request: HttpRequest, found: Trial, error: str = "", status: int = 200) -> HttpResponse:
    first = found.same_key_as or found
    context = {
        "trial": found,
        "job": found.job if found.job and found.job.deleted_at is None else None,
        "error": error,
        "glyph": story.glyph_of(found.outcome) if found.outcome else "waiting",
        "replayed": key_proof.replayed(found.answer) or found.outcome == "later",
        "same": [first, *first.repeats.order_by("at")],
        "may_act": Act.OPERATE in acts(request, found.team_id),
    }
    return render(request, "runs/trial.html", context, status=status)


def _id(request: HttpRequest) -> UUID | None:
    """The id that the page gave the request which it asks about: a second click is no second."""
    try:
        return UUID(request.POST.get("trial", ""))
    except ValueError:
        return None


def _edited(request: HttpRequest) -> Job | None:
    given = request.POST.get("job", "")
    try:
        return job_for(request, UUID(given), Act.EDIT) if given else None
    except ValueError:
        raise Http404 from None


def _team(request: HttpRequest) -> Team:
    teams = list(Team.objects.where(person(request).id, Act.EDIT))
    if not teams:
        raise PermissionDenied
    for team in teams:
        if team.slug == request.POST.get("team"):
            return team
    raise DefinitionError(
        [Problem("team", "is not a team whose jobs you may edit.", "Choose one.")]
    )


def _said(problems: list[Any]) -> list[str]:
    return [
        f"{JobForm.label_of(one.field.partition('.')[2] or one.field)}: {one.message} {one.hint}"
        if isinstance(one, Problem)
        else str(one)
        for one in problems
    ]
