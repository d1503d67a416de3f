"""Make and change channels: where a team, or the platform's staff, is told of what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from jobs import clock, events, signing
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.models import Team, User
from jobs.reading import hidden
from jobs.targets.addresses import AllowList
from jobs.targets.errors import TargetError
from jobs.targets.urls import check_reachable, split_url
from runs import subjects
from runs.channels.messages import OF_INSTALLATION, OF_TEAM
from runs.models import Channel
from runs.models.channel import MAIL, WAYS, WEBHOOK

FIELDS = ("name", "way", "address", "kinds", "per_minute")
MOST_OF_A_TEAM = 50
USUAL_PER_MINUTE, MOST_PER_MINUTE = 6, 60
_NAME, _ADDRESSES = 120, 20

log = structlog.get_logger("onebeat.channel")


@dataclass(frozen=True)
class Wanted:
    """What a channel is to be. `address`: a URL, or mail addresses one a line."""

    name: str
    way: str
    address: str
    kinds: tuple[str, ...]
    per_minute: int = USUAL_PER_MINUTE


def read(given: Mapping[str, Any], *, installation: bool) -> Wanted:
    """What was given, as one channel; raises DefinitionError with every problem. `installation`:
    for the platform's staff, who hear other kinds."""
    reader = _Reader(given)
    wanted = Wanted(
        reader.name(),
        way := reader.way(),
        reader.address(way),
        reader.kinds(OF_INSTALLATION if installation else OF_TEAM),
        reader.per_minute(),
    )
    if reader.problems:
        raise DefinitionError(reader.problems)
    return wanted


def make(team: Team | None, wanted: Wanted, *, by: User) -> tuple[Channel, str]:
    """A new channel, and its signing secret in clear for this once; empty for mail. Raises
    DefinitionError where the name is taken, or the team has as many as it may."""
    if Channel.objects.filter(team=team).count() >= MOST_OF_A_TEAM:
        hint = "Change one that is there, or delete one."
        raise DefinitionError(
            [Problem("name", f"would be one more than the {MOST_OF_A_TEAM} that may be.", hint)]
        )
    secret = signing.new_secret() if wanted.way == WEBHOOK else ""
    row = {**_columns(wanted), "secret": signing.sealed(secret) if secret else ""}

    def made() -> Channel:
        channel = Channel.objects.create(team=team, by=by, created_at=clock.now(), **row)
        _recorded("made", channel, by)
        return channel

    return _unique(made), secret


def change(channel: Channel, wanted: Wanted, *, by: User) -> str:
    """The channel as wanted. A new secret comes with a webhook where none was, or at another
    host: returned in clear for this once, else empty. What waits goes to the new address."""
    keeps = wanted.way == MAIL or (channel.way == WEBHOOK and _same_origin(channel, wanted))
    secret = "" if keeps else signing.new_secret()
    row = _columns(wanted)
    if wanted.way == MAIL:
        row["secret"] = ""
    elif secret:
        row["secret"] = signing.sealed(secret)
    before = _columns(channel)

    def changed() -> None:
        Channel.objects.filter(id=channel.id).update(**row)
        channel.refresh_from_db()
        _recorded("changed", channel, by, events.differences(before, _columns(channel)))

    _unique(changed)
    return secret


def renew(channel: Channel, *, by: User) -> str:
    """A new signing secret, in clear for this once. Raises DefinitionError for mail."""
    if channel.way != WEBHOOK:
        problem = Problem("way", "is mail, which is not signed.", "Only webhooks have a secret.")
        raise DefinitionError([problem])
    secret = signing.new_secret()
    with transaction.atomic():
        Channel.objects.filter(id=channel.id).update(secret=signing.sealed(secret))
        _recorded("secret_renewed", channel, by)
    return secret


def delete(channel: Channel, *, by: User) -> None:
    """Gone, with what it was sent and what it was to be sent."""
    with transaction.atomic():
        _recorded("deleted", channel, by)
        channel.delete()


def _columns(wanted: Wanted | Channel) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "way": wanted.way,
        "address": wanted.address,
        "kinds": list(wanted.kinds),
        "per_minute": wanted.per_minute,
    }


def _same_origin(channel: Channel, wanted: Wanted) -> bool:
    return split_url(channel.address).origin == split_url(wanted.address).origin


def _unique(write: Any) -> Any:
    try:
        with transaction.atomic():
            return write()
    except IntegrityError as error:
        if "one_channel_per_name" not in str(error):
            raise
        problem = Problem("name", "is taken by another channel.", "Choose another name.")
        raise DefinitionError([problem]) from None


def _recorded(what: str, channel: Channel, by: User, changes: events.Changes | None = None) -> None:
    events.record(f"channel.{what}", subjects.of_channel(channel), by=by, changes=changes)
    team = channel.team.slug if channel.team else None
    log.info(f"channel.{what}", channel=str(channel.id), team=team, by=by.get_username())


class _Reader:
    """Reads field by field; what is wrong gathers in `problems`."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self.problems: list[Problem] = []

    def name(self) -> str:
        given = self._given.get("name", "")
        name = normalize("NFC", given.strip()) if isinstance(given, str) else ""
        if not name or len(name) > _NAME or hidden(name):
            self._wrong("name", f"must be a text of 1 to {_NAME} characters in one line.")
        return name

    def way(self) -> str:
        way = self._given.get("way")
        if way not in WAYS:
            self._wrong("way", "is not one of the choices.", f"Choose from {', '.join(WAYS)}.")
        return str(way)

    def address(self, way: str) -> str:
        given = self._given.get("address", "")
        if not isinstance(given, str):
            self._wrong("address", "must be text.", "A URL, or mail addresses.")
        elif way == WEBHOOK:
            return self._url(given.strip())
        elif way == MAIL:
            return "\n".join(self._mail(given))
        return ""

    def kinds(self, known: Iterable[str]) -> tuple[str, ...]:
        given = self._given.get("kinds", ())
        choices = [str(kind) for kind in known]
        if not isinstance(given, list | tuple) or any(kind not in choices for kind in given):
            hint = f"Choose from {', '.join(choices)}."
            self._wrong("kinds", "must be a list of kinds of messages.", hint)
            return ()
        if not given:
            hint = f"Choose at least one of {', '.join(choices)}."
            self._wrong("kinds", "is empty: nothing would ever be told.", hint)
        return tuple(kind for kind in choices if kind in given)

    def per_minute(self) -> int:
        given = self._given.get("per_minute", USUAL_PER_MINUTE)
        if type(given) is not int or not 1 <= given <= MOST_PER_MINUTE:
            hint = "What is more is combined, and nothing is left out."
            self._wrong("per_minute", f"must be a whole number from 1 to {MOST_PER_MINUTE}.", hint)
            return USUAL_PER_MINUTE
        return given

    def _url(self, given: str) -> str:
        try:
            check_reachable(
                split_url(given, "address"), AllowList.parse(settings.EGRESS_ALLOW), "address"
            )
        except TargetError as error:
            self._wrong("address", error.message, error.hint)
        return given

    def _mail(self, given: str) -> list[str]:
        found = list(dict.fromkeys(filter(None, re.split(r"[\s,;]+", given))))
        if not 1 <= len(found) <= _ADDRESSES:
            hint = "Write one a line, as ops@example.org."
            self._wrong("address", f"must be 1 to {_ADDRESSES} mail addresses.", hint)
        for one in found[:_ADDRESSES]:
            self._check_mail(one)
        return found

    def _check_mail(self, one: str) -> None:
        try:
            validate_email(one)
            one.encode("ascii")
        except (ValidationError, UnicodeError):
            shown = one[:80]
            hint = "Write it as ops@example.org."
            self._wrong("address", f"holds {shown!r}, which is no mail address.", hint)

    def _wrong(self, field: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(field, message, hint))
