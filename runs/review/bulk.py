"""Decide about many runs in review at once: only where nothing was sent, each by itself.

They are chosen by their ids, or as «what this filter finds as of then», with the number that the
person saw: where that differs by now, nothing is decided and the person is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from jobs.models import User
from runs import decisions
from runs.models import Run
from runs.outcomes import Effect
from runs.review import approvals, claims, deciding, run_again
from runs.review.deciding import Choice
from runs.states import ReviewClass, State

MOST = 200  # in one request
CHOICES: tuple[Choice, ...] = ("run_again", "close")
_ONLY = (ReviewClass.NOT_SENT,)
_PASSED_OVER = (
    deciding.Stale,
    deciding.NotOfClass,
    claims.Claimed,
    approvals.Asked,
    approvals.AskedAlready,
    run_again.NotYetSettled,
    run_again.Happened,
)


class Differs(Exception):
    """The filter finds another number of runs than the person saw. `found`: how many."""

    def __init__(self, found: int) -> None:
        self.found = found
        super().__init__(f"The filter finds {found} runs by now. Nothing was decided; look again.")


class TooMany(Exception):
    """More than one request decides."""

    def __init__(self) -> None:
        super().__init__(f"At most {MOST} at once. Narrow the filter.")


@dataclass(frozen=True)
class Result:
    """What became of one: its state now, or why it was passed over (`said`)."""

    run_id: UUID
    state: str
    said: str = ""

    @property
    def decided(self) -> bool:
        return not self.said


def meant(rows: QuerySet[Run], as_of: datetime) -> QuerySet[Run]:
    """Of these rows what may be decided together and was in review by then."""
    waiting = rows.filter(state=State.REVIEW, review_class__in=_ONLY, effect=Effect.NONE)
    return waiting.filter(review_at__lte=as_of)


def found(rows: QuerySet[Run], as_of: datetime, expected: int) -> list[UUID]:
    """The ids of what is meant, the oldest first. Raises Differs, TooMany."""
    ids = list(meant(rows, as_of).order_by("id").values_list("id", flat=True)[: MOST + 1])
    if len(ids) != expected:
        raise Differs(len(ids) if len(ids) <= MOST else meant(rows, as_of).count())
    if len(ids) > MOST:
        raise TooMany
    return ids


def decide(run_ids: Sequence[UUID], choice: Choice, *, note: str, by: User) -> list[Result]:
    """The same decision about each, in its own transaction, and what came of it. Raises
    NoteMissing, TooMany before the first."""
    decisions.required(note)
    if len(run_ids) > MOST:
        raise TooMany
    return [_one(run_id, choice, note, by) for run_id in dict.fromkeys(run_ids)]


def _one(run_id: UUID, choice: Choice, note: str, by: User) -> Result:
    try:
        run = deciding.decide(run_id, choice, token=None, note=note, by=by, only=_ONLY)
    except _PASSED_OVER as why:
        state = Run.objects.values_list("state", flat=True).get(id=run_id)
        return Result(run_id, state, str(why))
    return Result(run_id, run.state)
