"""The API's doors to review: the queue, one of it, many at once, second pairs of eyes."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, paging
from jobs.api_door import Door
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs import api_shapes
from runs.decide_door import deciding, run_of, runs_of
from runs.models import Approval, ReviewClaim, Run
from runs.review import approvals, bulk, claims, probe, queue, shapes
from runs.review import deciding as review
from runs.states import ReviewClass

_TRUE = ("true", "false")


class ReviewsDoor(Door):
    """`review/`: the team's runs that wait for a person, in the order to take them."""

    def get(self, request: Request) -> Response:
        """By `?class=`, `?job=`, `?claimed=mine`, `others` or `nobody`, `?overdue=true`."""
        asked.parameters(request, ("class", "job", "claimed", "overdue", *paging.PARAMETERS))
        rows = queue.narrowed(
            queue.waiting(runs_of(request).defer("snapshot")),
            access.person(request).id,
            classes=asked.choices(request, "class", tuple(ReviewClass)),
            job_id=asked.identifier(request, "job"),
            whose=next(iter(asked.choices(request, "claimed", queue.WHOSE)), ""),
            overdue=asked.choices(request, "overdue", _TRUE)[:1] == ["true"],
        )
        now = clock.now()

        def shape(run: Run) -> dict[str, Any]:
            return shapes.of_item(run, _lasting(run, now), now)

        rows = rows.select_related("reviewclaim__by", "job")
        return paging.page(request, rows, queue.ORDER, shape)


class ReviewDoor(Door):
    """`review/{run id}/`: all that is known of one."""

    def get(self, request: Request, run_id: UUID) -> Response:
        """The run with its evidence."""
        asked.parameters(request, ())
        run = run_of(request, run_id, Act.READ)
        if run.review_at is None:
            raise Http404
        return Response(shapes.of_evidence(queue.evidence(run), clock.now()))


class ClaimDoor(Door):
    """`review/{run id}/claim/`."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """The run taken for a quarter of an hour. 409 while somebody else has it."""
        run = run_of(request, run_id, Act.OPERATE)
        asked.members(request, ())
        with deciding(request):
            claim = claims.take(run.id, by=access.person(request))
        return Response(shapes.of_claim(claim))


class ReleaseDoor(Door):
    """`review/{run id}/release/`."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """One's own claim given up, 204."""
        run = run_of(request, run_id, Act.OPERATE)
        asked.members(request, ())
        with deciding(request):
            claims.release(run.id, by=access.person(request))
        return Response(status=204)


class ProbeDoor(Door):
    """`review/{run id}/probe/`."""

    def post(self, request: Request, run_id: UUID) -> Response:
        """What the job's probe says just now; `answer` is null where the job names none."""
        run = run_of(request, run_id, Act.OPERATE)
        asked.members(request, ())
        found = probe.ask(run, by=access.person(request))
        none = {"answer": None, "detail": "The job names no probe.", "at": None}
        return Response(shapes.of_probe(found) or none)


class BulkDoor(Door):
    """`review/bulk/`: the same decision about many of which nothing was sent."""

    def post(self, request: Request) -> Response:
        """`decision` and `note`; `runs`: ids, or `as_of` and `expected`, of a `job` if given. The
        result of each. 409 with the number where the filter finds another one than expected."""
        access.team(request, Act.OPERATE)
        data = asked.members(request, ("decision", "note", "runs", "job", "as_of", "expected"))
        choice = next((word for word in bulk.CHOICES if word == data.get("decision")), None)
        if choice is None:
            hint = f"Choose from {', '.join(bulk.CHOICES)}."
            raise BadRequest(Problem("decision", "is not one of the choices.", hint))
        try:
            ids = _named(request, data) if "runs" in data else _found(request, data)
            results = bulk.decide(
                ids, choice, note=asked.text(data, "note"), by=access.person(request)
            )
        except bulk.Differs as differs:
            raise Conflict(str(differs), found=differs.found) from None
        except bulk.TooMany as many:
            raise BadRequest(Problem("runs", str(many))) from None
        except review.NoteMissing as missing:
            raise BadRequest(Problem("note", str(missing))) from None
        return Response({"results": [shapes.of_result(result) for result in results]})


class ApprovalsDoor(Door):
    """`approvals/`: what waits for a second person in the team."""

    def get(self, request: Request) -> Response:
        """The oldest first."""
        asked.parameters(request, paging.PARAMETERS)
        rows = approvals.waiting(access.person(request).id)
        rows = rows.filter(team_id=access.team_id(request))
        return paging.page(request, rows, ("at", "id"), shapes.of_approval)


class ApprovalDoor(Door):
    """`approvals/{id}/`: one of them."""

    def get(self, request: Request, approval_id: UUID) -> Response:
        """What was asked, and what became of it."""
        asked.parameters(request, ())
        return Response(shapes.of_approval(_approval(request, approval_id, Act.READ)))

    def post(self, request: Request, approval_id: UUID) -> Response:
        """`answer`: `approve` (another than who asked), `refuse` (with a `note`), or `withdraw`
        (who asked)."""
        approval = _approval(request, approval_id, Act.OPERATE)
        data = asked.members(request, ("answer", "note"))
        by, note = access.person(request), asked.text(data, "note")
        with deciding(request):
            match data.get("answer"):
                case "approve":
                    return Response(
                        api_shapes.of_run(approvals.approve(approval.id, note=note, by=by))
                    )
                case "refuse":
                    answered = approvals.refuse(approval.id, note=note, by=by)
                case "withdraw":
                    answered = approvals.withdraw(approval.id, by=by)
                case _:
                    hint = "Choose from approve, refuse, withdraw."
                    raise BadRequest(Problem("answer", "is not one of the choices.", hint))
        return Response(shapes.of_approval(answered))


def _approval(request: Request, approval_id: UUID, act: Act) -> Approval:
    rows = Approval.objects.filter(team_id=access.team_id(request))
    found = get_object_or_404(rows.select_related("by", "answered_by"), id=approval_id)
    access.team(request, act)
    return found


def _named(request: Request, data: dict[str, Any]) -> list[UUID]:
    """The ids of `runs`, each of the team."""
    ids = asked.ids(data, "runs", bulk.MOST)
    ours = set(runs_of(request).filter(id__in=ids).values_list("id", flat=True))
    if missing := [str(one) for one in ids if one not in ours]:
        raise BadRequest(Problem("runs", f"holds no run of the team: {missing[0]}."))
    return ids


def _found(request: Request, data: dict[str, Any]) -> list[UUID]:
    """What the filter finds as of then. Raises Differs, TooMany."""
    as_of, expected = asked.instant(data, "as_of"), asked.whole_number(data, "expected")
    if as_of is None or expected is None:
        hint = "Give runs, or as_of and expected as the queue showed them."
        raise BadRequest(Problem("runs", "is required.", hint))
    rows = runs_of(request)
    if (job := data.get("job")) is not None:
        try:
            rows = rows.filter(job_id=UUID(job))
        except (ValueError, TypeError, AttributeError):
            raise BadRequest(Problem("job", "is not an id.", "Give the id as shown.")) from None
    return bulk.found(rows, as_of, expected)


def _lasting(run: Run, now: datetime) -> ReviewClaim | None:
    claim: ReviewClaim | None = getattr(run, "reviewclaim", None)
    return claim if claim and claim.until > now else None
