"""The API's door to who did what."""

from __future__ import annotations

from django.db.models import Q
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, paging
from jobs.api_door import Door
from jobs.roles import Act
from runs.dashboard.events import events
from runs.dashboard.events.filter import EventFilter
from runs.dashboard.lists.api import filter_of


class EventsDoor(Door):
    """`events/`: who did what in the token's team, and what is everybody's."""

    def get(self, request: Request) -> Response:
        """Those of an EventFilter, the newest first."""
        wanted = filter_of(request, EventFilter)
        team = access.team(request, Act.READ)
        seen = events.of(access.person(request)).filter(Q(team=team) | Q(team=None))
        return paging.page(request, wanted.applied(seen), events.NEWEST, events.as_row)
