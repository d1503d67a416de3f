"""The product's own functions on the real database, in one thread, by a clock that the seed moves.

Claim, enqueue, rescue, start, intent and settle are the very functions of beat and worker. Around
them are a broker that loses, doubles and reorders, a target that fails, and processes that die or
hear nothing at the product's fault points. Who does what next, and what goes wrong, is chosen by
one generator of random numbers: a seed plays the same again.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db import OperationalError

from jobs.models import User
from runs import claim, enqueue, execute, rescue, settle
from runs.bounds import EVER
from runs.decisions import Stale
from runs.lease import Grant, Lease
from runs.letters import replay
from runs.models import Run
from runs.outcomes import Effect, Kind, Outcome
from runs.publishing.publisher import BrokerAway
from runs.review import deciding
from runs.review.run_again import NotYetSettled
from runs.states import State
from tests.virtual_clock import VirtualClock

LEASE = 3.0  # as the tests' settings say
_ALL = range(256)


class Dead(BaseException):
    """The process has died here: nothing catches it but the simulation."""


@dataclass
class Broker:
    """Takes the place of the publisher. `bag` holds the messages, in no order."""

    dice: random.Random
    bag: list[UUID] = field(default_factory=list)
    faulty: bool = True

    def send(self, queue: str, run_ids: Sequence[UUID], *, within: float) -> None:
        taken = _in_order(run_ids)
        if self.faulty and self.dice.random() < 0.05:
            taken = taken[: self.dice.randrange(len(taken) + 1)]
        for run_id in taken:
            copies = self.dice.choices([1, 0, 2], [90, 5, 5])[0] if self.faulty else 1
            self.bag += [run_id] * copies
        if len(taken) < len(run_ids):
            raise BrokerAway(taken, "it went away")
        if self.faulty and self.dice.random() < 0.03:
            raise Dead

    def waiting(self, queue: str, *, within: float) -> int:
        return len(self.bag)


def _in_order(run_ids: Sequence[UUID]) -> list[UUID]:
    """The same at each play of a seed, though ids are not."""
    rows = Run.objects.filter(id__in=run_ids).order_by("job__name", "due_at")
    return list(rows.values_list("id", flat=True))


@dataclass
class Worker:
    """One worker: what it does now, step by step, and the message that it will acknowledge."""

    name: str
    message: UUID | None = None
    steps: Iterator[None] | None = None
    lease: Lease | None = None
    renewed: datetime | None = None
    frozen_until: datetime | None = None


@dataclass
class World:
    """Everything that is not in the database."""

    clock: VirtualClock
    now: datetime
    dice: random.Random
    person: User | None
    faulty: bool = True
    # What the target did: (key, attempt, when), in order.
    effects: list[tuple[str, int, datetime]] = field(default_factory=list)
    run_again: Counter[str] = field(default_factory=Counter)
    happened: set[str] = field(default_factory=set)
    faults: Counter[str] = field(default_factory=Counter)
    attempts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        self.broker = Broker(self.dice)
        self.workers = [Worker("first"), Worker("second")]
        self.clock.stand_at(self.now)

    # ── what goes wrong ──────────────────────────────────────────────────────────────────

    def struck(self, point: str) -> None:
        """Called at every fault point that the product passes."""
        if not self.faulty or self.dice.random() >= 0.04:
            return
        self.faults[point] += 1
        if point.endswith("commit_unknown") and self.dice.random() < 0.7:
            raise OperationalError(f"the answer is lost: {point}")
        raise Dead

    # ── who may be next ──────────────────────────────────────────────────────────────────

    def step(self) -> None:
        """One of them does one thing."""
        todo = (self.pass_time, self.claim, self.send, self.look_after, self.lose, self.decide)
        acts = [*todo, *(lambda worker=worker: self.work(worker) for worker in self.workers)]
        act = self.dice.choices(acts, [10, 6, 8, 4, 1, 1, 14, 14])[0]
        self._alive(act)

    def _alive(self, act: object) -> None:
        assert callable(act)
        try:
            act()
        except (Dead, OperationalError):
            self.faults["a beat dies"] += 1

    def pass_time(self, least: float = 0.05, most: float = 0.8) -> None:
        self.now += timedelta(seconds=round(self.dice.uniform(least, most), 3))
        self.clock.stand_at(self.now)
        for worker in self.workers:
            if worker.frozen_until is not None and worker.frozen_until <= self.now:
                worker.frozen_until = None
            if worker.lease is not None and worker.frozen_until is None:
                worker.lease._renew()
                worker.renewed = self.now

    def claim(self) -> None:
        claim.due_jobs(self.now, shards=_ALL, above=EVER)

    def send(self) -> None:
        enqueue.waiting_runs(self.now, self.broker, above=EVER)  # type: ignore[arg-type]

    def look_after(self) -> None:
        for look in (rescue.silent_workers, rescue.missed_wake_ups):
            look()
        rescue.lost_messages(self.now, self.broker)  # type: ignore[arg-type]

    def lose(self) -> None:
        """A message is gone, or a worker stands still for longer than its lease."""
        if not self.faulty:
            return
        if self.broker.bag and self.dice.random() < 0.5:
            self.broker.bag.pop(self.dice.randrange(len(self.broker.bag)))
            self.faults["a message is lost"] += 1
        else:
            frozen = self.dice.choice(self.workers)
            frozen.frozen_until = self.now + timedelta(seconds=self.dice.uniform(1, 3 * LEASE))
            self.faults["a worker is frozen"] += 1

    def decide(self) -> None:
        """A person acts on what rests: the one whose key comes first."""
        if self.person is None:
            return
        resting = Run.objects.filter(state__in=(State.REVIEW, State.DEAD))
        run = resting.order_by("job__name", "due_at").first()
        if run is None:
            return
        choice = self.dice.choice(("happened", "run_again", "close"))
        try:
            if run.state == State.DEAD:
                replay.replay(run.id, token=run.attempt, note="", by=self.person)
                return
            said = {"token": run.attempt, "note": "Looked.", "by": self.person}
            deciding.decide(run.id, choice, **said)  # type: ignore[arg-type]
        except (Stale, NotYetSettled):
            return
        self.run_again[run.key] += choice == "run_again"
        if choice == "happened":
            self.happened.add(run.key)

    # ── workers ──────────────────────────────────────────────────────────────────────────

    def work(self, worker: Worker) -> None:
        """Its next step; where it dies, its message comes back."""
        if worker.frozen_until is not None:
            return
        if worker.steps is None:
            if not self.broker.bag:
                return
            place = self.dice.randrange(len(self.broker.bag))
            worker.message = self.broker.bag.pop(place)
            worker.steps = self._attempt(worker, worker.message)
        try:
            next(worker.steps)
            return
        except StopIteration:
            worker.message = None
        except (Dead, OperationalError):
            self.faults["a worker dies"] += 1
            if worker.message is not None:
                self.broker.bag.append(worker.message)
        worker.steps = worker.lease = worker.renewed = None

    def _attempt(self, worker: Worker, run_id: UUID) -> Iterator[None]:
        """runs/execute.py, a step at a time: the call is the target's, the lease without its
        thread."""
        self.struck("work.received")
        grant = execute._start(run_id, worker.name)
        yield
        if grant is None:
            return
        worker.lease = Lease(grant, end=lambda _: None)
        worker.renewed = self.now
        self.struck("start.after_commit")
        yield
        outcome: Outcome | None = None
        if self.faulty and self.dice.random() < 0.03:
            outcome = Outcome(Kind.NOT_SENT, Effect.NONE, "No address.")
        elif not self._good(worker) or not execute._intend(grant, {"to": "the target"}):
            return
        else:
            yield
            self.struck("intent.after_commit")
            good = self._good(worker)
            yield  # between the last look at the lease and the first byte it may stand still
            outcome = self._called(grant) if good else execute._NOT_BEGUN
            self.struck("effect.answered")
        yield
        said = outcome
        execute._until_heard(lambda: settle.attempt(run_id, grant.token, said), said)
        worker.lease = None
        yield
        self.struck("result.after_commit")

    def _good(self, worker: Worker) -> bool:
        """What the lease's thread would know."""
        assert worker.renewed is not None and worker.lease is not None
        return self.now - worker.renewed < timedelta(seconds=LEASE * 2 / 3) and worker.lease.good

    def _called(self, grant: Grant) -> Outcome:
        """The target's side, and what comes back of it."""
        key = Run.objects.values_list("key", flat=True).get(id=grant.run_id)
        fate = self.dice.choices(
            ["done", "unheard", "lost", "failed", "refused"],
            [80, 6, 5, 6, 3] if self.faulty else [1, 0, 0, 0, 0],
        )[0]
        if fate in ("done", "unheard"):
            self.effects.append((key, grant.token, self.now))
        match fate:
            case "done":
                return Outcome(Kind.SUCCEEDED, Effect.DONE, "200")
            case "failed":
                return Outcome(Kind.FAILED, Effect.MAYBE, "500")
            case "refused":
                return Outcome(Kind.REFUSED, Effect.NONE, "400")
            case _:
                return Outcome(Kind.UNKNOWN, Effect.MAYBE, "No answer came.")

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def heal(self, within: int = 400) -> None:
        """Nothing goes wrong any more, and everybody goes on until nothing is left to do."""
        self.faulty = self.broker.faulty = False
        for _ in range(within):
            self.pass_time(0.3, 0.6)
            while claim.due_jobs(self.now, shards=_ALL, above=EVER).full:
                pass
            self.send()
            self.look_after()
            for worker in self.workers * 10:
                self.work(worker)
            idle = not self.broker.bag and all(worker.steps is None for worker in self.workers)
            if idle and not self._under_way():
                return
        raise AssertionError("not quiet: " + ", ".join(self._under_way()))

    def _under_way(self) -> list[str]:
        resting = {State.REVIEW, State.DEAD, State.SUCCEEDED, State.CLOSED, State.SKIPPED}
        open_runs = Run.objects.exclude(state__in=resting | {State.CANCELLED})
        return [f"{run.key} {run.state} {run.reason}" for run in open_runs[:5]]
