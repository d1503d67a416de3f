"""What is on hold, and will be soon, for the top of every page; what waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django import template
from django.db.models import CharField, DateTimeField, F, Value
from django.db.models.functions import Cast, Now

from jobs import maintenance
from jobs.models import Hold, Job, MaintenanceWindow

register = template.Library()

SOON = timedelta(hours=1)


class Notice(NamedTuple):
    """A hold that is on (`on`), or a window that begins within the hour. `team` is None for the
    whole installation; a hold without an end has no `until`."""

    kind: str
    id: UUID
    team: str | None
    slug: str | None
    reason: str
    since: datetime
    until: datetime | None

    @property
    def on(self) -> bool:
        """Whether it is on."""
        return self.kind == "hold"

    @property
    def scope(self) -> str:
        """What it holds, in words."""
        return f"team {self.slug}" if self.slug else "the whole installation"


@register.simple_tag
def notices(user_id: int | None) -> list[Notice]:
    """Those of this person's teams and of the installation: the holds, the newest first, before
    the windows, the nearest first. One statement, for every page asks it."""
    names = ("kind", "id", "team__name", "team__slug", "reason", "since", "end")
    on = Hold.objects.where(user_id).filter(ended_at=None)
    soon = MaintenanceWindow.objects.where(user_id).planned()
    soon = soon.filter(begins_at__lte=Now() + SOON, ends_at__gt=Now())
    found = [
        rows.order_by()
        .annotate(
            kind=Value(kind, CharField()),
            since=F(since),
            end=Cast(F(end), DateTimeField()),
        )
        .values_list(*names)
        for rows, kind, since, end in (
            (on, "hold", "began_at", "until"),
            (soon, "window", "begins_at", "ends_at"),
        )
    ]
    told = [Notice(*row) for row in found[0].union(found[1], all=True)]
    holds = sorted((one for one in told if one.on), key=_since, reverse=True)
    return holds + sorted((one for one in told if not one.on), key=_since)


@register.simple_tag
def windows_over(job: Job) -> list[MaintenanceWindow]:
    """The maintenance windows for which moments of the job wait, or will."""
    rows = MaintenanceWindow.objects.ahead()
    return [one for one in rows if one.team_id in (None, job.team_id)]


@register.simple_tag
def waits_for(
    windows: Iterable[MaintenanceWindow], at: datetime, team_id: UUID
) -> MaintenanceWindow | None:
    """The window for which a moment of the team waits; None: for none."""
    return maintenance.over(windows or (), team_id, at)


def _since(notice: Notice) -> datetime:
    return notice.since
