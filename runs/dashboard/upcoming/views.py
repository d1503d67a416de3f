"""The page of what is due in the time to come: a list, a map of the week, days off and holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs import clock, reader
from jobs.models import Hold, Job, MaintenanceWindow, Team
from jobs.page_door import jobs_of, page, person
from jobs.roles import Act
from jobs.schedules import zones
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant, parse_instant
from runs.dashboard.finding import refused
from runs.dashboard.upcoming import days_off, falling, heat, upcoming
from runs.dashboard.upcoming.density import local_days
from runs.dashboard.upcoming.upcoming import Place

SIZE = 50
COUNTED = 5  # windows of which the moments are counted
AHEAD = timedelta(hours=24)
FIRST = UUID(int=0)
LAST = UUID(int=2**128 - 1)
_TICK = timedelta.resolution
TABS = {"list": "Next 24 hours", "week": "Week", "off": "Days off and holds"}


class UpcomingFilter(forms.Form):
    """Which moments: of a team, from an instant (`from`) to before another, behind a place."""

    team = forms.ChoiceField(
        label="Team",
        required=False,
        widget=forms.Select(attrs={"class": "input"}),
        error_messages={"invalid_choice": "%(value)s is none of your teams."},
    )
    until = forms.CharField(required=False, max_length=40)
    behind = forms.CharField(required=False, max_length=80)

    def __init__(self, data: Any, *, teams: list[str], now: datetime) -> None:
        super().__init__(data, label_suffix="")
        self.now = now
        self.fields["from"] = forms.CharField(required=False, max_length=40)
        choice = self.fields["team"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [("", "Every team"), *((slug, slug) for slug in teams)]

    def clean_from(self) -> datetime | None:
        return self._instant("from")

    def clean_until(self) -> datetime | None:
        return self._instant("until")

    def clean_behind(self) -> Place | None:
        """`<instant>_<id of the job>`."""
        at, _, job_id = str(self.cleaned_data["behind"]).partition("_")
        try:
            return Place(parse_instant(at, "behind"), UUID(job_id)) if at else None
        except (ScheduleError, ValueError):
            raise forms.ValidationError("This is no place of the list. Begin anew.") from None

    def _instant(self, name: str) -> datetime | None:
        text = self.cleaned_data[name]
        try:
            found = parse_instant(text, name) if text else None
        except ScheduleError as error:
            raise forms.ValidationError(f"{name}: {error.message} {error.hint}") from None
        last = self.now + timedelta(days=upcoming.DAYS + 1)
        if found is not None and found > last:
            words = f"{name}: looks further ahead than a week. Choose an earlier instant."
            raise forms.ValidationError(words)
        return found

    @property
    def window(self) -> tuple[datetime, datetime]:
        """From, and up to and with."""
        since, until = self.cleaned_data["from"], self.cleaned_data["until"]
        since = max(since or self.now, self.now)
        return since, until - _TICK if until else max(since, self.now) + AHEAD

    @property
    def narrowed(self) -> bool:
        return any(self.data.get(name) for name in ("team", "from", "until", "behind"))


@page
@require_GET
def coming(request: HttpRequest) -> HttpResponse:
    """One of three tabs, by `?tab=`."""
    chosen = request.GET.get("tab", "list")
    tab = chosen if chosen in TABS else "list"
    now = clock.now()
    teams = list(Team.objects.where(person(request).id, Act.READ).values_list("slug", flat=True))
    asked = UpcomingFilter(request.GET, teams=teams, now=now)
    valid = asked.is_valid()
    jobs = jobs_of(request) if valid else Job.objects.none()
    if valid and asked.cleaned_data["team"]:
        jobs = jobs.filter(team__slug=asked.cleaned_data["team"])
    wrong = {} if chosen in TABS else {"tab": f"Choose from {', '.join(TABS)}."}
    context = {"tab": tab, "tabs": TABS.items(), "filter": asked, "now": now, "valid": valid}
    context["refused"] = refused.of(request, asked, beside=("tab",), wrong=wrong)
    if valid:
        context |= _SHOWN[tab](request, jobs, asked)
    return render(request, "dashboard/upcoming.html", context)


def _list(request: HttpRequest, jobs: QuerySet[Job], asked: UpcomingFilter) -> dict[str, object]:
    since, until = asked.window
    # A job at `since` itself counts, one at this very instant is not to come any more.
    begin = Place(since, FIRST if since > asked.now else LAST)
    found = upcoming.page(jobs, asked.now, until, asked.cleaned_data["behind"] or begin, SIZE)
    behind = found.following
    more = behind and f"{canonical_instant(behind.at)}_{behind.job_id}"
    # The next page ends where this one does.
    ends = canonical_instant(until + _TICK)
    ahead = list(MaintenanceWindow.objects.ahead()) if found.rows else []
    context = {"page": found, "more": more, "ends": ends, "windows": ahead}
    return {**context, "since": since, "until": until}


def _week(request: HttpRequest, jobs: QuerySet[Job], asked: UpcomingFilter) -> dict[str, object]:
    zone = reader.zone_of(request)
    last = asked.now + timedelta(days=upcoming.DAYS + 1)
    days = local_days(asked.now, last, zone)[: upcoming.DAYS]
    found = upcoming.week(jobs, asked.now, days[-1].end)
    rows = heat.rows(days, zone, found.minutes.start, found.within)
    legend = heat.legend(rows)
    hours = range(24)
    return {"week": found, "rows": rows, "legend": legend, "hours": hours, "zone": zone}


def _off(request: HttpRequest, jobs: QuerySet[Job], asked: UpcomingFilter) -> dict[str, object]:
    today = zones.on_clock(asked.now, reader.zone_of(request)).date()
    pauses = jobs.filter(paused=True, paused_until__isnull=False).order_by("paused_until", "name")
    return {
        "days": days_off.coming(jobs, today),
        "ahead": days_off.AHEAD.days,
        "windows": _windows(request, jobs, asked),
        "falls": True,
        "holds": Hold.objects.where(person(request).id).filter(ended_at=None),
        "pauses": pauses[:SIZE],
    }


def _windows(
    request: HttpRequest, jobs: QuerySet[Job], asked: UpcomingFilter
) -> list[MaintenanceWindow]:
    """Those that are planned; of the first few how much waits for them."""
    rows = MaintenanceWindow.objects.where(person(request).id).planned()
    if team := asked.cleaned_data["team"]:
        rows = rows.filter(Q(team=None) | Q(team__slug=team))
    found = list(rows[:SIZE])
    for window in found[:COUNTED]:
        held = jobs.filter(team=window.team_id) if window.team_id else jobs
        window.falls = falling.into(held, asked.now, window.begins_at, window.ends_at)  # type: ignore[attr-defined]
    return found


_SHOWN: dict[str, Callable[..., dict[str, object]]] = {"list": _list, "week": _week, "off": _off}
