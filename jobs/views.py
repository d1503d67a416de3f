"""The pages of one job: register, look, edit, pause, resume, delete.

Each opens a rule of `editing`; whoever comes too late is told what happened meanwhile. The
pages that show jobs and runs together stand in `runs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import clock, editing, signing, stored, typed_numbers
from jobs.definitions import job_fields
from jobs.definitions.definitions import DefinitionError
from jobs.foresight import foresight
from jobs.foresight.previews import Preview
from jobs.foresight.views import SCHEDULE_FIELDS, changes_of, of_edit, pause_context
from jobs.forms import JobForm
from jobs.models import Job, Team
from jobs.page_door import acts, job_for, page, person
from jobs.pause_forms import PauseForm, SkipForm
from jobs.reading import is_name
from jobs.roles import Act
from jobs.schedules import schedules, zones
from jobs.targets import previews as target_previews
from jobs.targets import shapes as targets
from jobs.version_lines import Line, lines

VERSIONS = 30  # shown on the page
TABS = {
    "activity": "Activity",
    "schedule": "Schedule",
    "settings": "Settings",
    "versions": "Versions",
    "audit": "Audit",
    "notes": "Notes",
}
BLANK = {
    "schedule_kind": "cron",
    "timezone": "UTC",
    "unit": "minutes",
    "target_kind": "http",
    "method": "POST",
    "block_on_review": "on",
}


@page
@require_http_methods(["GET", "POST"])
def job_new(request: HttpRequest) -> HttpResponse:
    """Register a job in one of the teams whose jobs this person may edit."""
    teams = list(Team.objects.where(person(request).id, Act.EDIT))
    if not teams:
        return render(request, "jobs/no_team.html", status=403)
    if request.method == "GET":
        return _form_page(request, JobForm(teams=teams, initial=_like(request) or BLANK))
    if "preview" in request.POST:
        return _form_page(request, JobForm(teams=teams, initial=request.POST.dict()))
    form = JobForm(request.POST, teams=teams)
    job = form.is_valid() and _write(
        form, lambda: editing.register(form.chosen_team, form.definition, by=person(request))
    )
    if not job:
        return _form_page(request, form, status=422)
    messages.success(request, f"{job.name} is registered.")
    return redirect("job", job.id)


@page
@require_http_methods(["GET", "POST"])
def job_edit(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Edit a job, unless somebody else did since the page was opened."""
    job = job_for(request, job_id, Act.EDIT)
    if job.mirrored:
        return _read_only(request, job)
    try:
        definition = stored.definition(job)
    except schedules.ScheduleError as error:
        messages.error(request, f"This job cannot be edited here: {error}")
        return redirect("job", job.id)
    kept = of_edit(job)
    typed = job_fields.typed_of(definition)
    if request.method == "GET":
        return _form_page(request, JobForm(initial=typed, **kept), job)
    if "preview" in request.POST:
        shown = changes_of(job, JobForm(request.POST, **kept))
        form = JobForm(initial=request.POST.dict(), **kept)
        return _form_page(request, form, job, changes=shown)
    form = JobForm(request.POST, initial=typed, **kept)
    if request.POST.get("version") != str(job.version):
        return _form_page(request, form, job, status=409)
    if not form.is_valid() or not _write(
        form,
        lambda: editing.edit(job.id, form.definition, by=person(request), seen=job.version),
    ):
        return _form_page(request, form, job, status=422)
    messages.success(request, "Saved. Runs that are due already keep what they were to call.")
    return redirect("job", job.id)


@page
@require_GET
def job(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """One job: what it does, when, what became of it."""
    return _job_page(request, job_for(request, job_id))


@page
@require_POST
def job_pause(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Pause the job: no moment is due until it is resumed."""
    job = job_for(request, job_id, Act.OPERATE)
    form = PauseForm(request.POST)
    if "preview" in request.POST:  # no attempt to pause: its reason may still be missing
        form.errors.pop("reason", None)
        return _job_page(request, job, form)
    if not form.is_valid():
        return _job_page(request, job, form, status=422)
    return _change(
        request, job, lambda: editing.pause(job.id, form.pause, by=person(request)), "is paused"
    )


@page
@require_POST
def job_resume(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Resume the job from now on."""
    job = job_for(request, job_id, Act.OPERATE)
    return _change(
        request, job, lambda: editing.resume(job.id, by=person(request)), "is active again"
    )


@page
@require_POST
def job_skip(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Leave out the job's next moments; none of them any more where the form says 0."""
    job = job_for(request, job_id, Act.OPERATE)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _job_page(request, job, skip=form, status=422)
    count, reason = form.cleaned_data["count"], form.cleaned_data["reason"]
    told = f"leaves out its next {count} moment{'s'[: count != 1]}" if count else "skips nothing"
    return _change(
        request,
        job,
        lambda: editing.skip_next(job.id, count, reason=reason, by=person(request)),
        told,
    )


@page
@require_http_methods(["GET", "POST"])
def job_delete(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Delete the job, once its name is typed."""
    job = job_for(request, job_id, Act.EDIT)
    if job.mirrored:
        return _read_only(request, job)
    typed = request.POST.get("name", "")
    if request.method == "GET" or not is_name(typed, job.name):
        wrong = request.method == "POST"
        context = {"job": job, "typed": typed, "wrong": wrong, **_foresight(job)}
        return render(request, "jobs/delete.html", context, status=422 if wrong else 200)
    return _change(
        request, job, lambda: editing.delete(job.id, by=person(request)), "is deleted", to="jobs"
    )


@page
@require_POST
def job_signing_secret(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Make a new signing secret; this answer is the only one that shows it."""
    job = job_for(request, job_id, Act.EDIT)
    secret = signing.renew(job.id, by=person(request))
    return render(request, "jobs/signing_secret.html", {"job": job, "secret": secret})


def _like(request: HttpRequest) -> dict[str, str] | None:
    """What the form of a new job shows where it is to be like another one, which may be deleted:
    all but what is secret, and but its name where that is taken."""
    try:
        wanted = UUID(request.GET.get("like", ""))
        job = Job.objects.ever(person(request).id).filter(id=wanted).first()
        typed = job_fields.typed_of(stored.definition(job)) if job else None
    except (ValueError, schedules.ScheduleError):
        return None
    if job is None or typed is None:
        return None
    return {**typed, "team": job.team.slug, "name": job.name if job.deleted_at else ""}


def _write(form: JobForm, write: Callable[[], Job]) -> Job | None:
    """The job that was written; None when the form shows why it was not."""
    try:
        return write()
    except editing.NameTaken as taken:
        form.add_error("name", str(taken))
    except DefinitionError as error:  # a mask that stands for no secret
        form.refuse(error.problems)
    except editing.Changed as changed:
        form.add_error(None, str(changed))
    except editing.Gone:
        form.add_error(None, "Somebody deleted this job meanwhile. Nothing was saved.")
    return None


def _change(
    request: HttpRequest, job: Job, change: Callable[[], object], done: str, to: str = "job"
) -> HttpResponse:
    try:
        change()
    except editing.Gone:
        messages.error(request, f"Somebody deleted {job.name} meanwhile. Nothing was done.")
        return redirect("jobs")
    except editing.ReadOnly:
        return _read_only(request, job)
    except editing.NothingDue as error:
        messages.error(request, str(error))
        return redirect("job", job.id)
    messages.success(request, f"{job.name} {done}.")
    return redirect(to) if to == "jobs" else redirect(to, job.id)


def _read_only(request: HttpRequest, job: Job) -> HttpResponse:
    messages.error(request, f"{editing.ReadOnly()} Nothing was done.")
    return redirect("job", job.id)


def _form_page(
    request: HttpRequest,
    form: JobForm,
    job: Job | None = None,
    status: int = 200,
    changes: list[Line] | None = None,
) -> HttpResponse:
    now = clock.now()
    preview = foresight.with_others(form.preview(), job)
    context = {
        "form": form,
        "job": job,
        "preview": preview,
        "foresight": job and foresight.of_edit(job, preview, now),
        "filled": target_previews.of_typed(form.typed, preview, str(job.id) if job else None),
        "waits": typed_numbers.waits_of(form.typed),
        "answer": form.typed.get("idempotent", ""),
        "changes": changes,
        "untouched": not form.is_bound and "preview" not in request.POST,
        "schedule_fields": SCHEDULE_FIELDS,
        "zones": sorted(zones.names()),
        "version": request.POST.get("version") or (job and job.version),
        "overtaken": status == 409 and job and job.jobversion_set.select_related("by").last(),
    }
    return render(request, "jobs/form.html", context, status=status)


def _job_page(
    request: HttpRequest,
    job: Job,
    pause: PauseForm | None = None,
    skip: SkipForm | None = None,
    status: int = 200,
) -> HttpResponse:
    versions = job.jobversion_set.select_related("by").order_by("-number")[:VERSIONS]
    context = {
        "job": job,
        "tab": tab if (tab := request.GET.get("tab", "")) in TABS else "activity",
        "tabs": TABS.items(),
        "target": targets.masked(targets.load(job.target)),
        "acts": acts(request, job.team_id),
        **_foresight(job),
        **pause_context(job, pause or PauseForm()),
        "skip": skip or SkipForm(initial={"count": 1}),
        "versions": [(version, lines(version.changes)) for version in versions],
    }
    return render(request, "jobs/job.html", context, status=status)


def _foresight(job: Job) -> dict[str, Any]:
    """The moments to come, what a pause in force leaves out, and what no change takes back."""
    now, until = clock.now(), job.paused_until
    found: dict[str, Any] = {"overdue": foresight.overdue(job, now)}
    try:
        found["preview"] = foresight.of_job(job, now)
        if job.paused:
            found["resuming"] = foresight.of_paused(job, now)
            found["paused"] = foresight.of_paused(job, until) if until else None
    except schedules.ScheduleError as error:
        found["preview"] = Preview(problems={"schedule": str(error)})
    return found
