"""The API's doors to dead letters by group, and to their replays. The rules are in
groups.py and batch.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.asked_once import once
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs import api_shapes
from runs.decide_door import runs_of
from runs.decisions import NoteMissing
from runs.letters import batch, groups, shapes
from runs.letters.groups import MOST, Choice, Differs, Group
from runs.models import Replay
from runs.models.replay import MOST_PER_MINUTE
from runs.states import State

USUAL_PACE = 60  # runs a minute


class GroupsDoor(Door):
    """`dead-letters/`: the team's dead letters, those that died alike in one group."""

    def get(self, request: Request) -> Response:
        """The groups of `?job=`, of `?team=`, what died last first."""
        asked.parameters(request, ("job", "team", *paging.PARAMETERS))
        rows = runs_of(request)
        if (job_id := asked.identifier(request, "job")) is not None:
            rows = rows.filter(job_id=job_id)
        if (slug := asked.slug(request, "team")) is not None:
            rows = rows.filter(job__team__slug=slug)
        found, following = paging.cut(request, groups.groups(rows), groups.ORDER)
        shown = [shapes.of_group(group) for group in groups.told(found)]
        return Response({"results": shown, "next": following})


class GroupDoor(Door):
    """`dead-letters/{group}/`: one group."""

    def get(self, request: Request, group_id: UUID) -> Response:
        """The group, and its dead runs, the oldest first."""
        asked.parameters(request, paging.PARAMETERS)
        group = _group(request, group_id, Act.READ)
        rows = runs_of(request).select_related(None).only(*api_shapes.COLUMNS)
        dead = rows.filter(error_group=group.id, state=State.DEAD)
        answer = paging.page(request, dead, ("id",), api_shapes.of_run)
        answer.data = {"group": shapes.of_group(group), **answer.data}
        return answer


class ReplayGroupDoor(Door):
    """`dead-letters/{group}/replay/`: dead runs sent again under their keys, so many a minute."""

    @once
    def post(self, request: Request, group_id: UUID) -> Response:
        """A replay, 201, which waits for a second person where the team asks for two; under
        `dry_run` what it would do, 200. 409 where there are not as many as `expected`, and where
        a replay of the group is not over."""
        group = _group(request, group_id, Act.OPERATE)
        data = asked.members(
            request,
            ("note", "per_minute", "try_first", "dry_run", *_CHOICE),
        )
        pace, note = _per_minute(data), asked.text(data, "note")
        try_first = asked.flag(data, "try_first")
        if asked.flag(data, "dry_run"):
            choice = groups.choose(group.id, _run_ids(data))
            return Response(shapes.of_preview(groups.look(choice), pace))
        with _said(request):
            found = batch.begin(
                _choice(group, data),
                by=access.person(request),
                note=note,
                per_minute=pace,
                try_first=try_first,
            )
        headers = {"Location": _address(request, found)}
        return Response(shapes.of_replay(found), status=201, headers=headers)


class DiscardGroupDoor(Door):
    """`dead-letters/{group}/discard/`: dead runs closed for good."""

    def post(self, request: Request, group_id: UUID) -> Response:
        """`note` says why. How many were closed; 409 where there are not as many as `expected`."""
        group = _group(request, group_id, Act.OPERATE)
        data = asked.members(request, ("note", *_CHOICE))
        note, by = asked.text(data, "note"), access.person(request)
        with _said(request):
            done = groups.discard(_choice(group, data), note=note, by=by)
        return Response({"discarded": done.discarded, "passed_over": done.passed_over})


class ReplaysDoor(Door):
    """`replays/`: the team's replays of many."""

    def get(self, request: Request) -> Response:
        """Newest first, those of `?job=`, of `?group=`."""
        asked.parameters(request, ("job", "group", *paging.PARAMETERS))
        rows = _replays(request)
        if (job_id := asked.identifier(request, "job")) is not None:
            rows = rows.filter(job_id=job_id)
        if (group_id := asked.identifier(request, "group")) is not None:
            rows = rows.filter(error_group=group_id)
        return paging.page(request, rows, ("-id",), shapes.of_replay)


class ReplayDoor(Door):
    """`replays/{id}/`: one replay."""

    def get(self, request: Request, replay_id: UUID) -> Response:
        """The replay and how far it has come."""
        asked.parameters(request, ())
        return Response(shapes.of_replay(_replay(request, replay_id, Act.READ)))


class ReplayItemsDoor(Door):
    """`replays/{id}/items/`: its runs, in the order in which they go."""

    def get(self, request: Request, replay_id: UUID) -> Response:
        """Each with what became of it."""
        asked.parameters(request, paging.PARAMETERS)
        items = _replay(request, replay_id, Act.READ).items.select_related("run")
        rows = items.defer("run__snapshot")
        return paging.page(request, rows, ("place",), shapes.of_item)


class SteerDoor(Door):
    """`replays/{id}/approve/`, `…/pause/`, `…/resume/`, `…/cancel/`."""

    def post(self, request: Request, replay_id: UUID, steer: Steer) -> Response:
        """The replay, which does so from now on; 409 where it is over, or waits for a second
        person."""
        found = _replay(request, replay_id, Act.OPERATE)
        asked.members(request, ())
        with _said(request):
            steer(found.id, by=access.person(request))
        return Response(shapes.of_replay(_replay(request, replay_id, Act.READ)))


Steer = Callable[..., Replay]

_CHOICE = ("expected", "as_of", "runs")


def _choice(group: Group, data: dict[str, Any]) -> Choice:
    """These `runs`, or `expected` many `as_of` an instant, which is now unless said."""
    run_ids, expected = _run_ids(data), asked.whole_number(data, "expected", MOST)
    as_of, now = asked.instant(data, "as_of"), clock.now()
    if run_ids and expected is None and as_of is None:
        return groups.choose(group.id, run_ids)
    if run_ids or expected is None:
        hint = "Give either `runs`, or `expected`: the number that a dry run or the group told."
        raise BadRequest(Problem("expected", "says how many you mean.", hint))
    if as_of is not None and as_of > now:
        raise BadRequest(Problem("as_of", "is not in the past.", f"It is {instant(now)} here."))
    return Choice(group.id, as_of or now, expected)


def _run_ids(data: dict[str, Any]) -> list[UUID]:
    return [] if data.get("runs") is None else asked.ids(data, "runs", _LISTED)


_LISTED = 1_000


def _per_minute(data: dict[str, Any]) -> int:
    given = asked.whole_number(data, "per_minute")
    if given is None:
        return USUAL_PACE
    if not 1 <= given <= MOST_PER_MINUTE:
        words = f"must be a whole number from 1 to {MOST_PER_MINUTE}."
        raise BadRequest(Problem("per_minute", words))
    return given


_AGAINST = (
    *(batch.AlreadyOpen, batch.Over),
    *(batch.NotYours, batch.NotApproved),
)


@contextmanager
def _said(request: Request) -> Iterator[None]:
    """Turns what the rules raise into problems, with what there is instead."""
    try:
        yield
    except NoteMissing as error:
        raise BadRequest(Problem("note", str(error))) from None
    except Differs as found:
        raise Conflict(str(found), count=found.count, expected=found.expected) from None
    except batch.NothingDead as nothing:
        raise Conflict(str(nothing), count=0) from None
    except _AGAINST as there:
        at = _address(request, there.replay)
        raise Conflict(str(there), replay=at, state=there.replay.state) from None


def _group(request: Request, group_id: UUID, act: Act) -> Group:
    found = groups.group(runs_of(request), group_id)
    if found is None:
        raise Http404
    access.team(request, act)
    return found


def _replays(request: Request) -> QuerySet[Replay]:
    rows = Replay.objects.where(access.person(request).id, Act.READ)
    found: QuerySet[Replay] = rows.filter(job__team_id=access.team_id(request))
    return found


def _replay(request: Request, replay_id: UUID, act: Act) -> Replay:
    found = get_object_or_404(_replays(request), id=replay_id)
    access.team(request, act)
    return found


def _address(request: Request, found: Replay) -> str:
    return request.build_absolute_uri(reverse("api-replay", args=[found.id]))
