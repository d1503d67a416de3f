"""The API's doors to saved views: `views/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.definitions.definitions import Problem
from jobs.models import Team
from jobs.problems import BadRequest
from jobs.roles import Act
from runs.dashboard.saved_views import saved_views
from runs.dashboard.saved_views.saved_views import NotYours, Refused
from runs.models import SavedView
from runs.models.saved_view import PAGES

_MEMBERS = ("page", "name", "query", "shared", "home")


class ViewsDoor(Door):
    """`views/`: one's own saved views, and those that the token's team shares."""

    def get(self, request: Request) -> Response:
        """By name; those of `?page=jobs` or `runs`."""
        asked.parameters(request, ("page", *paging.PARAMETERS))
        rows = _seen(request)
        if pages := asked.choices(request, "page", PAGES):
            rows = rows.filter(page__in=pages)
        home = saved_views.home_of(access.person(request))
        return paging.page(request, rows, ("name", "id"), lambda view: of_view(view, home))

    def post(self, request: Request) -> Response:
        """A new view, 201: `page`, `name`, `query`; `shared` with the token's team; `home`."""
        data = asked.members(request, _MEMBERS)
        view = _written(request, data, None)
        _begin(request, data, view)
        return Response(_told(request, view), status=201)


class ViewDoor(Door):
    """`views/{id}/`: one of them."""

    def get(self, request: Request, view_id: UUID) -> Response:
        """The view."""
        asked.parameters(request, ())
        return Response(_told(request, _view(request, view_id)))

    def patch(self, request: Request, view_id: UUID) -> Response:
        """The view with another name, query, sharing, or as the one to begin with."""
        view, data = _view(request, view_id), asked.members(request, _MEMBERS[1:])
        if data.keys() - {"home"} or not data:
            view = _written(request, data, view)
        _begin(request, data, view)
        return Response(_told(request, view))

    def delete(self, request: Request, view_id: UUID) -> Response:
        """The view gone, 204."""
        view = _view(request, view_id)
        try:
            saved_views.delete(view, by=access.person(request))
        except NotYours as theirs:
            raise PermissionDenied(str(theirs)) from None
        return Response(status=204)


def of_view(view: SavedView, home: SavedView | None) -> dict[str, Any]:
    """A view as the API shows it."""
    return {
        "id": str(view.id),
        "page": view.page,
        "name": view.name,
        "query": view.query,
        "shared": view.team_id is not None,
        "owner": view.owner.get_username(),
        "home": view == home,
        "created_at": instant(view.created_at),
    }


def _told(request: Request, view: SavedView) -> dict[str, Any]:
    return of_view(view, saved_views.home_of(access.person(request)))


def _seen(request: Request) -> QuerySet[SavedView]:
    rows = SavedView.objects.where(access.person(request).id).select_related("owner", "team")
    found: QuerySet[SavedView] = rows.filter(Q(team=None) | Q(team=access.team_id(request)))
    return found


def _view(request: Request, view_id: UUID) -> SavedView:
    return get_object_or_404(_seen(request), id=view_id)


def _written(request: Request, data: Mapping[str, Any], view: SavedView | None) -> SavedView:
    """The view as the members say, those that are left out as they are. Raises BadRequest."""
    query = data.get("query", view.query if view else {})
    if not isinstance(query, dict):
        hint = 'Give an object, as {"state": ["DEAD"]}.'
        raise BadRequest(Problem("query", "must be the parameters of a list.", hint))
    page = view.page if view else asked.text(data, "page")
    name = asked.text(data, "name", view.name if view else "")
    try:
        content = saved_views.read(page, name, query, _team(request, data, view))
        by = access.person(request)
        if view is None:
            return saved_views.save(content, by=by)
        return saved_views.change(view, content, by=by)
    except Refused as refused:
        raise BadRequest(*refused.problems) from None
    except NotYours as theirs:
        raise PermissionDenied(str(theirs)) from None


def _team(request: Request, data: Mapping[str, Any], view: SavedView | None) -> Team | None:
    if "shared" not in data:
        return view.team if view else None
    if not asked.flag(dict(data), "shared"):
        return None
    return access.team(request, Act.OPERATE)


def _begin(request: Request, data: Mapping[str, Any], view: SavedView) -> None:
    if "home" not in data:
        return
    by = access.person(request)
    if asked.flag(dict(data), "home"):
        saved_views.begin_with(view, by=by)
    elif saved_views.home_of(by) == view:
        saved_views.begin_with(None, by=by)
