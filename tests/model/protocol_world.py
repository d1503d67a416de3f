"""What is stored and under way of one moment of one job, for the search of the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from runs import verdicts
from runs.outcomes import Effect, Kind, Outcome
from runs.states import EDGES, STARTABLE, State
from runs.verdicts import Facts, Verdict

MAX_ATTEMPTS = 2


class Row(NamedTuple):
    """The run. `over`: its lease has run out; `wait`: its retry is not due yet."""

    state: State = State.CLAIMED
    token: int = 0
    intent: bool = False
    over: bool = False
    failures: int = 0
    effect: Effect = Effect.NONE
    wait: bool = False
    review: str = ""

    @property
    def startable(self) -> bool:
        return self.state in STARTABLE and not self.wait


class Worker(NamedTuple):
    """Where a worker is with the message that it holds; `mine`: the run has this one's lease id."""

    at: str = "idle"  # got, start?, granted, intent?, intended, the kind of an outcome, done
    token: int = 0
    mine: bool = False


IDLE = Worker()
ACTED = {
    Kind.SUCCEEDED: Effect.DONE,
    Kind.UNKNOWN: Effect.MAYBE,
    Kind.REFUSED: Effect.NONE,
    Kind.NOT_SENT: Effect.NONE,
}


class World(NamedTuple):
    """Everything there is. The last seven are what misfortune and people may still do."""

    due: bool = True
    row: Row | None = None
    bag: int = 0  # messages in the broker
    beats: tuple[str, ...] = ("idle", "idle")  # read, advanced, locked, sent
    workers: tuple[Worker, ...] = (IDLE, IDLE)
    effects: int = 0
    leave: int = 0  # times that a person, knowing the run as it was, had it run again
    seen: int = -1  # the token of the run on a person's screen
    fault: str = ""
    crashes: int = 0
    expiries: int = 0  # of a lease under a holder that is frozen, or cut off
    losses: int = 0
    doubles: int = 0
    unheard: int = 0  # commits whose answer is lost
    failures: int = 0
    clicks: int = 0


@dataclass(frozen=True)
class Case:
    """One job, and how much may go wrong. `off`: the rules that are taken out."""

    idempotent: bool
    crashes: int = 1
    expiries: int = 1
    losses: int = 1
    doubles: int = 1
    unheard: int = 1
    failures: int = 1
    clicks: int = 0
    off: frozenset[str] = frozenset()

    def first(self) -> World:
        return World(
            crashes=self.crashes,
            expiries=self.expiries,
            losses=self.losses,
            doubles=self.doubles,
            unheard=self.unheard,
            failures=self.failures,
            clicks=self.clicks,
        )


def moved(world: World, to: State, **changes: Any) -> World:
    """The run in another state, if that is an edge of the picture."""
    row = world.row
    assert row is not None
    if to not in EDGES[row.state]:
        return world._replace(fault=f"{row.state} → {to} is no edge")
    after = row._replace(**{"state": to, "over": False, "wait": False, "review": "", **changes})
    return world._replace(row=after)


def settled(case: Case, world: World, kind: Kind, effect: Effect) -> World:
    """The run where the product's verdict on this outcome of its attempt puts it."""
    row = world.row
    assert row is not None
    said = _verdict(case.idempotent, kind, effect, row.failures, row.effect, row.intent)
    to = said.state
    if "review" in case.off and to is State.REVIEW:
        to = State.RETRYING
    return moved(
        world,
        to,
        failures=said.failures,
        effect=said.effect,
        wait=to is State.RETRYING,
        review=said.review_class,
    )


@cache
def _verdict(
    idempotent: bool, kind: Kind, effect: Effect, failures: int, before: Effect, intent: bool
) -> Verdict:
    facts = Facts(
        idempotent=idempotent,
        retry_unsent=False,
        failures=failures,
        max_attempts=MAX_ATTEMPTS,
        backoff=1,
        cap=1,
        effect=before,
        intent=intent,
        stop_asked=False,
        age=1,
    )
    return verdicts.of(Outcome(kind, effect, "said"), facts, dice=0.5)
