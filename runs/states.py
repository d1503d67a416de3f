"""The life of a run as data: the states and the edges between them. PURE.

```
 job due ─claim─▶ CLAIMED ─enqueue─▶ ENQUEUED ─execute─▶ RUNNING ─settle─▶ SUCCEEDED
    │                ▲                                      ├──▶ RETRYING ─enqueue─▶ …
    └────claim─▶ WAITING ◀─┐                                ├──▶ DEAD     ─replay─▶ CLAIMED …
                 release   └── replay, run again: its turn  └──▶ REVIEW   ─decide─▶ CLAIMED …
                               has not come
   a hold: what would start waits for its end (CLAIMED, ENQUEUED, RETRYING ─▶ WAITING)
```
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run is; the words that screens and API show."""

    WAITING = "WAITING"
    CLAIMED = "CLAIMED"
    ENQUEUED = "ENQUEUED"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    DEAD = "DEAD"
    REVIEW = "REVIEW"
    CLOSED = "CLOSED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"


S = State

EDGES: dict[State, frozenset[State]] = {
    S.WAITING: frozenset({S.CLAIMED, S.SKIPPED, S.REVIEW, S.CANCELLED}),
    S.CLAIMED: frozenset({S.ENQUEUED, S.RUNNING, S.WAITING, S.SKIPPED, S.REVIEW, S.CANCELLED}),
    S.ENQUEUED: frozenset({S.ENQUEUED, S.RUNNING, S.WAITING, S.SKIPPED, S.REVIEW, S.CANCELLED}),
    S.RUNNING: frozenset({S.SUCCEEDED, S.RETRYING, S.DEAD, S.REVIEW, S.CLAIMED, S.CANCELLED}),
    S.RETRYING: frozenset({S.ENQUEUED, S.RUNNING, S.WAITING, S.REVIEW, S.CANCELLED}),
    S.DEAD: frozenset({S.CLAIMED, S.WAITING, S.CLOSED}),
    S.REVIEW: frozenset({S.CLAIMED, S.WAITING, S.SUCCEEDED, S.CLOSED}),
    S.SUCCEEDED: frozenset(),
    S.CLOSED: frozenset(),
    S.SKIPPED: frozenset(),
    S.CANCELLED: frozenset(),
}
FINAL = frozenset(state for state, onward in EDGES.items() if not onward)
RESTING = frozenset({S.DEAD, S.REVIEW})  # until a person acts
ACTIVE = frozenset({S.CLAIMED, S.ENQUEUED, S.RUNNING, S.RETRYING})
STARTABLE = frozenset({S.CLAIMED, S.ENQUEUED, S.RETRYING})
UNDER_WAY = ACTIVE | {S.WAITING}  # neither ended nor resting
TAKEN_BACK_FROM = STARTABLE | {S.WAITING}  # what a person may cancel
BORN = frozenset({S.CLAIMED, S.WAITING, S.SKIPPED, S.REVIEW})  # what a claim may write


def sources(to: State) -> list[str]:
    """The states from which a run may come to `to`: the guard of every UPDATE that moves one."""
    return [str(state) for state, onward in EDGES.items() if to in onward]


class ReviewClass(StrEnum):
    """Why a person must decide, as the review shows it."""

    NOT_SENT = "not sent"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"
    MISSED = "missed"


class Origin(StrEnum):
    """What asked for the run."""

    SCHEDULE = "schedule"
    HAND = "hand"
    BACKFILL = "backfill"
