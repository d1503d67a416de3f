"""What becomes of the runs of one job that waited for a hold, once it lets go. PURE.

Moments that were never started and that nobody asked for go by the job's catch-up policy, as
after any other lateness, unless a person says to fire or to drop them all. Everything else
(begun before, replayed, asked for) is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from jobs.schedules.catch_up import Listed, Policy, fates

DROPPED = "dropped when the hold ended"


@dataclass(frozen=True)
class Owed:
    """A run that waits for a hold. `undecided`: its moment, where letting go decides about it."""

    id: UUID
    undecided: datetime | None


@dataclass(frozen=True)
class Parting:
    """What becomes of each: `go` takes its turn, `ask` is put before a person, `skip` is recorded
    as not carried out, by reason. `chosen`: those that go were a person's choice."""

    go: list[UUID] = field(default_factory=list)
    ask: list[UUID] = field(default_factory=list)
    skip: dict[str, list[UUID]] = field(default_factory=dict)
    chosen: bool = False

    @property
    def skipped(self) -> int:
        """How many are recorded as not carried out."""
        return sum(len(run_ids) for run_ids in self.skip.values())


def parting(runs: Sequence[Owed], *, choice: str, policy: Policy, now: datetime) -> Parting:
    """`choice`: fire, drop, or by the job's policy, whose window is counted from the moment to
    `now`."""
    moments = {run.undecided: run.id for run in runs if run.undecided is not None}
    asked_for = [run.id for run in runs if run.undecided is None]
    if choice == "fire" or not moments:
        return Parting(go=[*asked_for, *moments.values()], chosen=choice == "fire")
    if choice == "drop":
        return Parting(go=asked_for, skip={DROPPED: [*moments.values()]})
    return _by_policy(moments, asked_for, policy, now)


def _by_policy(
    moments: dict[datetime, UUID], asked_for: list[UUID], policy: Policy, now: datetime
) -> Parting:
    found = fates(Listed(moments), due=min(moments), now=now, policy=policy)
    left = moments.keys() - {*found.fire, *found.ask}
    skip: dict[str, list[UUID]] = {}
    for row in found.skipped:
        within = [moments[at] for at in sorted(left) if row.first <= at <= row.last]
        skip.setdefault(row.reason, []).extend(within)
    fire, ask = ([moments[at] for at in those] for those in (found.fire, found.ask))
    return Parting(go=[*asked_for, *fire], ask=ask, skip=skip)
