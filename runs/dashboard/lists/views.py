"""The lists of jobs and of runs: filtered, sorted and paged by what stands in their address."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from jobs import paging
from jobs.models import Job, JobVersion, Team
from jobs.page_door import jobs_of, page, person
from jobs.problems import BadRequest
from jobs.roles import Act
from runs import last_attempt, members
from runs.dashboard.finding import job_pages, newest, refused
from runs.dashboard.finding.filters import Filter, address_of
from runs.dashboard.finding.job_filter import JobFilter
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.run_filter import RunFilter
from runs.dashboard.lists import exports
from runs.dashboard.live import polling
from runs.dashboard.saved_views import tabs
from runs.dashboard.stances import outcomes
from runs.dashboard.stars import stars
from runs.models.run import RunQuerySet
from runs.page_door import SEEN, address, listed

SIZE = 50  # rows of a page
MOST_FRESH = 99  # new runs are counted as far as this
UUID_MAX = 2**128 - 1
_BY_BIRTH = ("-id",)
_PLACE = "runs"  # of the cursors: the page and its part that keeps itself up to date


@page
@require_GET
def jobs(request: HttpRequest) -> HttpResponse:
    """The jobs of this person's teams, each with what became of it lately."""
    asked = JobFilter(request.GET, slugs=slugs(request))
    rows, more, lost = _jobs(request, asked)
    past = outcomes.past(job.id for job in rows)
    pauses = _pauses(rows)
    starred = stars.among(person(request).id, past)
    context = {
        "rows": [(job, past[job.id], pauses.get(job.id), job.id in starred) for job in rows],
        "more": address(request, cursor=more) if more else None,
        "first": asked.address if request.GET.get("cursor") else None,
        "operates": slugs(request, Act.OPERATE),
        "edits": slugs(request, Act.EDIT),
        "behind": members.behind() if person(request).is_staff else [],
        "refused": refused.of(request, asked, beside=("cursor",), wrong=lost),
    }
    return render(request, "dashboard/jobs.html", {**context, **_tabs(request, "jobs", asked)})


@page
@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    """The runs of this person's teams, newest first."""
    asked = RunFilter(request.GET, slugs=slugs(request))
    by_error = {k: v for k, v in asked.narrowing.items() if k in ("q", "team")}
    lost = {"cursor": refused.LOST} if request.GET.get("cursor") and not _below(request) else {}
    context = {
        **_run_rows(_Look(request, asked)),
        "by_error": address_of(by_error),
        "kept_days": settings.KEEP_RUNS_DAYS,
        "refused": refused.of(request, asked, beside=("cursor", "top"), wrong=lost),
    }
    return render(request, "dashboard/runs.html", {**context, **_tabs(request, "runs", asked)})


@polling.poll
@require_GET
def runs_live(request: HttpRequest) -> HttpResponse:
    """The rows of that page as they are by now. None is put in under the pointer: `top` is the
    newest that the page shows, and how many have come since is said above."""
    look = _Look(request, RunFilter(request.GET, slugs=slugs(request)))
    return polling.answer_with(
        request, "dashboard/_run_rows.html", look.tag, lambda: _run_rows(look)
    )


class _Look:
    """What the rows of the page of runs are by now, and no more than tells whether they differ."""

    def __init__(self, request: HttpRequest, asked: RunFilter) -> None:
        self.request, self.asked = request, asked
        self.later = bool(request.GET.get("cursor"))
        self.top = None if self.later else _id(request.GET.get("top", ""))
        self.found = _runs(request, asked, self.top)
        self.fresh = _fresh(request, asked, self.top) if self.top else 0

    @property
    def shown(self) -> RunQuerySet:
        return listed(self.request).filter(id__in=self.found[:SIZE])

    @cached_property
    def tag(self) -> str:
        """A cursor is another one each second, and is left out."""
        seen = [list(self.shown.values_list(*SEEN)), len(self.found) > SIZE, self.fresh]
        return polling.tag_of(self.request, seen)


def _run_rows(look: _Look) -> dict[str, Any]:
    request, found, asked = look.request, look.found, look.asked
    shown = list(last_attempt.with_end(look.shown))
    more = paging.cursor({"id": found[SIZE - 1]}, _BY_BIRTH, _PLACE) if len(found) > SIZE else None
    context = {
        "runs": shown,
        "more": address(request, cursor=more, top="") if more else None,
        "first": asked.address if look.later else None,
        "fresh": look.fresh,
        "filter": asked,
        "file_most": f"{exports.MOST:,}",
    }
    region = polling.region(request, "runs-live", context, tag=look.tag)
    if shown and not look.later:
        region["live_url"] = reverse("runs-live") + address(request, top=look.top or found[0])
    return region


def _fresh(request: HttpRequest, asked: RunFilter, top: UUID) -> int:
    """How many of this filter were born since; one above the most that is told, for more."""
    if not asked.is_valid():
        return 0
    return newest.count(Reader(person(request).id), asked.wanted, MOST_FRESH + 1, above=top)


def _tabs(request: HttpRequest, page: str, asked: Filter) -> dict[str, Any]:
    found = tabs.of(request, page, asked)
    return {
        "page": page,
        "tabs": found,
        "open_view": next((tab.view for tab in found if tab.is_open), None),
        "filter": asked,
        "file_most": f"{exports.MOST:,}",
    }


def slugs(request: HttpRequest, act: Act = Act.READ) -> list[str]:
    """The slugs of the teams in which this person may do this."""
    rows = Team.objects.where(person(request).id, act)
    return list(rows.values_list("slug", flat=True))


def _jobs(request: HttpRequest, asked: JobFilter) -> tuple[list[Job], str | None, dict[str, str]]:
    """A page of jobs, the cursor of the next, and what is wrong with that of this one; nothing
    for a filter that is none."""
    if not asked.is_valid():
        return [], None, {}
    rows = asked.applied(jobs_of(request), person(request).id).select_related("team", "due")
    cursor = request.GET.get("cursor", "")
    try:
        return *job_pages.page(rows, asked.sorting, cursor, SIZE), {}
    except BadRequest:  # of another order, or of nowhere: from the beginning
        return *job_pages.page(rows, asked.sorting, "", SIZE), {"cursor": refused.LOST}


def _runs(request: HttpRequest, asked: RunFilter, top: UUID | None) -> list[UUID]:
    """The ids of a page, and one more where there is a next; nothing for a filter that is none."""
    if not asked.is_valid():
        return []
    below = UUID(int=top.int + 1) if top else _below(request)
    return newest.ids(Reader(person(request).id), asked.wanted, SIZE + 1, below=below)


def _id(text: str) -> UUID | None:
    """The id; None for what is none, or could have none after it."""
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if found.int < UUID_MAX else None


def _below(request: HttpRequest) -> UUID | None:
    cursor = request.GET.get("cursor")
    try:
        return UUID(paging.opened(cursor, _BY_BIRTH, _PLACE)[0]) if cursor else None
    except BadRequest:
        return None


def _pauses(rows: list[Job]) -> dict[UUID, JobVersion]:
    """The version by which each paused one was paused: by whom, and since when."""
    paused = [job.id for job in rows if job.paused]
    changes: Any = JobVersion.objects.filter(job__in=paused, changes__paused__to=True)
    versions = changes.select_related("by").order_by("job_id", "-number").distinct("job_id")
    return {version.job_id: version for version in versions.defer("definition")}
