"""Which of the queue a page of review shows, and what of it changes while the page stands open."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from jobs import clock
from jobs.instants import canonical_instant, parse_instant
from jobs.page_door import acts, person
from jobs.roles import Act
from jobs.schedule_errors import ScheduleError
from runs import decisions, review, review_bulk, review_claims, review_queue
from runs.dashboard import polling
from runs.models import Run
from runs.page_door import address, listed
from runs.review_forms import ReviewFilter
from runs.states import State

SIZE = 50  # rows of a page
BESIDE = 20  # of the queue, beside one of it
MOST_FRESH = 99  # new ones are counted as far as this
_FILTER = ("review_class", "whose", "overdue", "job")


def asked(request: HttpRequest) -> ReviewFilter:
    """The filter that stands in the address."""
    return ReviewFilter(request.GET, label_suffix="")


def query(request: HttpRequest) -> str:
    """That filter as the end of another page's address; empty where it is none."""
    kept = {name: request.GET[name] for name in _FILTER if request.GET.get(name)}
    found = request.GET.copy()
    found.clear()
    found.update(kept)
    return f"?{found.urlencode()}" if kept else ""


def queue(request: HttpRequest) -> dict[str, Any]:
    """The region of the queue's rows. None moves and none is put in while the page stands open:
    `as_of` is when it was opened, and how many have come since is said above."""
    filter, then, now = asked(request), _as_of(request), clock.now()
    found = _found(request, filter, SIZE + 1, then)
    if then and not found:  # where no row stands, none is moved
        then, found = None, _found(request, filter, SIZE + 1, None)
    lines = _lines(found[:SIZE])
    more = address(request, after=found[SIZE - 1].id, as_of="") if len(found) > SIZE else None
    context = {
        "lines": lines,
        "now": now,
        "filter": filter,
        "more": more,
        "query": query(request),
        "fresh": _fresh(request, filter, then) if then else 0,
    }
    overdue = [bool(run.decide_before and run.decide_before < now) for run in found[:SIZE]]
    seen = (lines, overdue, more, context["fresh"])
    region = polling.region(request, "review-live", context, seen=seen)
    region["live_url"] = reverse("review-live") + _since(request, then or now)
    return region


def others(request: HttpRequest, run: Run) -> dict[str, Any]:
    """The region of what waits beside this run, by the same rule."""
    then, now = _as_of(request), clock.now()
    filter = asked(request)
    lines = _lines(_found(request, filter, BESIDE, then))
    context = {
        "lines": lines,
        "now": now,
        "run": run,
        "query": query(request),
        "fresh": _fresh(request, filter, then) if then else 0,
    }
    seen = (lines, context["fresh"])
    region = polling.region(request, "review-others", context, seen=seen, run_id=run.id)
    region["live_url"] = region["live_url"].partition("?")[0] + _since(request, then or now)
    return region


def news(request: HttpRequest, run: Run, *, beside: bool) -> dict[str, Any]:
    """The region that says who has the run, whether somebody was faster, and whether anything
    has come back that the page (`beside` the queue, or the run's own) does not show yet."""
    last = run.decisions.select_related("by").order_by("-at").first()
    gone = run.state != State.REVIEW
    claim = None if gone else review_claims.of(run.id)
    passed = None if gone else review.escalated(run)
    late = run.attempts.filter(late__isnull=False).count()
    known = request.GET.get("late", "")
    context = {
        "run": run,
        "claim": claim,
        "beside": beside,
        "came_late": known.isdecimal() and late > int(known[:9]),
        "escalated": passed,
        "gone": gone,
        "by_whom": last if gone else None,
        "said": decisions.said(last) if gone and last else "",
        "may_act": Act.OPERATE in acts(request, run.job.team_id),
        "query": query(request),
    }
    seen = (run.state, run.attempt, claim, passed, last, context["came_late"])
    region = polling.region(request, "review-news", context, seen=seen, run_id=run.id)
    where = {"late": known or str(late), "beside": "1" if beside else ""}
    region["live_url"] = region["live_url"].partition("?")[0] + address(request, **where)
    return region


def together(request: HttpRequest, filter: ReviewFilter) -> QuerySet[Run]:
    """What this person may decide together, by the filter: as much as goes at once."""
    rows = Run.objects.where(person(request).id, Act.OPERATE)
    if not filter.is_valid():
        return rows.none()
    meant = review_bulk.meant(_narrowed(request, filter, review_queue.waiting(rows)), clock.now())
    found: QuerySet[Run] = meant.defer("snapshot").order_by("id")[: review_bulk.MOST]
    return found


def _found(
    request: HttpRequest, filter: ReviewFilter, count: int, then: datetime | None
) -> list[Any]:
    """The first of the queue by this filter; none for a filter that is none."""
    if not filter.is_valid():
        return []
    rows = listed(request)
    there = review_queue.as_of(rows, then) if then else review_queue.waiting(rows)
    narrowed = _narrowed(request, filter, there)
    if filter.cleaned_data["after"]:
        narrowed = review_queue.behind(narrowed, filter.cleaned_data["after"])
    return list(narrowed[:count])


def _fresh(request: HttpRequest, filter: ReviewFilter, then: datetime) -> int:
    """How many have come since; one above the most that is told, for more."""
    if not filter.is_valid():
        return 0
    come = review_queue.waiting(listed(request)).filter(review_at__gt=then).order_by()
    return _narrowed(request, filter, come)[: MOST_FRESH + 1].count()


def _narrowed(request: HttpRequest, filter: ReviewFilter, rows: QuerySet[Any]) -> QuerySet[Any]:
    return review_queue.narrowed(rows, person(request).id, **filter.asked)


def _lines(runs: list[Any]) -> list[tuple[Any, Any]]:
    claims = review_queue.claims(runs)
    return [(run, claims.get(run.id)) for run in runs]


def _as_of(request: HttpRequest) -> datetime | None:
    """When the page was opened that asks; None for the page itself."""
    try:
        return parse_instant(request.GET.get("as_of", ""), "as_of")
    except ScheduleError:
        return None


def _since(request: HttpRequest, then: datetime) -> str:
    return address(request, as_of=canonical_instant(then))
