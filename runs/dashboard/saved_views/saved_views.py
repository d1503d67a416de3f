"""Saved views: save a filter of a list under a name, share it with a team, begin with it.

A view holds a filter, never what it finds: whoever opens it sees what they may see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import QueryDict
from django.urls import reverse

from jobs import events
from jobs.definitions.definitions import Problem
from jobs.models import Membership, Team, User
from jobs.reading import hidden
from jobs.roles import Act, may
from runs import subjects
from runs.dashboard.finding.filters import Filter, Query, address_of
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.finding.run_filter import RunFilter
from runs.models import HomeView, SavedView
from runs.models.saved_view import PAGES

FILTERS: dict[str, type[Filter]] = {"jobs": JobFilter, "runs": RunFilter}
MOST = 20  # own ones of a person on a page; and as many of a team
LONGEST = 60  # characters of a name

log = structlog.get_logger("onebeat.view")


class Refused(Exception):
    """The view cannot be so; `problems` name each field with the remedy."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__(" ".join(f"{one.message} {one.hint}".strip() for one in problems))


class NotYours(Exception):
    """Neither the view's owner nor an editor of the team with which it is shared."""

    def __init__(self) -> None:
        super().__init__("Its owner changes it, or an editor of the team that it is shared with.")


@dataclass(frozen=True)
class Content:
    """What a view is: of which list, its name, its filter, and with which team it is shared."""

    page: str
    name: str
    query: Query
    team: Team | None = None


def read(page: str, name: str, given: Mapping[str, Any], team: Team | None = None) -> Content:
    """A view's content, checked; `given` is the filter, a value or a list of them by parameter.
    Raises Refused."""
    if page not in PAGES:
        raise Refused(Problem("page", "is no list.", f"Choose from {', '.join(PAGES)}."))
    wanted = normalize("NFC", " ".join(name.split()))
    if not wanted or len(wanted) > LONGEST or hidden(wanted):
        hint = f"Give 1 to {LONGEST} characters that can be seen."
        raise Refused(Problem("name", "is no name for a view.", hint))
    return Content(page, wanted, canonical(page, given), team)


def canonical(page: str, given: Mapping[str, Any]) -> Query:
    """A filter as it is kept: what narrows or orders, sorted, without the place in the list.
    Raises Refused (`query.…`)."""
    kind, data = FILTERS[page], QueryDict(mutable=True)
    unknown = [name for name in given if name not in kind.names()]
    if unknown:
        hint = f"Known: {', '.join(kind.names())}."
        raise Refused(*(Problem(f"query.{name[:80]}", "is unknown.", hint) for name in unknown))
    for name, values in given.items():
        data.setlist(name, [_text(name, one) for one in _listed(values)])
    found = kind(data)
    if not found.is_valid():
        raise Refused(
            *(
                Problem(f"query.{name}", " ".join(map(str, errors)))
                for name, errors in found.errors.items()
            )
        )
    return found.query


def save(content: Content, *, by: User) -> SavedView:
    """A new view. Raises Refused where the name is taken or there are too many, NotYours where
    the team is not theirs to share with."""
    view = SavedView(owner=by)
    with transaction.atomic():
        _write(view, content, by)
        events.record("view.saved", subjects.of_view(view), by=by)
    log.info("view.saved", view=str(view.id), name=view.name, shared=_slug(view), by=_who(by))
    return view


def change(view: SavedView, content: Content, *, by: User) -> SavedView:
    """The view with another content. Raises as `save`, and NotYours."""
    _demand(view, by)
    before = {"name": view.name, "shared": _slug(view), "query": view.query}
    with transaction.atomic():
        _write(view, content, by)
        after = {"name": view.name, "shared": _slug(view), "query": view.query}
        changes = events.differences(before, after)
        events.record("view.changed", subjects.of_view(view), by=by, changes=changes)
    log.info("view.changed", view=str(view.id), before=before, after=after, by=_who(by))
    return view


def delete(view: SavedView, *, by: User) -> None:
    """The view gone, for everybody who saw it. Raises NotYours."""
    _demand(view, by)
    told = {"view": str(view.id), "name": view.name, "shared": _slug(view)}
    with transaction.atomic():
        events.record("view.deleted", subjects.of_view(view), by=by)
        view.delete()
    log.info("view.deleted", **told, by=_who(by))


def begin_with(view: SavedView | None, *, by: User) -> None:
    """The person begins with this view from now on; None: with the first page."""
    with transaction.atomic():
        if view is None:
            HomeView.objects.filter(user=by).delete()
        else:
            HomeView.objects.update_or_create(user=by, defaults={"view": view})
        name = view.name if view else "the first page"
        events.record("person.begins_with", events.of_person(by), by=by, reason=name)
    log.info("view.begun_with", view=str(view.id) if view else None, by=_who(by))


def home_of(user: User) -> SavedView | None:
    """The view with which a person begins, if they still see it."""
    return SavedView.objects.where(user.id).filter(homeview__user=user).first()


def address(view: SavedView) -> str:
    """Where the view is."""
    return f"{reverse(view.page)}{address_of(view.query)}"


def may_change(view: SavedView, user: User) -> bool:
    """Whether the person owns it, or edits in the team that it is shared with."""
    if view.team_id is None:
        return view.owner_id == user.id
    found = Membership.objects.filter(team_id=view.team_id, user=user).first()
    if found is None or not user.is_active:
        return False
    return view.owner_id == user.id or may(found.role, Act.EDIT)


def _demand(view: SavedView, by: User) -> None:
    if not may_change(view, by):
        raise NotYours


def _write(view: SavedView, content: Content, by: User) -> None:
    team = content.team
    if team and not Team.objects.where(by.id, Act.OPERATE).filter(id=team.id).exists():
        raise NotYours
    view.page, view.name, view.query, view.team = content.page, content.name, content.query, team
    with _named(content.name), transaction.atomic():
        _room(view)
        view.save()


def _room(view: SavedView) -> None:
    mine = Q(team=view.team) if view.team else Q(team=None, owner=view.owner)
    there = SavedView.objects.filter(mine, page=view.page).exclude(id=view.id).count()
    if there >= MOST:
        raise Refused(Problem("name", f"would be one more than {MOST}.", "Delete one first."))


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list | tuple) else [values]


def _text(name: str, given: object) -> str:
    """A value as an address has it. Raises Refused."""
    match given:
        case str():
            return given
        case bool():
            return str(given).lower()
        case int():
            return str(given)
        case _:
            hint = "Leave it out, or give the value as in an address; several as a list."
            raise Refused(Problem(f"query.{name}", "must be text.", hint))


def _slug(view: SavedView) -> str | None:
    return view.team.slug if view.team else None


def _who(by: User) -> str:
    return by.get_username()


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if "one_view_per_name" not in str(error):
            raise
        taken = f"“{name}” is the name of another view."
        raise Refused(Problem("name", taken, "Choose another one.")) from None
