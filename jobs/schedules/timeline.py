"""The moments of a job over time, through all its edits. PURE.

A version's moments lie strictly after its beginning, up to and with the beginning of the next.
A pause is a version without moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobs.schedules.plans import Plan


@dataclass(frozen=True)
class Version:
    """A job from `began_at` on; `plan` is None while it was paused, finished or deleted."""

    number: int
    began_at: datetime
    plan: Plan | None


class Timeline:
    """What the versions of one job made due. `versions`: oldest first, at least one."""

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions = versions

    def moments(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Those in (after, until], oldest first, at most `limit`."""
        found: list[datetime] = []
        for plan, start, end in self._stretches(after, until):
            found += plan.between(start, end, limit - len(found))
            if len(found) >= limit:
                break
        return found

    def count(self, after: datetime, until: datetime) -> int:
        """How many lie in (after, until]."""
        return sum(plan.count(start, end) for plan, start, end in self._stretches(after, until))

    def newest(self, after: datetime, until: datetime) -> datetime | None:
        """The last one in (after, until]."""
        for plan, start, end in reversed(self._stretches(after, until)):
            found = plan.newest(start, end)
            if found is not None:
                return found
        return None

    def newest_moments(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Those in (after, until], newest first, at most `limit`; found by halving the window."""
        low, high = after, until
        while self.count(low, until) > limit:
            middle = low + (high - low) / 2
            if self.count(middle, until) >= limit:
                low = middle
            else:
                high = middle
        return self.moments(low, until, limit)[::-1]

    def at_most(self, after: datetime, until: datetime) -> int:
        """How many would lie in (after, until] had the first version always been in force, one that
        several schedules share counted for each of them: by arithmetic, whatever the window."""
        begin = min(after, self._versions[0].began_at)
        always = Timeline([replace(self._versions[0], began_at=begin), *self._versions[1:]])
        stretches = always._stretches(after, until)
        return sum(plan.at_most(start, end) for plan, start, end in stretches)

    def version_at(self, moment: datetime) -> int:
        """The number of the version in force at a moment."""
        return self._in_force(moment).number

    def plan_at(self, moment: datetime) -> Plan | None:
        """The plan in force at a moment; None while it was paused, finished or deleted."""
        return self._in_force(moment).plan

    def _in_force(self, moment: datetime) -> Version:
        in_force = self._versions[0]
        for version in self._versions:
            if version.began_at < moment:
                in_force = version
        return in_force

    def _stretches(self, after: datetime, until: datetime) -> list[tuple[Plan, datetime, datetime]]:
        stretches = []
        for version, following in zip(self._versions, [*self._versions[1:], None], strict=True):
            start = max(after, version.began_at)
            end = min(until, following.began_at) if following else until
            if version.plan is not None and start < end:
                stretches.append((version.plan, start, end))
        return stretches
