"""The API's doors to calendars. The rules are in jobs/calendars/editing.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.calendars import content as calendar_content
from jobs.calendars import editing, effects
from jobs.calendars.editing import Editor
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.models import Calendar, CalendarVersion, Team
from jobs.problems import BadRequest, LongJSONParser
from jobs.roles import Act

_TOLD = ("name", "version", "known_until", "jobs", "all_days_off")


class CalendarDoor(Door):
    """An address that takes the content of a calendar, which may be longer than others."""

    parser_classes = (LongJSONParser,)


class CalendarsDoor(CalendarDoor):
    """`calendars/`: those of the organisation, by name."""

    def get(self, request: Request) -> Response:
        """The calendars, without their days."""
        asked.parameters(request, paging.PARAMETERS)
        return paging.page(request, calendars(), ("name",), _of_calendar)

    def post(self, request: Request) -> Response:
        """A new calendar, 201."""
        access.team(request, Act.EDIT)
        data: Any = request.data
        content = calendar_content.read(data, beside=("name",))
        name = calendar_content.name(data.get("name"))
        version = editing.create(name, content, by=editor(request))
        where = request.build_absolute_uri(reverse("api-calendar", args=[name]))
        return Response(of_version(version), status=201, headers={"Location": where})


class CalendarItemDoor(CalendarDoor):
    """`calendars/{name}/`: one calendar."""

    def get(self, request: Request, name: str) -> Response:
        """What it says, and all its days off."""
        asked.parameters(request, ())
        return Response(of_version(editing.newest(name)))

    def put(self, request: Request, name: str) -> Response:
        """A new version, to which its jobs are moved; `version` is the one that was seen."""
        editing.newest(name)
        access.team(request, Act.EDIT)
        content, seen = _content(request.data, name)
        version = editing.change(name, content, by=editor(request), seen=seen)
        return Response(of_version(version))

    def delete(self, request: Request, name: str) -> Response:
        """The calendar gone, 204; refused while jobs go by it."""
        editing.newest(name)
        access.team(request, Act.EDIT)
        editing.delete(name, by=editor(request))
        return Response(status=204)


class CalendarPreviewDoor(CalendarDoor):
    """`calendars/{name}/preview/`: what new content would do."""

    def post(self, request: Request, name: str) -> Response:
        """The moments of a year that would vanish, be new or move; nothing is saved."""
        newest = editing.newest(name)
        content, _ = _content(request.data, name)
        teams = frozenset({access.team(request, Act.READ).id})
        found = effects.effect(newest, content, teams=teams)
        return Response(effects.shape(found))


class CalendarVersionsDoor(Door):
    """`calendars/{name}/versions/`: what it has said."""

    def get(self, request: Request, name: str) -> Response:
        """The versions, newest first, without the text of iCal files."""
        asked.parameters(request, paging.PARAMETERS)
        editing.newest(name)
        rows = CalendarVersion.objects.filter(calendar=name).select_related("by")
        return paging.page(request, rows, ("-number",), _of_past)


def editor(request: Request) -> Editor:
    """Who asks, with the token's team where they may edit its jobs."""
    user = access.person(request)
    teams = Team.objects.where(user.id, Act.EDIT).filter(id=access.team_id(request))
    return Editor(user, frozenset(teams.values_list("id", flat=True)))


def calendars() -> QuerySet[Calendar]:
    """Those that are not deleted, each with how many `jobs` go by it."""
    used = Count("job", filter=Q(job__deleted_at=None))
    return Calendar.objects.filter(deleted_at=None).annotate(jobs=used)


def of_version(version: CalendarVersion) -> dict[str, Any]:
    """A calendar with all that it says."""
    content = calendar_content.shape(editing.content_of(version))
    return {
        **_of_calendar(calendars().get(name=version.calendar_id)),
        **content,
        "known_until": version.known_until and str(version.known_until),
        "all_days_off": [{"date": day, "label": label} for day, label in version.days.items()],
    }


def _of_calendar(calendar: Any) -> dict[str, Any]:
    return {
        "name": calendar.name,
        "description": calendar.description,
        "version": calendar.version,
        "jobs": calendar.jobs,
    }


def _of_past(version: CalendarVersion) -> dict[str, Any]:
    content = {field: said for field, said in version.content.items() if field != "ical"}
    return {
        "number": version.number,
        "began_at": instant(version.began_at),
        "by": version.by.get_username() if version.by else None,
        **content,
        "has_ical": version.content["ical"] is not None,
        "known_until": version.known_until and str(version.known_until),
        "all_days_off": [{"date": day, "label": label} for day, label in version.days.items()],
    }


def _content(data: Any, name: str) -> tuple[calendar_content.Content, int | None]:
    """The content and the version that it was made from. What a calendar only tells may be given
    back, so that one can be read, changed and sent."""
    if not isinstance(data, Mapping):
        raise DefinitionError([Problem("body", "must be a JSON object.")])
    if data.get("name", name) != name:
        raise BadRequest(Problem("name", "cannot be changed.", "Create another calendar."))
    seen = asked.whole_number(dict(data), "version")
    plain = {field: said for field, said in data.items() if field not in _TOLD}
    return calendar_content.read(plain), seen
