"""What becomes of a job's moments when somebody changes it: shown before it is done. PURE.

An edit, a resume and the end of a pause fire nothing that lies before them, so what is compared
here are moments to come. One that is overdue at the change is not among them: the claim settles
it by the version that was in force then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.schedules.plans import Plan
from jobs.schedules.timeline import Timeline

COMPARED = 20  # moments of either side
_TICK = timedelta.resolution


@dataclass(frozen=True)
class Edit:
    """The next moments of a job as it is and as it would be, oldest first: of the former those
    that stay (`kept`) and those that fall out (`gone`), of the latter those that come in (`added`).
    `next` is the first one as it would be, however far it lies; None where there is none.
    """

    kept: list[datetime] = field(default_factory=list)
    gone: list[datetime] = field(default_factory=list)
    added: list[datetime] = field(default_factory=list)
    next: datetime | None = None

    @property
    def moves(self) -> bool:
        """Whether the job is due at other moments after it."""
        return bool(self.gone or self.added)

    @property
    def ends(self) -> bool:
        """Whether the job has no moment to come after it: a thin schedule in place of a dense one
        may keep none of the compared moments and bring no new one, and still go on."""
        return self.next is None


def of_edit(before: Plan, after: Plan, now: datetime) -> Edit:
    """What changes among the next moments when one plan takes the place of another. Each is
    looked up in the other plan itself, whose own next moments may lie nearer together."""
    old = [(at, _has(after, at)) for at in before.moments(now, COMPARED)]
    new = after.moments(now, COMPARED)
    return Edit(
        kept=[at for at, stays in old if stays],
        gone=[at for at, stays in old if not stays],
        added=[at for at in new if not _has(before, at)],
        next=new[0] if new else None,
    )


def _has(plan: Plan, moment: datetime) -> bool:
    return bool(plan.between(moment - _TICK, moment, 1))


@dataclass(frozen=True)
class LeftOut:
    """The moments that a pause leaves out: how many, the first and the last of them."""

    count: int
    first: datetime | None
    last: datetime | None


def of_pause(line: Timeline, began: datetime, until: datetime) -> LeftOut:
    """What lies under a pause: after its beginning, up to and with its end. `line` is the job as
    it would be due without the pause."""
    first = next(iter(line.moments(began, until, 1)), None)
    return LeftOut(line.count(began, until), first, line.newest(began, until))
