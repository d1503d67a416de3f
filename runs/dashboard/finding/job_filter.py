"""Which jobs a list shows, and in which order: the same parameters for the page, the API, exports
and saved views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django import forms
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from jobs.models import Job
from runs.dashboard.finding import filters
from runs.dashboard.stances import conditions
from runs.dashboard.stars import stars

ORDERS = {
    "name": "Name",
    "-name": "Name, from Z to A",
    "next_due": "Next due",
    "-next_due": "Next due, the furthest first",
    "last_run": "Last run",
    "-last_run": "Last run, the oldest first",
}
_HEADS = {
    "name": ("Name", {"name": "ascending", "-name": "descending"}),
    "next_due": ("Next due", {"next_due": "ascending", "-next_due": "descending"}),
    "last_run": ("Last run", {"last_run": "descending", "-last_run": "ascending"}),
}
_MOST_AHEAD = 366 * 86_400  # seconds


_STATES: dict[str, tuple[str, Callable[[], Q]]] = {
    "active": ("Active", lambda: Q(paused=False, due__isnull=False)),
    "paused": ("Paused", lambda: Q(paused=True)),
    "finished": ("Finished", lambda: Q(paused=False, due__isnull=True)),
    "failing": ("Failing", conditions.is_failing),
    "late": ("Late", conditions.is_late),
}
_KINDS = {
    "http": ("HTTP call", Q(target__type="http")),
    "task": ("Task", Q(target__type="task")),
    "mirrored": ("Mirrored", Q(periodic_task_id__isnull=False)),
}
_SAFE = {"true": True, "false": False}
_AHEAD = ((3600, "Next hour"), (86_400, "Next 24 hours"), (7 * 86_400, "Next 7 days"))


class Head(NamedTuple):
    """A column to sort by: its name, the list sorted so, or the other way round where it is
    already, and how it is sorted if it is."""

    word: str
    address: str
    sorted: str


class AheadSelect(forms.Select):
    """The usual spans; an address may name any number of seconds, which then is one more."""

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """The choices, and the one that the address names."""
        if value[0] and value[0] not in {str(one) for one, _ in self.choices}:
            self.choices = [*self.choices, (value[0], f"Next {value[0]} seconds")]
        return super().optgroups(name, value, attrs)


class JobFilter(filters.Filter):
    """Jobs by text in name and description, team, state, what they call, whether they are safe to
    repeat, their tags (all that are named) and owner, whether the reader has starred them, and
    whether a moment comes within so many seconds; sorted."""

    q = filters.text("Search")
    state = filters.several(
        "State", "Every state", [(name, word) for name, (word, _) in _STATES.items()]
    )
    kind = filters.several(
        "Calls", "Anything", [(name, word) for name, (word, _) in _KINDS.items()]
    )
    idempotent = filters.one("Safe to repeat", "Either", [("true", "Yes"), ("false", "No")])
    due_within = forms.IntegerField(
        label="Due within",
        required=False,
        min_value=1,
        max_value=_MOST_AHEAD,
        widget=AheadSelect(attrs={"class": "input"}, choices=[("", "Any time"), *_AHEAD]),
    )
    tag = filters.TagsField("Tags")
    owner = filters.text("Owner")
    starred = filters.one(
        "Starred", "Every job", [("yes", "Those that I starred"), ("no", "The others")]
    )
    sort = filters.one("Sorted by", None, list(ORDERS.items()))

    field_order = (
        *("q", "team", "state", "kind", "idempotent", "tag", "owner", "starred"),
        *("due_within", "sort"),
    )
    order = ("sort",)

    @property
    def sorting(self) -> str:
        """The order of a valid filter."""
        return self.cleaned_data["sort"] or "name"

    @property
    def sorted_by(self) -> str:
        """The same in words."""
        return ORDERS[self.sorting]

    @property
    def heads(self) -> dict[str, Head]:
        """The columns that the list can be sorted by."""
        chosen = str(self.data.get("sort") or "name")
        return {
            name: Head(word, self._leads_to(ways, chosen), ways.get(chosen, ""))
            for name, (word, ways) in _HEADS.items()
        }

    def _leads_to(self, ways: Mapping[str, str], chosen: str) -> str:
        others = [by for by in ways if by != chosen]
        return filters.address_of({**self.narrowing, "sort": others[:1]})

    def applied(self, rows: QuerySet[Job], reader: int) -> QuerySet[Job]:
        """The rows that a valid filter asks for; `reader`: the person by whose stars it goes."""
        said = self.cleaned_data
        if said["q"]:
            rows = rows.filter(Q(name__icontains=said["q"]) | Q(description__icontains=said["q"]))
        if said["team"]:
            rows = rows.filter(team__slug=said["team"])
        if said["state"]:
            rows = rows.filter(reduce(or_, (_STATES[one][1]() for one in said["state"])))
        if said["kind"]:
            rows = rows.filter(reduce(or_, (_KINDS[one][1] for one in said["kind"])))
        if said["tag"]:  # all of them
            rows = rows.filter(tags__contains=said["tag"])
        if said["owner"]:
            rows = rows.filter(owner__icontains=said["owner"])
        if said["starred"]:
            starred = stars.is_starred(reader)
            rows = rows.filter(starred if said["starred"] == "yes" else ~starred)
        if said["idempotent"]:
            rows = rows.filter(idempotent=_SAFE[said["idempotent"]])
        if said["due_within"]:
            ahead = Now() + timedelta(seconds=said["due_within"])
            rows = rows.filter(paused=False, due__at__lte=ahead)
        return rows
