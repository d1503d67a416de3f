"""Which of the queue a page of review shows, and what of it changes while the page stands open."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.urls import reverse

from jobs import clock
from jobs.models import Team
from jobs.page_door import acts, person
from jobs.roles import Act
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant, parse_instant
from runs import decisions
from runs.dashboard.live import polling
from runs.models import Run
from runs.page_door import SEEN, address, listed
from runs.review import bulk, deciding, queue
from runs.review import claims as review_claims
from runs.review.forms import ReviewFilter
from runs.states import State

SIZE = 50  # rows of a page
BESIDE = 20  # of the queue, beside one of it
MOST_FRESH = 99  # new ones are counted as far as this
# The run first, then what the queue says of it.
_SEEN = ("id", "decide_before", "was_escalated", "waits_for_second", *SEEN[1:])
_FILTER = ("class", "team", "claimed", "overdue", "job")
_FORMER = {"review_class": "class", "whose": "claimed"}  # addresses that people have kept


def asked(request: HttpRequest) -> ReviewFilter:
    """The filter that stands in the address."""
    teams = Team.objects.where(person(request).id, Act.READ)
    slugs = list(teams.values_list("slug", flat=True))
    return ReviewFilter(_by_present_names(request), slugs=slugs)


def query(request: HttpRequest) -> str:
    """That filter as the end of another page's address; empty where it is none."""
    found = _by_present_names(request)
    for name in [*found]:
        if name not in _FILTER or not found[name]:
            del found[name]
    return f"?{found.urlencode()}" if found else ""


def present_address(request: HttpRequest) -> str | None:
    """Where the page is by now whose address names a filter as it was called before."""
    found = _by_present_names(request)
    return None if found == request.GET else f"{request.path}?{found.urlencode()}"


def _by_present_names(request: HttpRequest) -> QueryDict:
    found = request.GET.copy()
    for former, name in _FORMER.items():
        if former in found:
            found.setlist(name, found.pop(former))
    if found.get("overdue") == "yes":
        found["overdue"] = "true"
    return found


class Queue:
    """The region of the queue's rows. None moves and none is put in while the page stands open:
    `as_of` is when it was opened, and how many have come since is said above.

    First no more is read than tells whether it differs: every open page asks, again and again.
    """

    def __init__(self, request: HttpRequest) -> None:
        self.request, self.filter, self.now = request, asked(request), clock.now()
        self.then = _as_of(request)
        self.seen = self._seen()
        if self.then and not self.seen:  # where no row stands, none is moved
            self.then = None
            self.seen = self._seen()
        self.has_more = len(self.seen) > SIZE
        self.fresh = _fresh(request, self.filter, self.then) if self.then else 0

    def _seen(self) -> list[tuple[Any, ...]]:
        return list(_rows(self.request, self.filter, self.then).values_list(*_SEEN)[: SIZE + 1])

    @property
    def tag(self) -> str:
        """Of what it shows by now."""
        ids = [run_id for run_id, *_ in self.seen]
        claims = queue.claims(ids).values()
        taken = sorted((claim.run_id, claim.by_id, claim.until) for claim in claims)
        overdue = [bool(at and at < self.now) for _, at, *_ in self.seen]
        return polling.tag_of(self.request, [self.seen, overdue, taken, self.fresh])

    @property
    def region(self) -> dict[str, Any]:
        """What its template shows."""
        ids = [run_id for run_id, *_ in self.seen[:SIZE]]
        lines = _lines(list(queue.waiting_among(listed(self.request).filter(id__in=ids))))
        more = address(self.request, after=ids[-1], as_of="") if self.has_more else None
        context = {
            "lines": lines,
            "now": self.now,
            "filter": self.filter,
            "more": more,
            "query": query(self.request),
            "fresh": self.fresh,
        }
        region = polling.region(self.request, "review-live", context, tag=self.tag)
        region["live_url"] = reverse("review-live") + _since(self.request, self.then or self.now)
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
    passed = None if gone else deciding.escalated(run)
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
    meant = bulk.meant(_narrowed(request, filter, queue.waiting(rows)), clock.now())
    found: QuerySet[Run] = meant.defer("snapshot").order_by("id")[: bulk.MOST]
    return found


def _found(
    request: HttpRequest, filter: ReviewFilter, count: int, then: datetime | None
) -> list[Any]:
    """The first of the queue by this filter."""
    return list(_rows(request, filter, then)[:count])


def _rows(request: HttpRequest, filter: ReviewFilter, then: datetime | None) -> QuerySet[Any]:
    """The queue by this filter, in its order; none for a filter that is none."""
    rows = listed(request)
    there = queue.as_of(rows, then) if then else queue.waiting(rows)
    if not filter.is_valid():
        return there.none()
    narrowed = _narrowed(request, filter, there)
    if filter.cleaned_data["after"]:
        narrowed = queue.behind(narrowed, filter.cleaned_data["after"])
    return narrowed


def _fresh(request: HttpRequest, filter: ReviewFilter, then: datetime) -> int:
    """How many have come since; one above the most that is told, for more."""
    if not filter.is_valid():
        return 0
    come = queue.waiting(listed(request)).filter(review_at__gt=then).order_by()
    return _narrowed(request, filter, come)[: MOST_FRESH + 1].count()


def _narrowed(request: HttpRequest, filter: ReviewFilter, rows: QuerySet[Any]) -> QuerySet[Any]:
    return queue.narrowed(rows, person(request).id, **filter.asked)


def _lines(runs: list[Any]) -> list[tuple[Any, Any]]:
    claims = queue.claims([run.id for run in runs])
    return [(run, claims.get(run.id)) for run in runs]


def _as_of(request: HttpRequest) -> datetime | None:
    """When the page was opened that asks; None for the page itself."""
    try:
        return parse_instant(request.GET.get("as_of", ""), "as_of")
    except ScheduleError:
        return None


def _since(request: HttpRequest, then: datetime) -> str:
    return address(request, as_of=canonical_instant(then))
