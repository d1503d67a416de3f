"""What becomes of the moments that have come: which fire, which are recorded as not carried
out, which a person is asked about. PURE. One function for every cause of lateness.

A moment overdue by less than GRACE is not missed: it fires. For the others the job's policy
decides: `last` fires the newest within the window, `all` each within it, `ask` puts each before
a person, `none` drops them; nothing is dropped without a record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.timeline import Timeline

GRACE = timedelta(seconds=10)
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Policy:
    """A job's answer to missed moments. `window` None: no bound (a one-off)."""

    name: str  # last | all | none | ask
    window: timedelta | None
    limit: int


@dataclass(frozen=True)
class Skipped:
    """Moments that are not carried out, recorded as one row."""

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True)
class Fates:
    """The fate of every moment from the due one up to now; each is in exactly one list."""

    fire: list[datetime] = field(default_factory=list)
    ask: list[datetime] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def fates(line: Timeline, *, due: datetime, now: datetime, policy: Policy) -> Fates:
    """The fates of the moments in [due, now]. `due` is the oldest not yet settled."""
    before = due - _TICK
    missed_until = min(max(before, now - GRACE), now)
    on_time = line.moments(missed_until, now, limit=1000)
    window = before if policy.window is None else max(before, now - policy.window)
    missed = _Missed(line, before, min(window, missed_until), missed_until)
    match policy.name:
        case "all":
            taken = missed.oldest(policy.limit)
            return Fates(fire=taken + on_time, skipped=missed.but(taken))
        case "ask":
            taken = missed.oldest(policy.limit)
            return Fates(fire=on_time, ask=taken, skipped=missed.but(taken))
        case "last":
            newest = [] if on_time else missed.newest()
            skipped = missed.all_before(newest, "missed; only the newest moment is made up")
            return Fates(fire=newest + on_time, skipped=skipped)
        case _:
            skipped = missed.all_before([], "missed; the job makes up no moments")
            return Fates(fire=on_time, skipped=skipped)


@dataclass(frozen=True)
class _Missed:
    """The missed moments: those in (before, until], of which (window, until] are young enough."""

    line: Timeline
    before: datetime
    window: datetime
    until: datetime

    def oldest(self, limit: int) -> list[datetime]:
        return self.line.moments(self.window, self.until, limit)

    def newest(self) -> list[datetime]:
        newest = self.line.newest(self.window, self.until)
        return [newest] if newest else []

    def but(self, taken: list[datetime]) -> list[Skipped]:
        end = taken[-1] if taken else self.window
        return [
            *_record(
                self.line, self.before, self.window, "missed, and older than the catch-up window"
            ),
            *_record(self.line, end, self.until, "missed, and past the catch-up limit"),
        ]

    def all_before(self, newest: list[datetime], reason: str) -> list[Skipped]:
        end = newest[0] - _TICK if newest else self.until
        return _record(self.line, self.before, end, reason)


def _record(line: Timeline, after: datetime, until: datetime, reason: str) -> list[Skipped]:
    first = line.moments(after, until, limit=1)
    last = line.newest(after, until)
    if not first or last is None:
        return []
    return [Skipped(first[0], last, line.count(after, until), reason)]
