"""The API's doors to runs. The rules are the arrows: by_hand, review, replay, cancel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked
from jobs.api_door import Door
from jobs.asked_once import once
from jobs.definitions.definitions import Problem
from jobs.models import Job
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs import api_shapes, by_hand, cancel, changed
from runs.changed import Changes
from runs.decide_door import address, conflict, deciding, run_of
from runs.letters import replay
from runs.models import Run
from runs.review import approvals
from runs.review import deciding as review
from runs.review import shapes as review_shapes
from runs.states import State


class RunDoor(Door):
    """`runs/{id}/`: one run."""

    def get(self, request: Request, run_id: UUID) -> Response:
        """The run with its attempts and decisions."""
        asked.parameters(request, ())
        return Response(api_shapes.with_evidence(run_of(request, run_id, Act.READ)))


class RunNowDoor(Door):
    """`jobs/{id}/run/`."""

    @once
    def post(self, request: Request, job_id: UUID) -> Response:
        """A run of the job by hand, 201: now, with `changes` or without, or that of the moment
        `for`. 409 where one is active and the job has them in turn, the moment has a run, or a
        hold is on."""
        job = access.job(request, job_id, Act.OPERATE)
        data = asked.members(request, ("for", "changes", "like"))
        moment, changes = asked.instant(data, "for"), _changes(request, job, data)
        try:
            run = by_hand.run(job.id, moment, by=access.person(request), changes=changes)
        except (by_hand.Busy, by_hand.HasRun) as found:
            raise conflict(request, found) from None
        except by_hand.Held as held:
            hold = request.build_absolute_uri(reverse("api-hold", args=[held.hold.id]))
            raise Conflict(str(held), hold=hold, reason=held.hold.reason) from None
        except by_hand.NotDue as wrong:
            raise BadRequest(Problem("for", wrong.problem, wrong.hint)) from None
        headers = {"Location": address(request, run)}
        return Response(api_shapes.of_run(run), status=201, headers=headers)


def _changes(request: Request, job: Job, data: Mapping[str, Any]) -> Changes | None:
    """What the run is to call otherwise than its job says, which wants an editor; None: nothing."""
    given, like = data.get("changes"), asked.optional_id(data, "like")
    if given is None:
        if like is not None:
            raise BadRequest(Problem("like", "goes with changes.", "Say what is to differ."))
        return None
    if data.get("for") is not None:
        hint = "Leave one of the two out: a moment runs as the job was then."
        raise BadRequest(Problem("changes", "cannot go together with for.", hint))
    known = changed.PARTS[job.target["type"]]
    if not isinstance(given, dict) or not given or not set(given) <= set(known):
        hint = f"Give an object of {' and '.join(known)}, or of one of them."
        raise BadRequest(Problem("changes", "is not what this job’s runs may change.", hint))
    access.team(request, Act.EDIT)
    if like is not None and not Run.objects.filter(id=like, job=job).exists():
        raise BadRequest(Problem("like", "is no run of this job.", "Give the id of one."))
    return Changes(given, like)


class DecideDoor(Door):
    """`runs/{id}/decide/`: a run in review, decided."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`decision`, `note`, `attempt`: the one that was looked at, if it matters; `new_key`
        runs it again under a new key. 202 where it waits for a second person."""
        run = run_of(request, run_id, Act.OPERATE)
        data = asked.members(request, ("decision", "note", "attempt", "new_key"))
        choice = next((word for word in review.CHOICES if word == data.get("decision")), None)
        if choice is None:
            hint = f"Choose from {', '.join(review.CHOICES)}."
            raise BadRequest(Problem("decision", "is not one of the choices.", hint))
        new_key = asked.flag(data, "new_key")
        if new_key and choice != "run_again":
            hint = "Leave it out, or decide run_again."
            raise BadRequest(Problem("new_key", "is for running it again.", hint))
        try:
            with deciding(request):
                run = review.decide(run.id, choice, **_seen(request, data), new_key=new_key)
        except approvals.Asked as waits:
            shown = review_shapes.of_approval(waits.approval)
            return Response({**api_shapes.of_run(run), "approval": shown}, status=202)
        return Response(api_shapes.of_run(run))


class ReplayDoor(Door):
    """`runs/{id}/replay/`: a dead letter, tried again under the same key."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` and `attempt` may be given."""
        run = run_of(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note", "attempt"))
        with deciding(request):
            run = replay.replay(run.id, **_seen(request, data))
        return Response(api_shapes.of_run(run))


class DiscardDoor(Door):
    """`runs/{id}/discard/`: a dead letter, closed."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` says why; `attempt` may be given."""
        run = run_of(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note", "attempt"))
        with deciding(request):
            run = replay.discard(run.id, **_seen(request, data))
        return Response(api_shapes.of_run(run))


class CancelDoor(Door):
    """`runs/{id}/cancel/`: a run that has not started, or waits, taken back; a running one asked
    to stop."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """`note` may be given."""
        run = run_of(request, run_id, Act.OPERATE)
        data = asked.members(request, ("note",))
        take_back = cancel.stop if run.state == State.RUNNING else cancel.cancel
        with deciding(request):
            run = take_back(run.id, by=access.person(request), note=asked.text(data, "note"))
        return Response(api_shapes.of_run(run))


def _seen(request: Request, data: dict[str, Any]) -> dict[str, Any]:
    """What a decision is told of the one who takes it."""
    return {
        "token": asked.whole_number(data, "attempt"),
        "note": asked.text(data, "note"),
        "by": access.person(request),
    }
