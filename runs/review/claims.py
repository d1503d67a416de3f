"""Somebody takes a run in review for a while, so that no two people act on it at once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Now

from jobs import events
from jobs.models import User
from jobs.schedules.instants import canonical_instant
from runs import subjects
from runs.decisions import Stale
from runs.models import ReviewClaim, Run
from runs.states import State

FOR = timedelta(minutes=15)

log = structlog.get_logger("onebeat.review")


class Claimed(Exception):
    """Somebody else looks at it just now. `claim` says who, and until when."""

    def __init__(self, claim: ReviewClaim) -> None:
        self.claim = claim
        who, until = claim.by.get_username(), canonical_instant(claim.until)
        super().__init__(f"{who} looks at this run until {until}.")


def take(run_id: UUID, *, by: User) -> ReviewClaim:
    """The run taken by this person for FOR, anew if it was theirs already. Raises Claimed while
    another one's claim lasts, Stale for a run that is not in review."""
    with transaction.atomic():
        run = _in_review(run_id)
        refuse_others(run_id, by)
        claim, _ = ReviewClaim.objects.update_or_create(
            run=run, defaults={"by": by, "at": Now(), "until": Now() + FOR}
        )
        claim.refresh_from_db()
        events.record("review.claimed", subjects.of_run(run), by=by)
    log.info("review.claimed", run=str(run_id), by=by.get_username())
    return claim


def release(run_id: UUID, *, by: User) -> None:
    """Give one's claim up; nothing happens where it ran out. Raises Claimed, Stale."""
    with transaction.atomic():
        run = _in_review(run_id)
        refuse_others(run_id, by)
        drop(run_id)
        events.record("review.released", subjects.of_run(run), by=by)
    log.info("review.released", run=str(run_id), by=by.get_username())


def of(run_id: UUID) -> ReviewClaim | None:
    """Whose the run is just now."""
    lasting = ReviewClaim.objects.filter(run_id=run_id, until__gt=Now())
    return lasting.select_related("by").first()


def refuse_others(run_id: UUID, by: User) -> None:
    """Raises Claimed where somebody else has it; to be asked under the run's lock."""
    claim = of(run_id)
    if claim is not None and claim.by != by:
        raise Claimed(claim)


def drop(run_id: UUID) -> None:
    """No claim outlives the decision."""
    ReviewClaim.objects.filter(run_id=run_id).delete()


def _in_review(run_id: UUID) -> Run:
    """The run, locked. The job's lock is not needed: nothing moves."""
    run = Run.objects.select_for_update(no_key=True).get(id=run_id)
    if run.state != State.REVIEW:
        raise Stale(run)
    return run
