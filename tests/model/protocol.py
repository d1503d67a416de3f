"""An exhaustive search of the protocol as it is built: claim, send, start, intent, effect, result,
rescue, replay, of one moment of one job, with two beats and two workers.

A step is a transaction (or the effect), whole: runs/claim.py holds the due row's lock from its look
to its commit, runs/enqueue.py the run's lock from before it publishes to its mark, so that nobody
else moves the run meanwhile. Messages are lost and doubled; processes die between any two steps,
and their messages come back; a lease runs out under a holder that is alive; the answer of any
commit is lost, whether it took place or not, and whoever asked does what the product does then.
(A claim, a rescue: nothing, the rows tell. A start, an intent: reads back. A result: does it
again. A person: clicks again.)

What an outcome becomes is the product's own verdict. Beats are alike, and so are workers: what
differs only by who is who is one state. A mutant takes one rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from runs.outcomes import Effect, Kind
from runs.states import FINAL, RESTING, ReviewClass, State
from tests.model import breadth
from tests.model.breadth import Found
from tests.model.protocol_world import ACTED, IDLE, Case, Row, Worker, World, moved, settled

Step = tuple[str, World, bool]  # what happens, what is then, whether it must happen in the end


def explore(case: Case, limit: int = 3_000_000) -> Found:
    return breadth.explore(
        case.first(),
        lambda world: steps(case, world),
        lambda world, at_rest: wrong(case, world, at_rest=at_rest),
        limit=limit,
    )


def steps(case: Case, world: World) -> Iterator[Step]:
    if world.fault:
        return
    for index, beat in enumerate(world.beats):
        if beat not in world.beats[:index]:
            yield from _of_beat(case, world, index, beat)
    if world.row is not None:
        yield from _of_time(world, world.row)
        if not _locked(world):
            yield from _of_rescue(case, world, world.row)
            yield from _of_people(case, world, world.row)
    yield from _of_broker(world)
    for index, worker in enumerate(world.workers):
        if worker not in world.workers[:index]:
            yield from _of_worker(case, world, index, worker)


# ── beats ────────────────────────────────────────────────────────────────────────────────


def _of_beat(case: Case, world: World, index: int, beat: str) -> Iterator[Step]:
    def at(place: str, **changes: Any) -> World:
        beats = (*world.beats[:index], place, *world.beats[index + 1 :])
        return world._replace(beats=tuple(sorted(beats)), **changes)

    match beat:
        case "idle" if world.due:
            yield _claims(case, world, at)
        case "idle" if _to_send(case, world):
            yield "send locks", at("locked"), True
        case "read" | "advanced":
            yield "claim inserts", _born(case, at("idle", due=False)), True
        case "locked":
            yield "send publishes", at("sent", bag=world.bag + 1), True
        case "sent":
            yield "send marks", moved(at("idle"), State.ENQUEUED), True
            if world.unheard:
                unheard = world.unheard - 1
                yield "the mark is rolled back, unheard", at("idle", unheard=unheard), False
    if beat != "idle" and world.crashes:
        yield f"a beat dies, {beat}", at("idle", crashes=world.crashes - 1), False


def _claims(case: Case, world: World, at: Callable[..., World]) -> Step:
    if "claim lock" in case.off:
        return "claim reads", at("read"), True
    if "insert, then advance" in case.off:
        return "claim advances", at("advanced", due=False), True
    return "claim", _born(case, world._replace(due=False)), True


def _born(case: Case, world: World) -> World:
    if world.row is None:
        return world._replace(row=Row())
    if "index" in case.off:
        return world._replace(fault="two runs of one moment")
    return world


def _locked(world: World) -> bool:
    return "locked" in world.beats or "sent" in world.beats


def _to_send(case: Case, world: World) -> bool:
    """What runs/enqueue.py would send, or runs/rescue.py send again."""
    row = world.row
    if row is None or _locked(world):
        return False
    if row.state is State.ENQUEUED:  # what a worker holds the broker does not count
        return world.bag == 0 and "sent again" not in case.off
    return row.startable


def _of_rescue(case: Case, world: World, row: Row) -> Iterator[Step]:
    over = row.over or "lease" in case.off
    if row.state is State.RUNNING and over and "rescue" not in case.off:
        effect = Effect.MAYBE if row.intent or case.idempotent else Effect.NONE
        yield "rescue settles", settled(case, world, Kind.LOST, effect), True


# ── time and the broker ──────────────────────────────────────────────────────────────────


def _of_time(world: World, row: Row) -> Iterator[Step]:
    if row.wait:
        yield "the retry is due", world._replace(row=row._replace(wait=False)), True
    if row.state is State.RUNNING and not row.over:
        over = world._replace(row=row._replace(over=True))
        if not any(worker.mine and worker.at != "done" for worker in world.workers):
            yield "the lease of nobody runs out", over, True
        elif world.expiries:
            left = world.expiries - 1
            yield "the lease of a live one runs out", over._replace(expiries=left), False


def _of_broker(world: World) -> Iterator[Step]:
    if world.bag and world.losses:
        gone = world._replace(bag=world.bag - 1, losses=world.losses - 1)
        yield "a message is lost", gone, False
    if world.bag and world.doubles:
        twice = world._replace(bag=world.bag + 1, doubles=world.doubles - 1)
        yield "a message is doubled", twice, False


# ── workers ──────────────────────────────────────────────────────────────────────────────


def _of_worker(case: Case, world: World, index: int, worker: Worker) -> Iterator[Step]:
    mine = _Mine(case, world, index, worker)
    match worker.at:
        case "idle":
            if world.bag:
                yield "receive", mine.at("got", bag=world.bag - 1), True
            return
        case "done":
            yield "acknowledge", mine.put(IDLE), True
        case "intended":
            yield from mine.effect()
        case _ if not _locked(world):
            yield from mine.write()
    if world.crashes:
        dead = mine.put(IDLE, bag=world.bag + 1, crashes=world.crashes - 1)
        yield f"a worker dies, {worker.at}", dead, False


class _Mine:
    """What one worker may do next with the run."""

    def __init__(self, case: Case, world: World, index: int, worker: Worker) -> None:
        assert world.row is not None or worker.at == "idle"
        self.case, self.world, self.index, self.worker = case, world, index, worker
        self.row = world.row or Row()

    def put(self, worker: Worker, world: World | None = None, **changes: Any) -> World:
        """The world with the worker as it is now."""
        world = world or self.world
        others = (*self.world.workers[: self.index], *self.world.workers[self.index + 1 :])
        if worker.at == "granted" and worker.token > self.worker.token:  # its lease id replaces
            others = tuple(other._replace(mine=False) for other in others)
        return world._replace(workers=tuple(sorted((worker, *others))), **changes)

    def at(self, place: str, world: World | None = None, **changes: Any) -> World:
        return self.put(self.worker._replace(at=place), world, **changes)

    @property
    def unheard(self) -> dict[str, Any]:
        return {"unheard": self.world.unheard - 1}

    @property
    def holds(self) -> bool:
        """Whether the run is running under this attempt."""
        return self.row.state is State.RUNNING and self.row.token == self.worker.token

    def write(self) -> Iterator[Step]:
        match self.worker.at:
            case "got" | "start?":
                yield from self.start()
            case "granted" | "intent?":
                yield from self.intend()
            case _:
                yield from self.result()

    def start(self) -> Iterator[Step]:
        row, asks = self.row, self.worker.at == "start?"
        if asks and self.worker.mine and row.state is State.RUNNING:
            yield "the start is read back", self.put(Worker("granted", row.token, True)), True
            return
        free = row.startable or ("start" in self.case.off and row.state not in FINAL | RESTING)
        if "retry in time" in self.case.off:
            free = free or row.wait
        if not free:
            yield "refused at start", self.put(Worker("done")), True
            return
        started = self._started()
        granted = Worker("granted", row.token + 1, True)
        yield "start", self.put(granted, started), True
        if self.world.unheard:
            applied = self.put(granted, started)
            asking = self._asking(applied, granted)
            yield "start, unheard", asking._replace(**self.unheard), False
            yield "the start is rolled back, unheard", self.at("start?", **self.unheard), False

    def _started(self) -> World:
        row = self.row
        if row.wait:
            return self.world._replace(fault="a retry begins before its time")
        anew: dict[str, Any] = {"token": row.token + 1, "intent": False}
        if row.state is State.RUNNING:  # the guard is off
            return self.world._replace(row=row._replace(over=False, **anew))
        return moved(self.world, State.RUNNING, **anew)

    def _asking(self, world: World, granted: Worker) -> World:
        workers = list(world.workers)
        workers[workers.index(granted)] = Worker("start?", 0, True)
        return world._replace(workers=tuple(sorted(workers)))

    def intend(self) -> Iterator[Step]:
        if self.worker.at == "intent?":
            if (self.holds and self.worker.mine and self.row.intent) or (
                "intent is read back" in self.case.off
            ):
                yield "the intent is read back", self.at("intended"), True
                return
            yield "the intent cannot be read in time", self.at("done"), False
        if self.world.failures and self.worker.at == "granted":
            left = self.world.failures - 1
            yield "prepare fails", self.at(Kind.NOT_SENT, failures=left), False
        if "intent" in self.case.off:
            yield "no intent", self.at("intended"), True
            return
        good = self.holds and self.worker.mine and not self.row.over and not self.row.intent
        if not good and "fence" not in self.case.off:
            yield "fenced at the intent", self.at("done"), True
            return
        written = self.world
        if self.holds:
            written = self.world._replace(row=self.row._replace(intent=True))
        yield "intent", self.at("intended", written), True
        if self.world.unheard:
            yield "intent, unheard", self.at("intent?", written, **self.unheard), False
            yield "the intent is rolled back, unheard", self.at("intent?", **self.unheard), False

    def effect(self) -> Iterator[Step]:
        did = min(self.world.effects + 1, self.world.leave + 2)
        yield "effect, and its answer", self.at(Kind.SUCCEEDED, effects=did), True
        if self.world.failures:
            left: dict[str, Any] = {"failures": self.world.failures - 1}
            yield "effect, no answer", self.at(Kind.UNKNOWN, effects=did, **left), False
            yield "no effect, no answer", self.at(Kind.UNKNOWN, **left), False
            yield "the target refuses", self.at(Kind.REFUSED, **left), False

    def result(self) -> Iterator[Step]:
        kind = Kind(self.worker.at)
        if not self.holds and "token" not in self.case.off:
            yield "late evidence", self.at("done"), True
            return
        there = settled(self.case, self.world, kind, ACTED[kind])
        yield f"result: {kind}", self.at("done", there), True
        if self.world.unheard:
            yield "result, unheard", self.at(kind, there, **self.unheard), False
            yield "the result is rolled back, unheard", self.at(kind, **self.unheard), False


# ── people ───────────────────────────────────────────────────────────────────────────────


def _of_people(case: Case, world: World, row: Row) -> Iterator[Step]:
    if not world.clicks:
        return
    if world.seen != row.token and row.state in RESTING:
        yield "a person looks", world._replace(seen=row.token), False
    if world.seen < 0:
        return
    clicked = world._replace(clicks=world.clicks - 1)
    if row.state in RESTING and (row.token == world.seen or "decision" in case.off):
        leave = world.leave + (row.token == world.seen)
        again = moved(clicked._replace(leave=leave), State.CLAIMED, failures=0)
        yield "run again", again, False
        if row.state is State.REVIEW:
            happened = moved(clicked, State.SUCCEEDED, effect=Effect.DONE)
            yield "it happened", happened._replace(seen=-1), False
        yield "close", moved(clicked, State.CLOSED), False
    else:
        yield "a stale click", clicked, False


# ── what must hold ───────────────────────────────────────────────────────────────────────


def wrong(case: Case, world: World, *, at_rest: bool) -> str:
    if world.fault:
        return world.fault
    row = world.row
    if not case.idempotent and world.effects > 1 + world.leave:
        return "an effect that nobody decided on, of a run that is not safe to repeat"
    if row is None:
        return "a moment is lost" if at_rest else ""
    if world.effects > row.token:
        return "more effects than attempts"
    if row.state in FINAL | RESTING and world.effects and row.effect is Effect.NONE:
        return "an ending that hides an effect"
    if row.state is State.SUCCEEDED and not world.effects and not case.clicks:
        return "a success without an effect"
    if at_rest and row.state not in FINAL | RESTING:
        return f"stuck in {row.state}"
    return _falsely_asked(case, world, row)


def _falsely_asked(case: Case, world: World, row: Row) -> str:
    if row.state is (State.REVIEW if case.idempotent else State.DEAD):
        return f"{row.state} is no ending of such a job"
    if row.state is not State.REVIEW:
        return ""
    if row.review == ReviewClass.UNKNOWN and not row.intent:
        return "nothing had begun, and it is said to be unknown"
    untouched = replace(case).first()
    spent = ("crashes", "expiries", "unheard", "failures")
    if all(getattr(world, name) == getattr(untouched, name) for name in spent):
        return "a review without a cause"
    return ""
