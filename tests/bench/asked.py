"""What tests.bench.history asks for: every list with every filter, as page and over the API, deep
pages, the pages of one thing, files, and polls with and without a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.page_sessions import TAG
from runs.models import Run
from runs.states import State

PAGE_MS, POLL_MS, PAGE_BYTES = 300, 20, 200_000
DEEP = 30  # pages that are turned before a deep one is measured

JOBS = (
    "",
    *(f"state={one}" for one in ("active", "paused", "finished", "failing", "late")),
    *("state=failing,late", "state=failing&sort=last_run", "state=failing&team=small"),
    *("q=pattern+77", "q=nothing+like+it", "team=team-1", "team=small"),
    *("tag=prod", "tag=rare", "tag=nothing-like-it", "owner=squad+7"),
    *("kind=http", "kind=mirrored", "idempotent=false", "due_within=86400"),
    *(
        "sort=next_due",
        "sort=-next_due",
        "sort=last_run",
        "q=7&sort=next_due",
        "team=small&sort=last_run",
    ),
)
RUNS = (
    "",
    *(f"state={state}" for state in State),
    *("state=in_flight", "state=finished", "state=active", "state=DEAD&team=small"),
    *("team=small", "team=team-1", "q=pattern+77", "q=nothing+like+it"),
    *("origin=hand", "origin=schedule", "origin=backfill", "since=24h", "until=7d"),
    *("since=72h&until=48h", "state=SKIPPED&until=7d", "state=SUCCEEDED&until=7d"),
    *("tag=prod", "tag=rare", "tag=nothing-like-it", "tag=rare&state=DEAD", "owner=squad+7"),
    *("state=SUCCEEDED&q=nothing", "team=small&since=72h&until=48h", "team=small&state=CLOSED"),
)
PAGES = (
    *("/", "/?window=1h", "/?window=7d", "/review/", "/dead-letters/"),
    *("/upcoming/", "/upcoming/?tab=week", "/upcoming/?tab=off", "/upcoming/?team=small"),
    *("/holds/", "/calendars/", "/audit/", "/channels/", "/settings/"),
)
API = (
    *("/api/v1/overview/", "/api/v1/review/", "/api/v1/dead-letters/"),
    *("/api/v1/upcoming/", "/api/v1/upcoming/density/"),
)
POLLS = (
    *("/counts/", "/runs/live/", "/runs/live/?state=SUCCEEDED", "/runs/live/?state=DEAD"),
    *("/review/live/", "/dead-letters/live/", "/holds/live/"),
    *(f"/overview/{one}/" for one in ("summary", "attention", "numbers", "next", "machinery")),
)


@dataclass(frozen=True)
class Asked:
    """One address, who asks, and what it may cost. `budget`: milliseconds of the 95th percentile.
    `turned`: how many pages are turned first. `poll`: whether it is asked as a page does that has
    seen it, and whether it has changed since."""

    who: str
    where: str
    budget: int = PAGE_MS
    turned: int = 0
    poll: bool = False
    changed: bool = False
    streams: bool = False

    @property
    def name(self) -> str:
        """How it is told."""
        how = {
            f"page {self.turned + 1}": self.turned,
            "changed": self.poll and self.changed,
            "unchanged": self.poll and not self.changed,
            "first bytes": self.streams,
        }
        return f"{self.who} {self.where} {' '.join(word for word, so in how.items() if so)}".strip()


def everything() -> Iterator[Asked]:
    """All of it: by a person of all teams, by one of the small team, over the API."""
    for who in ("all", "small"):
        yield from _lists(who, "/jobs/", JOBS)
        yield from _lists(who, "/runs/", RUNS)
        yield from (Asked(who, where) for where in PAGES)
        yield from (Asked(who, where) for where in _things())
        yield from _polls(who)
        yield Asked(who, "/runs/export.csv", streams=True)
        yield Asked(who, "/jobs/export.csv", streams=True)
    yield from _lists("api", "/api/v1/jobs/", JOBS)
    yield from _lists("api", "/api/v1/runs/", RUNS)
    yield from (Asked("api", where) for where in API)


def _lists(who: str, path: str, queries: tuple[str, ...]) -> Iterator[Asked]:
    for query in queries:
        yield Asked(who, f"{path}?{query}")
    for query in ("", *(query for query in queries if query.startswith("sort="))):
        yield Asked(who, f"{path}?{query}", turned=DEEP)


def _things() -> Iterator[str]:
    """A job, a run, a dead letter and a review of the small team."""
    rows: Any = Run.objects.filter(job__team__slug="small").order_by("-id")
    done = rows.filter(state=State.SUCCEEDED)[0]
    for tab in ("", "?tab=schedule", "?tab=settings", "?tab=versions", "?tab=audit"):
        yield f"/jobs/{done.job_id}/{tab}"
    yield f"/jobs/{done.job_id}/runs/"
    yield f"/runs/?job={done.job_id}"
    yield f"/runs/{done.id}/"
    if dead := rows.filter(state=State.DEAD).first():
        yield f"/runs/{dead.id}/"
        yield f"/dead-letters/{dead.error_group}/"
        yield f"/runs/?group={dead.error_group}"
    if review := rows.filter(state=State.REVIEW).first():
        yield f"/review/{review.id}/"


def _polls(who: str) -> Iterator[Asked]:
    for where in POLLS:
        yield Asked(who, where, POLL_MS, poll=True)
        yield Asked(who, where, poll=True, changed=True)


def headers(asked: Asked, tag: str) -> dict[str, str]:
    """Those of a poll by a page that has seen `tag`; none of anything else."""
    return {TAG: "of before" if asked.changed else tag, "HX-Request": "true"} if asked.poll else {}
