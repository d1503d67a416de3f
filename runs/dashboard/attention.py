"""What needs somebody, the worst first: what waits for a decision, what died, what is late, what
goes on after a failure, what is paused. Each line leads to what may be done about it.

A few of each kind, in a constant number of statements; the tiles lead to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse

from jobs.models import Due, Job, JobVersion
from runs import dead_letters, review_queue
from runs.dashboard import conditions
from runs.models import Run
from runs.states import State

EACH = 5  # lines of a kind
# What a line says, and no more: rows of runs and jobs are wide, and the page polls.
_OF_JOB = ("name", "deleted_at", "team__slug")
_OF_RUN = (
    *("id", "state", "reason", "review_at", "due_at", "created_at", "send_at", "failures"),
    *("max_attempts", *(f"job__{name}" for name in _OF_JOB)),
)


@dataclass(frozen=True)
class Line:
    """One of them. `id` is the same at each look; `glyph` and `word` say its state; `since`: when
    it came to that; `goes_on`: when something happens by itself."""

    id: str
    glyph: str
    word: str
    job: Job
    what: str
    since: datetime | None
    act: str
    href: str
    is_overdue: bool = False
    goes_on: datetime | None = None


def lines(runs: QuerySet[Run], jobs: QuerySet[Job], now: datetime) -> list[Line]:
    """The lines for these runs and jobs of a person's teams."""
    runs = runs.only(*_OF_RUN)
    return [
        *_reviews(runs, now),
        *_letters(runs),
        *_late(runs, jobs),
        *_retries(runs),
        *_paused(jobs),
    ]


def _reviews(runs: QuerySet[Run], now: datetime) -> Iterator[Line]:
    for run in review_queue.most_urgent(runs.filter(state=State.REVIEW))[:EACH]:
        overdue = run.decide_before is not None and run.decide_before < now
        href = reverse("review-item", args=[run.id])
        about = (f"run-{run.id}", "review", "Needs review", run.job, run.reason, run.review_at)
        yield Line(*about, "Decide", href, is_overdue=overdue)


def _letters(runs: QuerySet[Run]) -> Iterator[Line]:
    of = dead_letters.groups(runs.select_related(None)).order_by(*dead_letters.ORDER)
    for group in dead_letters.told(list(of[:EACH])):
        what = f"{group.count:,} dead: {group.said}" if group.count > 1 else group.said
        about = (f"group-{group.id}", "dead", "Dead letter", group.job, what, group.first_at)
        yield Line(*about, "Open group", reverse("dead-group", args=[group.id]))


def _late(runs: QuerySet[Run], jobs: QuerySet[Job]) -> Iterator[Line]:
    unclaimed = conditions.overdue(Due.objects.filter(job__in=jobs.order_by().values("id")))
    shown = unclaimed.select_related("job__team").only("at", *(f"job__{name}" for name in _OF_JOB))
    for due in shown.order_by("at")[:EACH]:
        late = (f"due-{due.job_id}", "waiting", "Late", due.job, "No beat has claimed it.", due.at)
        yield Line(*late, "Open", reverse("job", args=[due.job_id]))
    for run in conditions.late_of(runs).order_by("due_at", "id")[:EACH]:
        what = run.reason or "No worker has started it."
        about = (f"run-{run.id}", "waiting", "Late", run.job, what, run.due_at)
        yield Line(*about, "Open", reverse("run", args=[run.id]))


def _retries(runs: QuerySet[Run]) -> Iterator[Line]:
    for run in conditions.retrying_of(runs).order_by("-failures", "id")[:EACH]:
        what = f"{run.failures} of {run.max_attempts} attempts failed: {run.reason}"
        about = (
            f"run-{run.id}",
            "retrying",
            "Retrying",
            run.job,
            what,
            run.due_at or run.created_at,
        )
        yield Line(*about, "Open", reverse("run", args=[run.id]), goes_on=run.send_at)


def _paused(jobs: QuerySet[Job]) -> Iterator[Line]:
    began = JobVersion.objects.filter(job=OuterRef("pk"), changes__has_key="paused")
    newest = began.order_by("-number")
    rows: Any = jobs.filter(paused=True).annotate(
        paused_at=Subquery(newest.values("began_at")[:1]),
        paused_by=Subquery(newest.values("by__username")[:1]),
    )
    rows = rows.only(*_OF_JOB, "paused_reason", "paused_until")
    for job in rows.order_by("-version_began_at", "id")[:EACH]:
        who = f"by {job.paused_by}" if job.paused_by else "without a person"
        what = f"{who}: {job.paused_reason}" if job.paused_reason else f"{who}, no reason given"
        about = (f"job-{job.id}", "paused", "Paused", job, what, job.paused_at)
        yield Line(*about, "Open", reverse("job", args=[job.id]), goes_on=job.paused_until)
