"""An exhaustive search of how the runs of one job take turns, by the rules as they are built.

The decisions are the product's own: `overlap.in_the_way`, `overlap.woken`, `placing.Queue`,
`verdicts.of`. What is modelled is everything around them: who takes the job's lock, what is read
before a commit and what happens in between, workers that are lost, people, edits. A transaction
is two steps, reading and committing; one that takes the lock keeps out the others that do. What
it writes is guarded by what it read, and by the index on active runs of a serial job.

Breadth first, so that the trace of a fault is a shortest one. A mutant takes one rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

from runs import overlap, verdicts
from runs.birth import Birth
from runs.outcomes import Effect, Kind, Outcome
from runs.placing import Queue
from runs.states import ACTIVE, State
from runs.verdicts import Facts
from tests.model import holds
from tests.model.world import (
    JOB,
    MINUTE,
    START,
    Case,
    Row,
    Step,
    World,
    activated,
    changed,
    moment,
    released,
    situation,
)

# ── what can happen ──────────────────────────────────────────────────────────────────────


def steps(case: Case, world: World) -> Iterator[Step]:
    if world.passed < case.moments:
        yield Step("a moment comes", _passes, locked=False, must=False)
    if world.settled < world.passed:
        locked = "claim without lock" not in case.off
        yield Step("claim", lambda w: _claim(case, w, late=False), locked)
        if world.passed - world.settled > 1:
            yield Step("claim, late", lambda w: _claim(case, w, late=True), locked)
    if "rescue" not in case.off:
        yield Step("rescue releases", lambda w: released(case, w, "rescue"))
    for index, row in enumerate(world.rows):
        yield from _of_run(case, index, row, world)
        if world.people > 0:
            yield from _by_people(case, index, row)
    if holds.is_over(world) and "letting go" not in case.off:
        yield Step("let go", lambda w: holds.let_go(case, w))
    if world.people > 0:
        yield from _of_the_job(case, world)


def _of_the_job(case: Case, world: World) -> Iterator[Step]:
    if "hold" in case.can:
        yield from holds.steps(world)
    if "hand" in case.can and world.hold != "on":
        yield Step("run by hand", lambda w: _by_hand(case, w), must=False)
    if case.edited:
        yield Step("edit", lambda w: _spend(w)._replace(rule=1 - w.rule), must=False)


def _passes(world: World) -> World:
    return world._replace(passed=world.passed + 1)


def _spend(world: World) -> World:
    return world._replace(people=world.people - 1)


def _claim(case: Case, world: World, *, late: bool) -> World:
    """runs/claim.py with runs/placing.py: every moment that has come and is not settled."""
    orders = range(2 * world.settled, 2 * world.passed, 2)
    if world.hold == "on":
        return holds.claimed(world, orders)
    births = [
        Birth(JOB, 1, moment(order), State.CLAIMED, id=UUID(int=1000 + order)) for order in orders
    ]
    # `late`: all but the newest are made up; else all of them are on time.
    now = births[-2].due_at + timedelta(seconds=11) if late else births[0].due_at
    queue = Queue(case.rule(world), situation(case, world), now).taking(births)
    states: dict[UUID, str] = {}
    for run in queue.stops:
        index = run.id.int - 1
        running = world.rows[index].state is State.RUNNING
        world = changed(world, index, asked=True)
        if not running:
            world = changed(world, index, state=State.CANCELLED)
        if not case.idempotent:
            return world._replace(fault="a run that is not safe to repeat is asked to stop")
        states[run.id] = world.rows[index].state
    serial = case.rule(world).serial
    for birth in queue.settled(states):
        order = int((birth.due_at - START) / MINUTE * 2)
        born = Row(order, birth.state, serial and birth.state is State.CLAIMED)
        world = world._replace(rows=(*world.rows, born))
    return world._replace(settled=world.passed)


def _of_run(case: Case, index: int, row: Row, world: World) -> Iterator[Step]:
    if row.state in (State.CLAIMED, State.RETRYING):
        if row.asked and "stop is forgotten" not in case.off:
            yield Step(
                f"{index} is stopped at its start",
                lambda w: _leave(case, w, index, State.CANCELLED),
            )
        elif world.hold == "on" and not row.past and "start is blind" not in case.off:
            yield Step(f"{index} is parked", lambda w: holds.parked(w, index))
        else:
            yield Step(f"{index} starts", lambda w: _start(w, index), locked=False)
    if row.state is State.RUNNING:
        yield from _ends(case, index, row, world)
    untouched = not (row.started or row.wanted or row.late or row.held)
    if row.state is State.WAITING and untouched and world.faults:
        yield Step(
            f"{index} waits too long",
            lambda w: changed(w, index, late=True)._replace(faults=w.faults - 1),
            locked=False,
            must=False,
        )


def _start(world: World, index: int) -> World:
    if world.rows[index].asked:
        return world._replace(fault="a run that was asked to stop is started")
    if world.hold == "on" and not world.rows[index].past:
        return world._replace(fault="a run starts under a hold")
    return changed(world, index, state=State.RUNNING, started=True, open=False)


def _ends(case: Case, index: int, row: Row, world: World) -> Iterator[Step]:
    locked = "settle without lock" not in case.off
    if not row.lost:
        yield Step(f"{index} ends well", lambda w: _leave(case, w, index, State.SUCCEEDED), locked)
        if world.faults:
            yield Step(
                f"{index} loses its worker",
                lambda w: changed(w, index, lost=True)._replace(faults=w.faults - 1),
                locked=False,
                must=False,
            )
            yield Step(
                f"{index} fails",
                lambda w: _fail(case, w._replace(faults=w.faults - 1), index, Kind.FAILED),
                locked,
                must=False,
            )
    else:
        yield Step(f"{index} is rescued", lambda w: _fail(case, w, index, Kind.LOST), locked)


def _fail(case: Case, world: World, index: int, kind: Kind) -> World:
    """runs/settle.py with the product's verdict. One failure makes a retry, the next is the
    last; a run again starts from none."""
    row = world.rows[index]
    asked = row.asked and "stop is forgotten" not in case.off
    facts = Facts(case.idempotent, False, row.failures, 2, 1, 1, Effect.NONE, True, asked, age=1)
    verdict = verdicts.of(Outcome(kind, Effect.MAYBE, "it broke"), facts, dice=0.5)
    world = changed(world, index, failures=verdict.failures, lost=False)
    if verdict.state in ACTIVE:
        return changed(world, index, state=verdict.state)
    unknown = not case.idempotent and verdict.state is not State.CANCELLED
    world = changed(world, index, state=verdict.state, open=unknown, asked=False)
    return released(case, world, "after a failure")


def _leave(case: Case, world: World, index: int, to: State, door: str = "after an end") -> World:
    if to is State.CANCELLED and world.rows[index].open:
        return world._replace(fault="an unknown outcome is final, and nobody decided")
    return released(case, changed(world, index, state=to, lost=False), door)


def _by_people(case: Case, index: int, row: Row) -> Iterator[Step]:
    def person(name: str, act: Callable[[World], World]) -> Step:
        return Step(f"{name} {index}", lambda w: act(_spend(w)), must=False)

    if row.state is State.DEAD and "replay" in case.can:
        yield person("replay", lambda w: _once_more(case, w, index))
    if row.held and "past" in case.can:
        yield person("let past", lambda w: holds.let_past(case, w, index))
    if row.state is State.REVIEW and "decide" in case.can:
        yield person("run again", lambda w: _once_more(case, w, index))
        yield person(
            "close",
            lambda w: _leave(
                case, changed(w, index, open=False), index, State.CLOSED, "after a decision"
            ),
        )
    if row.state in (State.WAITING, State.CLAIMED, State.RETRYING) and "cancel" in case.can:
        again = (row.wanted and row.open) and "cancel forgets" not in case.off
        to = State.REVIEW if again else State.CANCELLED
        yield person("cancel", lambda w: _leave(case, w, index, to))


def _once_more(case: Case, world: World, index: int) -> World:
    """runs/decisions.py: `once_more`."""
    world = changed(world, index, failures=0, asked=False, wanted=True, late=False, past=False)
    if world.hold == "on":
        return changed(world, index, state=State.WAITING, held=True)
    row = world.rows[index]
    rule, found = case.rule(world), situation(case, world)
    waits = overlap.in_the_way(moment(row.order), rule, found)
    if waits is None or "replay at once" in case.off:
        world = activated(case, world, index)
    else:
        world = changed(world, index, state=State.WAITING)
    return released(case, world, "after a decision")


def _by_hand(case: Case, world: World) -> World:
    rule = case.rule(world)
    if rule.serial and situation(case, world).active:
        return world  # refused: busy
    born = Row(2 * world.passed - 1, State.CLAIMED, rule.serial, wanted=True)
    return _spend(world)._replace(rows=(*world.rows, born))
