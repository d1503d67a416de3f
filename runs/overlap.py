"""What one run of a job means for the next: fire, wait, skip, or stop the one before. PURE.

| overlap | a moment comes while a run is active |
|---|---|
| `skip` | it is recorded as skipped |
| `queue` | one waits: the first; later ones are recorded |
| `queue_all` | all wait, in order, up to the limit |
| `allow` | it runs beside the others |
| `cancel` | the active ones are asked to stop, then it starts |

Under `block_on_review` a moment waits while an earlier run is in REVIEW, whatever the overlap.
What is made up after an outage, replayed or run again only ever waits: nobody who asks for a
run means that another one be dropped for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from jobs.schedules.instants import canonical_instant
from runs.states import ReviewClass, State


@dataclass(frozen=True)
class Rule:
    """What the job says. `queue_limit`: how many may wait."""

    overlap: str
    block_on_review: bool
    queue_limit: int
    asks_about_missed: bool = False  # its catch-up policy is `ask`

    @property
    def serial(self) -> bool:
        return self.overlap != "allow"


@dataclass(frozen=True)
class Standing:
    """A run that may be in another one's way, or waits. `order` is its moment, or its birth
    where it has none; `too_late`: it never started, nobody asked for it, and its window is over."""

    id: UUID
    order: datetime
    by_hand: bool = False  # without a moment
    idempotent: bool = True
    too_late: bool = False
    held: bool = False  # it waits for a hold, and for nothing else until that lets it go
    blocked_by: UUID | None = None  # what it is said to wait for

    @property
    def name(self) -> str:
        """How a reason names it."""
        return f"run {self.id} " + (
            "by hand" if self.by_hand else f"of {canonical_instant(self.order)}"
        )

    @property
    def rank(self) -> tuple[datetime, UUID]:
        return self.order, self.id


@dataclass(frozen=True)
class Situation:
    """The runs of one job that overlap looks at; `taken` are moments that have a run already."""

    active: tuple[Standing, ...] = ()
    waiting: tuple[Standing, ...] = ()
    review: tuple[Standing, ...] = ()
    taken: frozenset[datetime] = frozenset()

    def earlier_review(self, order: datetime) -> Standing | None:
        """The oldest run in REVIEW whose moment lies before `order`."""
        earlier = [run for run in self.review if run.order < order]
        return min(earlier, key=lambda run: run.rank, default=None)

    def with_active(self, run: Standing) -> Situation:
        return replace(self, active=(*self.active, run))

    def with_review(self, run: Standing) -> Situation:
        return replace(self, review=(*self.review, run))

    def with_waiting(self, run: Standing) -> Situation:
        return replace(self, waiting=(*self.waiting, run))


@dataclass(frozen=True)
class Fire:
    """Nothing is in its way."""


@dataclass(frozen=True)
class Wait:
    """It waits for run `blocked_by`; `reason` says so to people."""

    reason: str
    blocked_by: UUID


@dataclass(frozen=True)
class Skip:
    """It is recorded and not carried out. `alarm`: nobody chose that by the overlap alone."""

    reason: str
    blocked_by: UUID
    alarm: bool = False


@dataclass(frozen=True)
class Replace:
    """The runs `stop` are to stop; it starts once nothing is active any more."""

    stop: tuple[Standing, ...]


Fate = Fire | Wait | Skip | Replace


def of_moment(order: datetime, rule: Rule, now: Situation, *, made_up: bool) -> Fate:
    """What becomes of a moment that is due. `made_up`: it was missed, and catch-up fires it."""
    waits = in_the_way(order, rule, now)
    if waits is None:
        return Fire()
    if now.earlier_review(order) is not None and rule.block_on_review:
        return within_limit(waits, rule, now, alarm=True)
    if made_up:
        return waits
    match rule.overlap:
        case "skip":
            return Skip(f"Skipped: {_still(now.active)}.", waits.blocked_by)
        case "queue" if now.waiting:
            behind = min(now.waiting, key=lambda run: run.rank)
            reason = f"Skipped: {_still(now.active)}, and {behind.name} waits already."
            return Skip(reason, waits.blocked_by)
        case "cancel" if stoppable := tuple(run for run in now.active if run.idempotent):
            return Replace(stoppable)
        case "queue":
            return waits
        case _:
            return within_limit(waits, rule, now)


def in_the_way(order: datetime, rule: Rule, now: Situation) -> Wait | None:
    """What a run with this moment has to wait for; None where it may start. The rule for a
    replay, a run again and a release as well."""
    if rule.block_on_review and (review := now.earlier_review(order)):
        return Wait(f"Waits until {review.name} is decided.", review.id)
    if rule.serial and now.active:
        active = min(now.active, key=lambda run: run.rank)
        return Wait(f"Waits for {active.name} to end.", active.id)
    return None


def woken(rule: Rule, now: Situation) -> Iterator[tuple[Standing, State]]:
    """The waiting runs that leave WAITING now, oldest moment first, and where to: CLAIMED; or,
    for one that is too late to start, where a missed moment goes."""
    for run in sorted(now.waiting, key=lambda run: run.rank):
        if run.held or in_the_way(run.order, rule, now) is not None:
            continue
        if not run.too_late:
            now = now.with_active(run)
            yield run, State.CLAIMED
        elif rule.asks_about_missed:
            now = now.with_review(run)
            yield run, State.REVIEW
        else:
            yield run, State.SKIPPED


TOO_LATE = "It waited until it was too late: its catch-up window is over."
TOO_LATE_CLASS = ReviewClass.MISSED


def within_limit(waits: Wait, rule: Rule, now: Situation, *, alarm: bool = False) -> Wait | Skip:
    """It waits, unless as many wait already as may."""
    if len(now.waiting) < rule.queue_limit:
        return waits
    reason = f"Skipped: {rule.queue_limit} runs wait already, the most that may."
    return Skip(reason, waits.blocked_by, alarm)


def _still(active: Iterable[Standing]) -> str:
    oldest = min(active, key=lambda run: run.rank)
    return f"{oldest.name} was still under way"
