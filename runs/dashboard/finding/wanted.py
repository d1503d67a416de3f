"""What a list of runs is asked for, as a value. PURE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from runs.states import STARTABLE, Origin, State

# The states of which there is an index of their own (runs/models/run.py), in the groups in which
# one index holds them; of SUCCEEDED, which nearly all runs are, there is none.
_INDEXED = (STARTABLE, *(frozenset({state}) for state in State if state not in STARTABLE))


@dataclass(frozen=True)
class Wanted:
    """Runs of any of these states and origins (none: of every one), of a team's slug, of jobs
    with these in their name and their owner and with all these tags; with a moment from `since`
    to `until`, both with it."""

    states: frozenset[State] = frozenset()
    origins: frozenset[Origin] = frozenset()
    team: str = ""
    name: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    job: UUID | None = None
    backfill: UUID | None = None
    group: UUID | None = None

    @property
    def is_wide(self) -> bool:
        """Whether no index but that of all runs leads to them."""
        if self.job or self.backfill or self.group:
            return False
        if self.origins and Origin.SCHEDULE not in self.origins:
            return False
        return not self.states or State.SUCCEEDED in self.states

    def parts(self) -> Iterator[frozenset[State]]:
        """The states in groups, each read along one index; one group of any state where it does
        not matter which."""
        if self.group is not None:  # its index leads by state
            yield from _split(self.states or frozenset(State))
        elif self.is_wide or not self.states:
            yield self.states
        else:
            yield from _split(self.states)


def _split(states: frozenset[State]) -> Iterator[frozenset[State]]:
    for held in _INDEXED:
        if states & held:
            yield states & held
