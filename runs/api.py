"""The API's doors to runs. The rules are the arrows: by_hand, review, replay, cancel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.asked_once import once
from jobs.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs import api_shapes, by_hand, cancel, replay, review
from runs.models import Run
from runs.review import NoteMissing, Stale
from runs.states import State


class RunsDoor(Door):
    """`runs/`: the team's runs, newest first."""

    def get(self, request: Request) -> Response:
        """The runs of `?job=`, of `?team=`, of `?backfill=`, in any `?state=`."""
        asked.parameters(request, ("job", "state", "team", "backfill", *paging.PARAMETERS))
        rows = _runs(request).select_related(None).only(*api_shapes.COLUMNS)
        if (job_id := asked.identifier(request, "job")) is not None:
            rows = rows.filter(job_id=job_id)
        if (slug := asked.slug(request, "team")) is not None:
            rows = rows.filter(job__team__slug=slug)
        if (backfill_id := asked.identifier(request, "backfill")) is not None:
            rows = rows.filter(backfill_id=backfill_id)
        if states := asked.choices(request, "state", tuple(State)):
            rows = rows.filter(state__in=states)
        return paging.page(request, rows, ("-id",), api_shapes.of_run)


class RunDoor(Door):
    """`runs/{id}/`: one run."""

    def get(self, request: Request, run_id: UUID) -> Response:
        """The run with its attempts and decisions."""
        asked.parameters(request, ())
        return Response(api_shapes.with_evidence(_run(request, run_id, Act.READ)))


class RunNowDoor(Door):
    """`jobs/{id}/run/`."""

    @once
    def post(self, request: Request, job_id: UUID) -> Response:
        """A run of the job by hand, 201: now, or that of the moment `for`. 409 where one is
        active and the job has them in turn, the moment has a run, or a hold is on."""
        job = access.job(request, job_id, Act.OPERATE)
        moment = asked.instant(asked.members(request, ("for",)), "for")
        try:
            run = by_hand.run(job.id, moment, by=access.person(request))
        except (by_hand.Busy, by_hand.HasRun) as found:
            raise _conflict(request, found) from None
        except by_hand.Held as held:
            hold = request.build_absolute_uri(reverse("api-hold", args=[held.hold.id]))
            raise Conflict(str(held), hold=hold, reason=held.hold.reason) from None
        except by_hand.NotDue as wrong:
            raise BadRequest(Problem("for", wrong.problem, wrong.hint)) from None
        headers = {"Location": _address(request, run)}
        return Response(api_shapes.of_run(run), status=201, headers=headers)


class DecideDoor(Door):
    """`runs/{id}/decide/`: a run in review, decided."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`decision`, `note`, and `attempt`: the one that was looked at, if it matters."""
        run = _run(request, run_id, Act.OPERATE)
        data = asked.members(request, ("decision", "note", "attempt"))
        choice = next((word for word in review.CHOICES if word == data.get("decision")), None)
        if choice is None:
            hint = f"Choose from {', '.join(review.CHOICES)}."
            raise BadRequest(Problem("decision", "is not one of the choices.", hint))
        with _said(request):
            run = review.decide(run.id, choice, **_seen(request, data))
        return Response(api_shapes.of_run(run))


class ReplayDoor(Door):
    """`runs/{id}/replay/`: a dead letter, tried again under the same key."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` and `attempt` may be given."""
        run = _run(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note", "attempt"))
        with _said(request):
            run = replay.replay(run.id, **_seen(request, data))
        return Response(api_shapes.of_run(run))


class DiscardDoor(Door):
    """`runs/{id}/discard/`: a dead letter, closed."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` says why; `attempt` may be given."""
        run = _run(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note", "attempt"))
        with _said(request):
            run = replay.discard(run.id, **_seen(request, data))
        return Response(api_shapes.of_run(run))


class CancelDoor(Door):
    """`runs/{id}/cancel/`: a run that has not started, or waits, taken back."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` may be given."""
        run = _run(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note",))
        with _said(request):
            run = cancel.cancel(run.id, by=access.person(request), note=asked.text(data, "note"))
        return Response(api_shapes.of_run(run))


def _runs(request: Request) -> QuerySet[Run]:
    rows = Run.objects.where(access.person(request).id, Act.READ)
    found: QuerySet[Run] = rows.filter(job__team_id=access.team_id(request))
    return found


def _run(request: Request, run_id: UUID, act: Act) -> Run:
    run = _runs(request).defer("snapshot").filter(id=run_id).first()
    if run is None:
        raise Http404
    access.team(request, act)
    return run


def _seen(request: Request, data: dict[str, Any]) -> dict[str, Any]:
    """What a decision is told of the one who takes it."""
    return {
        "token": asked.whole_number(data, "attempt"),
        "note": asked.text(data, "note"),
        "by": access.person(request),
    }


@contextmanager
def _said(request: Request) -> Iterator[None]:
    """Turns what the arrows raise into problems; who was faster is in the detail of a 409."""
    try:
        yield
    except NoteMissing as error:
        raise BadRequest(Problem("note", str(error))) from None
    except Stale as stale:
        raise _conflict(request, stale) from None


def _conflict(request: Request, found: Stale | by_hand.Busy | by_hand.HasRun) -> Conflict:
    """Names the run that is in the way, as it is now; there is none where it was pruned."""
    run = found.run
    if run is None:
        return Conflict(str(found))
    return Conflict(str(found), run=_address(request, run), state=run.state, attempt=run.attempt)


def _address(request: Request, run: Run) -> str:
    return request.build_absolute_uri(reverse("api-run", args=[run.id]))
