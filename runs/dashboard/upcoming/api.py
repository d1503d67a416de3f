"""The API's doors to what is due in the time to come. The rule is in upcoming.py beside it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, clock, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Job
from jobs.problems import BadRequest
from jobs.schedules.instants import canonical_instant, parse_instant
from runs.dashboard.upcoming import upcoming
from runs.dashboard.upcoming.upcoming import Coming, Place, Week

_BY = ("at", "job")
_TICK = timedelta.resolution
_HOUR = timedelta(hours=1)
_LAST = UUID(int=2**128 - 1)
_MOST = timedelta(days=upcoming.DAYS)


class UpcomingDoor(Door):
    """`upcoming/`: the moments to come of the team's jobs, oldest first."""

    def get(self, request: Request) -> Response:
        """Those after now and up to `?until=`, a day from now unless told; of `?team=`."""
        asked.parameters(request, ("team", "until", *paging.PARAMETERS))
        now = clock.now()
        until = _until(request, now)
        behind = Place(now, _LAST)
        if (given := request.query_params.get("cursor")) is not None:
            at, job_id = paging.opened(given, _BY, request.path)
            behind = Place(datetime.fromisoformat(at), UUID(job_id))
        size = asked.count(request, "page_size", 50, 200)
        found = upcoming.page(_jobs(request), now, until, behind, size)
        following = found.following and _next(request, found.following, until)
        shown = [_of_coming(one) for one in found.rows]
        return Response({"results": shown, "next": following, "complete": not found.cut})


class DensityDoor(Door):
    """`upcoming/density/`: how many moments fall into each hour of the week to come."""

    def get(self, request: Request) -> Response:
        """Seven days of hours in UTC, and the hottest minute among them; of `?team=`."""
        asked.parameters(request, ("team",))
        now = clock.now()
        found = upcoming.week(_jobs(request), now, now + _MOST)
        hottest = found.hottest
        return Response(
            {
                "hours": _hours(found),
                "hottest_minute": hottest and {"at": instant(hottest[0]), "count": hottest[1]},
                "jobs": found.jobs,
                "complete": not found.cut,
            }
        )


def _jobs(request: Request) -> QuerySet[Job]:
    rows = access.jobs(request)
    slug = asked.slug(request, "team")
    return rows if slug is None else rows.filter(team__slug=slug)


def _until(request: Request, now: datetime) -> datetime:
    given = request.query_params.get("until")
    if given is None:
        return now + timedelta(days=1)
    until = parse_instant(given, "until")
    if not now < until <= now + _MOST:
        hint = f"Choose one up to {instant(now + _MOST)}."
        raise BadRequest(Problem("until", "is not within the next seven days.", hint))
    return until


def _next(request: Request, last: Place, until: datetime) -> str:
    """The address of the next page, which ends where this one does."""
    parameters = request.query_params.copy()
    parameters["until"] = canonical_instant(until)
    parameters["cursor"] = paging.cursor({"at": last.at, "job": last.job_id}, _BY, request.path)
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")


def _of_coming(one: Coming) -> dict[str, Any]:
    return {
        "due_at": instant(one.at),
        "job": str(one.job.id),
        "name": one.job.name,
        "skipped": one.skipped,
    }


def _hours(found: Week) -> list[dict[str, Any]]:
    """The first is the rest of this hour, and the last may be a part of one."""
    start, hours = found.minutes.start, []
    while start < found.minutes.end:
        end = min(start.replace(minute=0) + _HOUR, found.minutes.end)
        hours.append({"from": instant(start), "count": found.within(start, end)})
        start = end
    return hours
