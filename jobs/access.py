"""What a request of the API may act on: the things of its token's one team, in its person's role.

Across teams a thing is not there (404). Inside the team a role that does not reach is told so
(403). Both are read from the database at each request.
"""

from __future__ import annotations

from typing import cast
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from rest_framework.request import Request

from jobs import deleted
from jobs.definitions.errors import Problem
from jobs.models import Job, Team, Token, User
from jobs.problems import NoSuch
from jobs.roles import Act, roles_that_may


def person(request: Request) -> User:
    """Who asks."""
    return cast(User, request.user)


def team_id(request: Request) -> UUID:
    """The team that the token stands for."""
    return cast(Token, request.auth).team_id


def team(request: Request, act: Act) -> Team:
    """The token's team; PermissionDenied where the person may not do this in it."""
    teams = Team.objects.where(person(request).id, act)
    found: Team | None = teams.filter(id=team_id(request)).first()
    if found is None:
        role = roles_that_may(act)[0]
        raise PermissionDenied(f"This needs the role {role} or one above it in the team.")
    return found


def demand_own(team: Team, given: object, *, beside: str = "") -> None:
    """Raises NoSuch where a body names another team than the token's, for any other is not there;
    `beside`: what else may be given, in words."""
    if given != team.slug:
        hint = f"Leave it out, or give {team.slug}{beside}."
        raise NoSuch(Problem("team", "is not the team of this token.", hint))


def jobs(request: Request) -> QuerySet[Job]:
    """The team's jobs, each with its team and its next moment."""
    rows = Job.objects.where(person(request).id, Act.READ)
    found: QuerySet[Job] = rows.filter(team_id=team_id(request)).select_related("team", "due")
    return found


def job(request: Request, job_id: UUID, act: Act) -> Job:
    """The job; Http404 where there is none of the team (Deleted: any more), PermissionDenied below
    the role."""
    found = jobs(request).filter(id=job_id).first()
    if found is None:
        ever = Job.objects.ever(person(request).id).filter(team_id=team_id(request))
        raise deleted.missing(ever, job_id)
    team(request, act)
    return found
