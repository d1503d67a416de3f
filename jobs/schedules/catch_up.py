"""What becomes of the moments that have come: which fire, which are recorded as not carried
out, which a person is asked about. PURE. One function for every cause of lateness.

A moment overdue by less than GRACE is not missed: it fires. For the others the job's policy
decides: `last` fires the newest within the window, `all` each within it, `ask` puts each before
a person, `none` drops them; nothing is dropped without a record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

GRACE = timedelta(seconds=10)
_TICK = timedelta(microseconds=1)


class Line(Protocol):
    """The moments of a job over time, as jobs/schedules/timeline.py tells them."""

    def moments(self, after: datetime, until: datetime, limit: int) -> list[datetime]: ...

    def count(self, after: datetime, until: datetime) -> int: ...

    def newest(self, after: datetime, until: datetime) -> datetime | None: ...


class Listed:
    """A line of exactly these moments."""

    def __init__(self, moments: Iterable[datetime]) -> None:
        self._moments = sorted(moments)

    def moments(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Those in (after, until], oldest first, at most `limit`."""
        return self._within(after, until)[:limit]

    def count(self, after: datetime, until: datetime) -> int:
        """How many lie in (after, until]."""
        return len(self._within(after, until))

    def newest(self, after: datetime, until: datetime) -> datetime | None:
        """The last one in (after, until]."""
        found = self._within(after, until)
        return found[-1] if found else None

    def _within(self, after: datetime, until: datetime) -> list[datetime]:
        found = self._moments
        return found[bisect_right(found, after) : bisect_right(found, until)]


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


def fates(line: Line, *, due: datetime, now: datetime, policy: Policy) -> Fates:
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


def under_hold(line: Line, *, due: datetime, now: datetime, policy: Policy, waiting: int) -> Fates:
    """Under a hold: which moments in [due, now] wait for its end (`fire`), when `waiting` of the
    job do already. No window counts yet, for at the end a person may choose to fire all.

    At most `limit` wait: the first to come; under `last` the newest, for which older ones are to
    give way (`giving_way`)."""
    newest = policy.name == "last"
    room = policy.limit if newest else max(0, policy.limit - waiting)
    kept = Policy("last" if newest else "all", None, room)
    found = fates(line, due=due, now=now, policy=kept)
    cut = max(0, len(found.fire) - room)
    dropped, stay = (
        (found.fire[:cut], found.fire[cut:]) if newest else (found.fire[room:], found.fire[:room])
    )
    skipped = [
        replace(row, reason=_UNDER_HOLD.get(row.reason, row.reason)) for row in found.skipped
    ]
    if dropped:
        skipped.append(Skipped(dropped[0], dropped[-1], len(dropped), HELD_PAST_LIMIT))
    return Fates(fire=stay, skipped=skipped)


def giving_way(policy: Policy, *, waiting: int, more: int) -> int:
    """How many of the moments that wait for a hold, the oldest, give way to `more` new ones."""
    return max(0, waiting + more - policy.limit) if policy.name == "last" else 0


HELD_PAST_LIMIT = "held, and past the catch-up limit"
GAVE_WAY = "held, and gave way to a newer moment: the catch-up limit was reached"
_PAST_LIMIT = "missed, and past the catch-up limit"
_UNDER_HOLD = {_PAST_LIMIT: HELD_PAST_LIMIT}


@dataclass(frozen=True)
class _Missed:
    """The missed moments: those in (before, until], of which (window, until] are young enough."""

    line: Line
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
            *_record(self.line, end, self.until, _PAST_LIMIT),
        ]

    def all_before(self, newest: list[datetime], reason: str) -> list[Skipped]:
        end = newest[0] - _TICK if newest else self.until
        return _record(self.line, self.before, end, reason)


def _record(line: Line, after: datetime, until: datetime, reason: str) -> list[Skipped]:
    first = line.moments(after, until, limit=1)
    last = line.newest(after, until)
    if not first or last is None:
        return []
    return [Skipped(first[0], last, line.count(after, until), reason)]
