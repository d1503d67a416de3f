"""What needs somebody, the worst first: what waits for a decision, what died, what is late, what
goes on after a failure, what is paused. Each line leads to what may be done about it.

A few of each kind, in a constant number of statements; the tiles lead to all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from runs.dashboard.overview import attention_rows
from runs.dashboard.overview.attention_rows import Named, Row
from runs.letters import groups as dead_letters
from runs.models import Run
from runs.review import queue
from runs.states import State

EACH = 5  # lines of a kind


@dataclass(frozen=True)
class Line:
    """One of them. `id` is the same at each look; `glyph` and `word` say its state; `since`: when
    it came to that; `goes_on`: when something happens by itself."""

    id: str
    glyph: str
    word: str
    job: Named
    what: str
    since: datetime | None
    act: str
    href: str
    is_overdue: bool = False
    goes_on: datetime | None = None


def lines(teams: Collection[UUID], now: datetime) -> list[Line]:
    """The lines for the jobs of these teams."""
    before = _most_urgent(teams)
    found = attention_rows.of(teams, reviews=list(before), each=EACH)
    overdue = {run_id for run_id, until in before.items() if until is not None and until < now}
    return [
        *(_review(row, is_overdue=row.run_id in overdue) for row in found.get("review", ())),
        *_letters(teams),
        *(_unclaimed(row) for row in found.get("unclaimed", ())),
        *(_unstarted(row) for row in found.get("unstarted", ())),
        *(_retrying(row) for row in found.get("retrying", ())),
        *(_paused(row) for row in found.get("paused", ())),
    ]


def _most_urgent(teams: Collection[UUID]) -> dict[UUID, datetime | None]:
    """Runs in review, and until when each should be decided."""
    waiting = Run.objects.filter(state=State.REVIEW, job__team__in=teams)
    found = queue.most_urgent(waiting).values_list("id", "decide_before")
    return dict(found[:EACH])


def _letters(teams: Collection[UUID]) -> Iterator[Line]:
    runs = Run.objects.filter(job__team__in=teams)
    of = dead_letters.groups(runs).order_by(*dead_letters.ORDER)
    for group in dead_letters.told(list(of[:EACH])):
        what = f"{group.count:,} dead: {group.said}" if group.count > 1 else group.said
        about = Named(group.job.id, group.job.name, group.job.deleted_at, group.job.team.slug)
        href = reverse("dead-group", args=[group.id])
        state = (f"group-{group.id}", "dead", "Dead letter")
        yield Line(*state, about, what, group.first_at, "Open group", href)


def _review(row: Row, *, is_overdue: bool) -> Line:
    href = reverse("review-item", args=[row.run_id])
    return _of_run(row, "review", "Needs review", row.said or "", "Decide", href, is_overdue)


def _unclaimed(row: Row) -> Line:
    return _of_job(row, f"due-{row.job.id}", ("waiting", "Late"), "No beat has claimed it.")


def _unstarted(row: Row) -> Line:
    return _of_run(row, "waiting", "Late", row.said or "No worker has started it.")


def _retrying(row: Row) -> Line:
    what = f"{row.failures} of {row.max_attempts} attempts failed: {row.said}"
    return _of_run(row, "retrying", "Retrying", what)


def _paused(row: Row) -> Line:
    who = f"by {row.by}" if row.by else ""
    what = ": ".join(part for part in (who, row.said or "no reason given") if part)
    return _of_job(row, f"job-{row.job.id}", ("paused", "Paused"), what)


def _of_run(
    row: Row,
    glyph: str,
    word: str,
    what: str,
    act: str = "Open",
    href: str = "",
    is_overdue: bool = False,
) -> Line:
    href = href or reverse("run", args=[row.run_id])
    about = (f"run-{row.run_id}", glyph, word, row.job, what, row.since, act, href)
    return Line(*about, is_overdue=is_overdue, goes_on=row.goes_on)


def _of_job(row: Row, line_id: str, state: tuple[str, str], what: str) -> Line:
    href = reverse("job", args=[row.job.id])
    return Line(line_id, *state, row.job, what, row.since, "Open", href, goes_on=row.goes_on)
