"""The API's door to the steps of a key, for HTTP handlers that have no store of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked
from jobs.api_door import Door
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict, NoSuch, Unprocessable
from jobs.roles import Act
from runs import steps
from runs.decide_door import runs_of
from runs.models import IdempotencyKey, Run
from runs.steps import Step

_LONGEST = 120  # characters of a step's name


class StepDoor(Door):
    """`keys/{key}/{step}/`: one effect of a handler, within the run of that key."""

    def get(self, request: Request, key: str, step: str) -> Response:
        """Where it stands; 404 while nobody has claimed it."""
        asked.parameters(request, ())
        _run_of(request, key, Act.READ)
        _check_name(step)
        with _said():
            return Response(_shown(key, step, steps.look_up(key, step)))

    def post(self, request: Request, key: str, step: str) -> Response:
        """Claim it for an `attempt` with a `payload`: 201 for who may begin, 409 while another
        is at it, 200 with the stored answer once it is done, 422 for another payload."""
        run = _run_of(request, key, Act.OPERATE)
        data = asked.members(request, ("attempt", "payload"))
        _check_name(step)
        attempt = _attempt(data, of=run)
        with _said():
            found = steps.claim(
                key, step, run_id=run.id, attempt=attempt, payload=data.get("payload")
            )
        return Response(_shown(key, step, found), status=201 if found.first else 200)

    def put(self, request: Request, key: str, step: str) -> Response:
        """Finish it: the `attempt` that holds it stores its `answer`; 200, again and again."""
        run = _run_of(request, key, Act.OPERATE)
        data = asked.members(request, ("attempt", "answer"))
        _check_name(step)
        attempt = _attempt(data, of=run)
        with _said():
            found = steps.finish(key, step, attempt=attempt, answer=data.get("answer"))
        return Response(_shown(key, step, found))


def _run_of(request: Request, key: str, act: Act) -> Run:
    """The run that has begun with this key, if it is the team's; Http404 otherwise."""
    if not key.isprintable():  # no run has it, and PostgreSQL takes no NUL to look for
        raise Http404
    row = IdempotencyKey.objects.filter(key=key, step="").values_list("run_id", flat=True)
    here = runs_of(request).filter(id__in=row)
    found = here.select_related(None).only("id", "attempt").first()
    if found is None:
        raise Http404
    access.team(request, act)
    return found


def _check_name(step: str) -> None:
    if len(step) > _LONGEST or not step.isprintable():
        hint = f"Name it by at most {_LONGEST} printable characters."
        raise BadRequest(Problem("step", "is no name for a step.", hint))


def _attempt(data: dict[str, Any], *, of: Run) -> int:
    attempt = asked.whole_number(data, "attempt")
    if not attempt:
        hint = "Give the number in the header Onebeat-Attempt."
        raise BadRequest(Problem("attempt", "is required, from 1.", hint))
    if attempt > of.attempt:  # a step that it held would be nobody's to take over
        hint = "Give the number in the header Onebeat-Attempt."
        raise BadRequest(Problem("attempt", f"is yet to come: it is {of.attempt} by now.", hint))
    return attempt


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except steps.Held as held:
        raise Conflict(str(held), attempt=held.attempt) from None
    except steps.OtherPayload as other:
        raise Unprocessable(Problem("payload", str(other))) from None
    except steps.NotClaimed as missing:
        raise NoSuch(Problem("step", str(missing))) from None


def _shown(key: str, step: str, found: Step) -> dict[str, Any]:
    return {
        "key": key,
        "step": step,
        "state": "done" if found.done else "held",
        "attempt": found.attempt,
        "answer": found.answer,
    }
