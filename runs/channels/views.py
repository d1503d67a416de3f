"""The pages of channels: who hears of what, make one, change it, send a test, see what came."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.definitions.definitions import DefinitionError
from jobs.models import Team
from jobs.page_door import acts, page, person
from jobs.roles import Act
from runs.channels import editing, notify
from runs.channels.forms import STAFF, ChannelForm
from runs.channels.messages import WORDS, Kind
from runs.models import Channel, Delivery

_SHOWN = 30  # sendings on the page of a channel


@page
@require_http_methods(["GET", "POST"])
def all_channels(request: HttpRequest) -> HttpResponse:
    """The channels of this person's teams, and forms to make one."""
    of_team, of_staff = _forms(request)
    if request.method == "GET":
        return _list(request, of_team, of_staff)
    form = of_staff if request.POST.get("scope") == STAFF else of_team
    if form is None:
        raise PermissionDenied
    if form.is_valid() and form.wanted is not None:
        try:
            channel, secret = editing.make(form.chosen, form.wanted, by=person(request))
        except DefinitionError as error:
            form.refuse(error)
        else:
            if secret:
                return _secret_page(request, channel, secret, status=201)
            messages.success(request, f"{channel.name} hears from now on. Send it a test.")
            return redirect("channel", channel.id)
    return _list(request, of_team, of_staff, status=422)


@page
@require_http_methods(["GET", "POST"])
def one_channel(request: HttpRequest, channel_id: UUID) -> HttpResponse:
    """One channel: what it hears, what it was sent; POST changes it."""
    if request.method == "GET":
        return _one(request, _channel(request, channel_id))
    channel = _mine(request, channel_id)
    form = ChannelForm(request.POST, installation=channel.team is None)
    if form.is_valid() and form.wanted is not None:
        try:
            secret = editing.change(channel, form.wanted, by=person(request))
        except DefinitionError as error:
            form.refuse(error)
        else:
            if secret:
                return _secret_page(request, channel, secret)
            messages.success(request, "Saved.")
            return redirect("channel", channel.id)
    return _one(request, channel, form, status=422)


@page
@require_POST
def channel_test(request: HttpRequest, channel_id: UUID) -> HttpResponse:
    """Send a test now, and show the answer."""
    channel = _mine(request, channel_id)
    try:
        sending = notify.send_test(channel, by=person(request))
    except notify.TooManyTests as error:
        messages.error(request, str(error))
    else:
        if sending.sent_at:
            messages.success(request, f"The test was taken. The answer: {sending.answer}")
        else:
            messages.error(request, f"The test was not taken: {sending.answer}")
    return redirect("channel", channel.id)


@page
@require_POST
def channel_secret(request: HttpRequest, channel_id: UUID) -> HttpResponse:
    """Make a new signing secret; this answer is the only one that shows it."""
    channel = _mine(request, channel_id)
    try:
        return _secret_page(request, channel, editing.renew(channel, by=person(request)))
    except DefinitionError:
        messages.error(request, "Mail is not signed, so it has no secret.")
        return redirect("channel", channel.id)


@page
@require_POST
def channel_retry(request: HttpRequest, channel_id: UUID) -> HttpResponse:
    """Try anew what was given up or waits."""
    channel = _mine(request, channel_id)
    count = notify.retry(channel, by=person(request))
    said = f"{count} sending{'' if count == 1 else 's'} will be tried at once."
    messages.success(request, said if count else "There is nothing to try anew.")
    return redirect("channel", channel.id)


@page
@require_POST
def channel_delete(request: HttpRequest, channel_id: UUID) -> HttpResponse:
    """Delete a channel."""
    channel = _mine(request, channel_id)
    editing.delete(channel, by=person(request))
    messages.success(request, f"{channel.name} is deleted, with what it was still to be sent.")
    return redirect("channels")


def _forms(request: HttpRequest) -> tuple[ChannelForm | None, ChannelForm | None]:
    """A form for each scope in which this person may make a channel, the one that was sent with
    what was sent."""
    teams = list(Team.objects.where(person(request).id, Act.ADMINISTER))
    to_staff = request.POST.get("scope") == STAFF
    sent = request.POST if request.method == "POST" else None
    of_team = ChannelForm(None if to_staff else sent, installation=False, teams=teams)
    of_staff = ChannelForm(sent if to_staff else None, installation=True, auto_id="id_staff_%s")
    return (of_team if teams else None), (of_staff if person(request).is_staff else None)


def _list(
    request: HttpRequest,
    of_team: ChannelForm | None,
    of_staff: ChannelForm | None,
    status: int = 200,
) -> HttpResponse:
    given_up = Count("delivery", filter=Q(delivery__given_up_at__isnull=False))
    found = Channel.objects.where(person(request)).annotate(given_up=given_up)
    rows = [(channel, _labels(channel)) for channel in found]
    context = {"rows": rows, "of_team": of_team, "of_staff": of_staff}
    return render(request, "runs/channels.html", context, status=status)


def _one(
    request: HttpRequest, channel: Channel, form: ChannelForm | None = None, status: int = 200
) -> HttpResponse:
    may = _may_change(request, channel)
    sent = Delivery.objects.filter(channel=channel).annotate(told=Count("messages"))
    context = {
        "channel": channel,
        "kinds": _labels(channel),
        "place": channel.address if may else channel.place,
        "may_change": may,
        "form": (form or ChannelForm.of(channel)) if may else None,
        "sendings": sent.order_by("-created_at")[:_SHOWN],
        "untaken": sent.filter(sent_at=None, is_test=False).exists(),
        "waits": channel.message_set.filter(delivery=None).count(),
    }
    return render(request, "runs/channel.html", context, status=status)


def _secret_page(
    request: HttpRequest, channel: Channel, secret: str, status: int = 200
) -> HttpResponse:
    context = {"channel": channel, "secret": secret}
    return render(request, "runs/channel_secret.html", context, status=status)


def _channel(request: HttpRequest, channel_id: UUID) -> Channel:
    return get_object_or_404(Channel.objects.where(person(request)), id=channel_id)


def _mine(request: HttpRequest, channel_id: UUID) -> Channel:
    channel = _channel(request, channel_id)
    if not _may_change(request, channel):
        raise PermissionDenied
    return channel


def _may_change(request: HttpRequest, channel: Channel) -> bool:
    if channel.team_id is None:
        return person(request).is_staff
    return Act.ADMINISTER in acts(request, channel.team_id)


def _labels(channel: Channel) -> list[str]:
    return [WORDS[Kind(kind)].label for kind in channel.kinds]
