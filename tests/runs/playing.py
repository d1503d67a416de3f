"""Beats played through by a virtual clock: what each tick of one does, and nothing waits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jobs import clock
from jobs.shards import COUNT
from runs import claim
from runs.bounds import Bound
from tests.virtual_clock import VirtualClock

MINUTE = timedelta(minutes=1)
ALL = list(range(COUNT))


class Beat:
    """One beat that owns every shard. Its bound is all that it remembers, and a new beat has a
    new one."""

    def __init__(self, virtual: VirtualClock) -> None:
        self._virtual = virtual
        self._bound = Bound()

    def tick(self, at: datetime) -> int:
        """One look with the database's clock at this instant; how many runs it wrote."""
        self._virtual.stand_at(at)
        runs, more = 0, True
        while more:
            now = clock.now()
            above = self._bound.below(now)
            claimed = claim.due_jobs(now, shards=ALL, above=above)
            self._bound.found(above, now, short=not claimed.full)
            runs, more = runs + claimed.runs, claimed.full
        return runs

    def play(self, after: datetime, until: datetime, *, step: timedelta = MINUTE) -> int:
        """A look at every step in `after` < instant ≤ `until`; how many runs they wrote."""
        return sum(self.tick(instant) for instant in instants(after, until, step))


def instants(after: datetime, until: datetime, step: timedelta) -> Iterator[datetime]:
    instant = after + step
    while instant <= until:
        yield instant
        instant += step
