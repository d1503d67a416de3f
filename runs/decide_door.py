"""What the API's doors to decisions have in common: the run, and how a refusal is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request

from jobs import access
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs.by_hand import Busy, HasRun
from runs.decisions import NoteMissing, Stale
from runs.models import Run
from runs.review import shapes as review_shapes
from runs.review.approvals import AskedAlready, NotYours, Over
from runs.review.claims import Claimed
from runs.review.run_again import Happened, NotYetSettled


def runs_of(request: Request) -> QuerySet[Run]:
    """The runs of the token's team."""
    rows = Run.objects.where(access.person(request).id, Act.READ)
    found: QuerySet[Run] = rows.filter(job__team_id=access.team_id(request))
    return found


def run_of(request: Request, run_id: UUID, act: Act) -> Run:
    """The run; Http404 where there is none of the team, PermissionDenied below the role."""
    run = get_object_or_404(runs_of(request).defer("snapshot"), id=run_id)
    access.team(request, act)
    return run


@contextmanager
def deciding(request: Request) -> Iterator[None]:
    """Turns what the arrows raise into problems; who was faster is in the detail of a 409."""
    try:
        yield
    except NoteMissing as error:
        raise BadRequest(Problem("note", str(error))) from None
    except Stale as stale:
        raise conflict(request, stale) from None
    except Claimed as claimed:
        raise Conflict(str(claimed), claim=review_shapes.of_claim(claimed.claim)) from None
    except NotYetSettled as early:
        raise Conflict(str(early), until=instant(early.until)) from None
    except Happened as happened:
        raise Conflict(str(happened), probe=review_shapes.of_probe(happened.answer)) from None
    except (AskedAlready, Over) as found:
        told = review_shapes.of_approval(found.approval)
        raise Conflict(str(found), approval=told) from None
    except NotYours as theirs:
        raise PermissionDenied(str(theirs)) from None


def conflict(request: Request, found: Stale | Busy | HasRun) -> Conflict:
    """Names the run that is in the way, as it is now; there is none where it was pruned."""
    run = found.run
    if run is None:
        return Conflict(str(found))
    return Conflict(str(found), run=address(request, run), state=run.state, attempt=run.attempt)


def address(request: Request, run: Run) -> str:
    """Where the run is."""
    return request.build_absolute_uri(reverse("api-run", args=[run.id]))
