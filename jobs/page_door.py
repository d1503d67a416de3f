"""What every page asks first: who is there, and what may they do in this team."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from jobs.deleted import Deleted, missing
from jobs.models import Job, Membership, User
from jobs.models.job import JobQuerySet
from jobs.roles import Act, may

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=HttpResponseBase)
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def page(
    view: Callable[Concatenate[HttpRequest, P], Answer],
) -> Callable[Concatenate[HttpRequest, P], Answer | HttpResponse]:
    """A page with a team's data: for people who have signed in, and kept by no cache. Of a job
    that was deleted each says so."""

    @wraps(view)
    def told(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> Answer | HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Deleted as gone:
            shown = {"gone": gone, "job": gone.job, "acts": acts(request, gone.job.team_id)}
            return render(request, "jobs/deleted.html", shown, status=410)

    return never_cache(login_required(told))


def fragment(view: View[P]) -> View[P]:
    """As `page`, for a part of one. Where the session is over, htmx is told to leave the page:
    jobs/page_sessions.py."""
    return page(view)


def person(request: HttpRequest) -> User:
    """Who has signed in. Raises PermissionDenied where nobody has."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def back_of(request: HttpRequest) -> str | None:
    """The page that a form says it stood on, `next`; None where it names no page of this site."""
    given = request.POST.get("next") or request.GET.get("next", "")
    here = url_has_allowed_host_and_scheme(given, {request.get_host()}, request.is_secure())
    return given if here and given.startswith("/") else None


def jobs_of(request: HttpRequest, act: Act = Act.READ) -> JobQuerySet:
    """The jobs of the teams in which this person may do this."""
    return Job.objects.where(person(request).id, act)


def job_for(request: HttpRequest, job_id: UUID, act: Act = Act.READ) -> Job:
    """The job, for this. Another team's is 404, as if it were not there; one that was deleted, 410;
    without leave, 403."""
    job = jobs_of(request).filter(id=job_id).first()
    if job is None:
        raise missing(Job.objects.ever(person(request).id), job_id)
    demand(request, job.team_id, act)
    return job


def acts(request: HttpRequest, team_id: UUID) -> frozenset[Act]:
    """What this person may do in a team, by their role as of now."""
    found = Membership.objects.filter(team_id=team_id, user_id=person(request).id).first()
    return frozenset(act for act in Act if found and may(found.role, act))


def may_hold(request: HttpRequest, team_id: UUID | None) -> bool:
    """Whether this person may begin and end holds of the team; None: of the installation, which
    the platform's staff hold."""
    if team_id is None:
        return person(request).is_staff
    return Act.OPERATE in acts(request, team_id)


def demand(request: HttpRequest, team_id: UUID, act: Act) -> None:
    """Raises PermissionDenied unless this person may do this in the team."""
    if act not in acts(request, team_id):
        raise PermissionDenied
