"""The API's door to many jobs at once: `jobs/bulk/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import QueryDict
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, bulk, clock
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.bulk import Differs, Do, Result, TooMany
from jobs.definitions import tag_words
from jobs.definitions.definitions import Problem
from jobs.editing import Pause
from jobs.models import Job
from jobs.problems import BadRequest, Conflict
from jobs.roles import Act
from runs.dashboard.finding.filters import address_of
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.saved_views import saved_views
from runs.dashboard.saved_views.saved_views import Refused

_MEMBERS = (
    *("do", "reason", "until", "tags"),
    *("jobs", "filter", "as_of", "expected", "dry_run"),
)


class BulkDoor(Door):
    """`jobs/bulk/`: pause, resume, tag or untag many."""

    def post(self, request: Request) -> Response:
        """`do`, a `reason` to pause, `until`, or `tags`; `jobs` (ids), or `filter` with the
        `as_of` and `expected` that a `dry_run` answered. The result of each; 409 where the number
        differs."""
        access.team(request, Act.OPERATE)
        data = asked.members(request, _MEMBERS)
        do = _what(data)
        access.team(request, do.act)
        rows = _rows(request, data.get("filter", {}))
        if asked.flag(data, "dry_run"):
            as_of = clock.now()
            count = bulk.meant(rows, do, as_of)[: bulk.MOST + 1].count()
            return Response({"expected": count, "as_of": instant(as_of)})
        try:
            results = _done(request, data, do, _chosen(request, data, do, rows))
        except Differs as differs:
            raise Conflict(str(differs), found=differs.found) from None
        except TooMany as many:
            raise BadRequest(Problem("jobs", str(many))) from None
        return Response({"results": [of_result(result) for result in results]})


def of_result(result: Result) -> dict[str, Any]:
    """What became of one job."""
    return {
        "job": str(result.job_id),
        "done": result.done,
        "said": result.said,
        "version": result.version,
    }


def _what(data: Mapping[str, Any]) -> Do:
    given = data.get("do")
    if given not in list(Do):
        hint = f"Choose from {', '.join(Do)}."
        raise BadRequest(Problem("do", "is not one of the choices.", hint))
    return Do(given)


def _rows(request: Request, given: object) -> QuerySet[Job]:
    """The team's jobs that a filter finds. Raises BadRequest (`filter.…`)."""
    if not isinstance(given, dict):
        hint = 'Give an object, as {"state": ["failing"]}.'
        raise BadRequest(Problem("filter", "must be the parameters of the list of jobs.", hint))
    try:
        query = saved_views.canonical("jobs", given)
    except Refused as refused:
        renamed = [
            replace(one, field=one.field.replace("query", "filter", 1)) for one in refused.problems
        ]
        raise BadRequest(*renamed) from None
    asked_for = JobFilter(QueryDict(address_of(query)[1:]))
    asked_for.is_valid()
    return asked_for.applied(access.jobs(request), access.person(request).id)


def _of_filter(problem: Problem) -> Problem:
    return replace(problem, field=problem.field.replace("query", "filter", 1))


def _chosen(request: Request, data: Mapping[str, Any], do: Do, rows: QuerySet[Job]) -> list[UUID]:
    """The ids that are named, or that the filter finds as of then. Raises Differs, TooMany."""
    if "jobs" in data:
        return _named(request, data)
    as_of, expected = asked.instant(dict(data), "as_of"), asked.whole_number(data, "expected")
    if as_of is None or expected is None:
        hint = "Give jobs, or as_of and expected as a dry_run answered them."
        raise BadRequest(Problem("jobs", "is required.", hint))
    return bulk.found(rows, do, as_of, expected)


def _named(request: Request, data: Mapping[str, Any]) -> list[UUID]:
    ids = asked.ids(data, "jobs", bulk.MOST)
    ours = set(access.jobs(request).filter(id__in=ids).values_list("id", flat=True))
    if missing := [str(one) for one in ids if one not in ours]:
        raise BadRequest(Problem("jobs", f"holds no job of the team: {missing[0]}."))
    return ids


def _tags(given: object) -> list[str]:
    tags = [tag_words.read(one) for one in given] if isinstance(given, list) else []
    if not tags or None in tags:
        raise BadRequest(Problem("tags", "must be a list of tags.", tag_words.HINT))
    return [tag for tag in tags if tag]


def _done(request: Request, data: Mapping[str, Any], do: Do, ids: list[UUID]) -> list[Result]:
    by = access.person(request)
    if do is Do.RESUME:
        return bulk.resume(ids, by=by)
    if do in (Do.TAG, Do.UNTAG):
        change = bulk.tag if do is Do.TAG else bulk.untag
        return change(ids, _tags(data.get("tags")), by=by)
    reason = asked.text(data, "reason")
    if not reason.strip():
        raise BadRequest(Problem("reason", "is required to pause many.", "Write one sentence."))
    until = asked.instant_to_come(dict(data), "until", clock.now())
    return bulk.pause(ids, Pause(reason, until), by=by)
