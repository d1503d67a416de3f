"""The acts of the audit as they are shown: each with where the thing it was about is by now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from jobs import paging
from jobs.api_shapes import instant
from jobs.models import AuditEvent, Calendar, Hold, Job, MaintenanceWindow, User
from jobs.version_lines import Line
from runs.dashboard.events import words as event_words
from runs.models import Backfill, Channel, Replay, Run, SavedView, Trial

COLUMNS = (
    *("id", "at", "team", "who", "verb", "kind", "object", "name", "changes", "reason"),
    *("door", "address", "token", "request_id", "job", "run"),
)
NEWEST = ("-id",)
_AT_ONCE = 500

# Where a thing of a kind has its page, and which of them are there still.
_PAGES: dict[str, tuple[str, Callable[[], QuerySet[Any]]]] = {
    "job": ("job", lambda: Job.objects.filter(deleted_at=None)),
    "run": ("run", lambda: Run.objects.filter(job__deleted_at=None)),
    "trial": ("trial", lambda: Trial.objects.all()),
    "replay": ("replay", lambda: Replay.objects.all()),
    "backfill": ("backfill", lambda: Backfill.objects.filter(job__deleted_at=None)),
    "hold": ("hold", lambda: Hold.objects.all()),
    "window": ("window", lambda: MaintenanceWindow.objects.all()),
    "calendar": ("calendar", lambda: Calendar.objects.filter(deleted_at=None)),
    "channel": ("channel", lambda: Channel.objects.all()),
    "view": ("view", lambda: SavedView.objects.all()),
}


@dataclass(frozen=True)
class Shown:
    """An act, in words; `address` is empty where what it was about has no page any more."""

    event: AuditEvent
    address: str

    @property
    def did(self) -> str:
        """What was done, as it stands in a sentence."""
        return event_words.spoken(self.event.verb)

    @property
    def lines(self) -> list[Line]:
        """What changed."""
        return [Line(one["part"], one["from"], one["to"]) for one in self.event.lines]

    @property
    def by_way_of(self) -> str:
        """Through which door."""
        return event_words.DOORS[self.event.door]


def of(user: User) -> QuerySet[AuditEvent]:
    """What this person may read, the newest first."""
    return AuditEvent.objects.where(user).select_related("team").order_by(*NEWEST)


def shown(rows: Sequence[AuditEvent]) -> list[Shown]:
    """The acts with their addresses: one question a kind, however many there are."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for event in rows:
        ids[event.kind].add(event.object_id)
    there = {kind: _there(kind, found) for kind, found in ids.items() if kind in _PAGES}
    return [Shown(event, _address(event, there)) for event in rows]


def _there(kind: str, ids: set[str]) -> set[str]:
    rows = _PAGES[kind][1]().filter(pk__in=ids)
    return {str(pk) for pk in rows.order_by().values_list("pk", flat=True)}


def _address(event: AuditEvent, there: dict[str, set[str]]) -> str:
    if event.object_id not in there.get(event.kind, ()):
        return ""
    return reverse(_PAGES[event.kind][0], args=[event.object_id])


def as_row(event: AuditEvent) -> dict[str, Any]:
    """An act as the API and the files show it."""
    return {
        "id": event.id,
        "at": instant(event.at),
        "team": event.team.slug if event.team else None,
        "who": event.who or None,
        **{name: getattr(event, name) for name in ("verb", "kind", "name", "reason")},
        "object": event.object_id,
        "changes": event.lines,
        **{name: getattr(event, name) for name in ("door", "address", "token", "request_id")},
        "job": event.job_id and str(event.job_id),
        "run": event.run_id and str(event.run_id),
    }


def rows(found: QuerySet[AuditEvent]) -> Iterator[dict[str, Any]]:
    """All of them for a file, page by page."""
    page = list(found[:_AT_ONCE])
    while page:
        yield from map(as_row, page)
        page = list(found.filter(paging.behind(NEWEST, [page[-1].id]))[:_AT_ONCE])
