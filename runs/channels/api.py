"""The API's doors to channels. The rules are in editing.py and notify.py."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked, paging
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.models import Team
from jobs.roles import Act
from runs.channels import editing, notify
from runs.models import Channel, Delivery


class ChannelsDoor(Door):
    """`channels/`: those of the team, and to the platform's staff those of the installation."""

    def get(self, request: Request) -> Response:
        """The channels by name."""
        asked.parameters(request, paging.PARAMETERS)
        may = _may_administer(request)
        rows = _channels(request)
        return paging.page(request, rows, ("name", "id"), lambda row: of_channel(row, full=may))

    def post(self, request: Request) -> Response:
        """A channel, 201; the answer alone tells a webhook's `secret`. `team`: the token's, or
        null for the platform's staff."""
        data = asked.members(request, ("team", *editing.FIELDS))
        team = _scope(request, data)
        wanted = editing.read(data, installation=team is None)
        channel, secret = editing.make(team, wanted, by=access.person(request))
        where = request.build_absolute_uri(reverse("api-channel", args=[channel.id]))
        return Response(_told(channel, secret), status=201, headers={"Location": where})


class ChannelDoor(Door):
    """`channels/{id}/`: one channel."""

    def get(self, request: Request, channel_id: UUID) -> Response:
        """The channel."""
        asked.parameters(request, ())
        channel = _channel(request, channel_id)
        return Response(of_channel(channel, full=_may_administer(request)))

    def put(self, request: Request, channel_id: UUID) -> Response:
        """The channel as it is to be; another host gets a new secret, told this once."""
        channel = _mine(request, channel_id)
        data = asked.members(request, ("team", *editing.FIELDS))
        wanted = editing.read(data, installation=channel.team is None)
        secret = editing.change(channel, wanted, by=access.person(request))
        return Response(_told(channel, secret))

    def delete(self, request: Request, channel_id: UUID) -> Response:
        """The channel gone, with what it was to be sent."""
        editing.delete(_mine(request, channel_id), by=access.person(request))
        return Response(status=204)


class TestDoor(Door):
    """`channels/{id}/test/`."""

    def post(self, request: Request, channel_id: UUID) -> Response:
        """A test sent now; what came of it."""
        channel = _mine(request, channel_id)
        asked.members(request, ())
        try:
            return Response(of_delivery(notify.send_test(channel, by=access.person(request))))
        except notify.TooManyTests as error:
            raise Throttled(wait=60, detail=str(error)) from None


class SecretDoor(Door):
    """`channels/{id}/secret/`."""

    def post(self, request: Request, channel_id: UUID) -> Response:
        """A new signing secret for a webhook, told this once."""
        channel = _mine(request, channel_id)
        asked.members(request, ())
        return Response({"secret": editing.renew(channel, by=access.person(request))})


class RetryDoor(Door):
    """`channels/{id}/retry/`."""

    def post(self, request: Request, channel_id: UUID) -> Response:
        """What was given up, or waits, tried anew at once: how many sendings."""
        channel = _mine(request, channel_id)
        asked.members(request, ())
        return Response({"deliveries": notify.retry(channel, by=access.person(request))})


class DeliveriesDoor(Door):
    """`channels/{id}/deliveries/`."""

    def get(self, request: Request, channel_id: UUID) -> Response:
        """What was sent, or is to be, newest first."""
        asked.parameters(request, paging.PARAMETERS)
        sent = Delivery.objects.filter(channel=_channel(request, channel_id))
        rows = sent.annotate(told=Count("messages"))
        return paging.page(request, rows, ("-created_at", "-id"), of_delivery)


def of_channel(channel: Channel, *, full: bool) -> dict[str, Any]:
    """A channel as the API shows it; without `full` not the path of its URL."""
    return {
        "id": str(channel.id),
        "team": channel.team.slug if channel.team else None,
        "name": channel.name,
        "way": channel.way,
        "address": channel.address if full else channel.place,
        "kinds": channel.kinds,
        "per_minute": channel.per_minute,
        "created_at": instant(channel.created_at),
        "by": channel.by.get_username() if channel.by else None,
    }


def of_delivery(sending: Delivery) -> dict[str, Any]:
    """A sending as the API shows it."""
    return {
        "id": str(sending.id),
        "test": sending.is_test,
        "messages": 1 if sending.is_test else getattr(sending, "told", 0),
        "created_at": instant(sending.created_at),
        "tries": sending.tries,
        "next_at": instant(sending.next_at),
        "sent_at": instant(sending.sent_at),
        "given_up_at": instant(sending.given_up_at),
        "answer": sending.answer,
    }


def _told(channel: Channel, secret: str) -> dict[str, Any]:
    return {**of_channel(channel, full=True), **({"secret": secret} if secret else {})}


def _channels(request: Request) -> QuerySet[Channel]:
    rows = Channel.objects.where(access.person(request))
    found: QuerySet[Channel] = rows.filter(Q(team=None) | Q(team_id=access.team_id(request)))
    return found


def _channel(request: Request, channel_id: UUID) -> Channel:
    return get_object_or_404(_channels(request), id=channel_id)


def _mine(request: Request, channel_id: UUID) -> Channel:
    """The channel, to be changed: the team's by its admins, the installation's by staff, to whom
    alone it is there."""
    channel = _channel(request, channel_id)
    if channel.team is not None:
        access.team(request, Act.ADMINISTER)
    return channel


def _may_administer(request: Request) -> bool:
    teams = Team.objects.where(access.person(request).id, Act.ADMINISTER)
    return bool(teams.filter(id=access.team_id(request)).exists())


def _scope(request: Request, data: dict[str, Any]) -> Team | None:
    if "team" in data and data["team"] is None:
        if not access.person(request).is_staff:
            raise PermissionDenied("The platform's channels are made by its staff alone.")
        return None
    team = access.team(request, Act.ADMINISTER)
    given = data.get("team", team.slug)
    access.demand_own(team, given, beside="; null is the platform's staff")
    return team
