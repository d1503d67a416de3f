"""A run of a moment that is about to be written: by a claim, by hand, by a backfill."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, Self
from uuid import UUID

from jobs.schedules.catch_up import Skipped
from jobs.schedules.schedules import canonical_instant
from runs.models.run import new_id
from runs.states import Origin, ReviewClass, State


class UnderHold(NamedTuple):
    """The hold that a job is under, and how many of its moments wait for one already."""

    id: UUID
    words: str
    waiting: int


@dataclass(frozen=True)
class Birth:
    """Where it stands as it is born. `idempotent`: as its job is now."""

    job_id: UUID
    version: int
    due_at: datetime
    state: State
    review_class: str = ""
    reason: str = ""
    skipped_until: datetime | None = None
    skipped_count: int | None = None
    blocked_by: UUID | None = None
    not_before: datetime | None = None
    hold_id: UUID | None = None
    idempotent: bool = True
    origin: Origin = Origin.SCHEDULE
    backfill_id: UUID | None = None
    missed: bool = False  # its moment passed without anybody at work
    id: UUID = field(default_factory=new_id)

    @classmethod
    def fire(
        cls,
        job_id: UUID,
        version: int,
        due_at: datetime,
        *,
        idempotent: bool = True,
        not_before: datetime | None = None,
    ) -> Self:
        return cls(
            job_id, version, due_at, State.CLAIMED, idempotent=idempotent, not_before=not_before
        )

    def under(self, hold: UnderHold) -> Self:
        """The same, waiting for the end of a hold."""
        return replace(self, state=State.WAITING, reason=hold.words, hold_id=hold.id)

    def skipped(self, reason: str, *, blocked_by: UUID | None = None) -> Self:
        """The same, on record and not carried out. `blocked_by`: the run that was in its way."""
        return replace(
            self,
            state=State.SKIPPED,
            review_class="",
            reason=reason,
            skipped_until=self.due_at,
            skipped_count=1,
            blocked_by=blocked_by,
            not_before=None,
            hold_id=None,
            missed=False,
        )

    @classmethod
    def ask(cls, job_id: UUID, version: int, due_at: datetime) -> Self:
        reason = f"The moment {canonical_instant(due_at)} was missed. Run it, or let it go."
        return cls(job_id, version, due_at, State.REVIEW, ReviewClass.MISSED, reason, missed=True)

    @classmethod
    def skip(cls, job_id: UUID, version: int, row: Skipped) -> Self:
        return cls(
            job_id,
            version,
            row.first,
            State.SKIPPED,
            reason=row.reason,
            skipped_until=row.last,
            skipped_count=row.count,
            missed=True,
        )
