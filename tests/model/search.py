"""Every order in which the transactions of tests/model/overlap.py can interleave, and what must
hold of each state that is reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from runs import overlap
from runs.states import ACTIVE
from tests.model import breadth
from tests.model.breadth import Found
from tests.model.overlap import steps
from tests.model.world import Case, Step, World, situation

# ── transactions in two steps ────────────────────────────────────────────────────────────


class Flight(NamedTuple):
    """A transaction that has read, and not yet committed."""

    name: str
    locked: bool
    seen: World


class Moment(NamedTuple):
    """The stored world and at most two transactions under way."""

    world: World
    flights: tuple[Flight, ...] = ()


def onward(case: Case, now: Moment) -> Iterator[tuple[str, Moment, bool]]:
    known = {step.name: step for step in steps(case, now.world)}
    for step in known.values():
        if case.whole or not (step.locked or _reads_first(step)):
            yield step.name, now._replace(world=step.act(now.world)), step.must
        elif _may_begin(now, step) and step.act(now.world) != now.world:
            flight = Flight(step.name, step.locked, now.world)
            flights = tuple(sorted((*now.flights, flight), key=lambda one: one.name))
            yield f"{step.name}: reads", now._replace(flights=flights), step.must
    for flight in now.flights:
        rest = tuple(one for one in now.flights if one is not flight)
        seen = {step.name: step for step in steps(case, flight.seen)}[flight.name]
        after = _merged(now.world, flight.seen, seen.act(flight.seen))
        yield f"{flight.name}: commits", Moment(after, rest), True


def _reads_first(step: Step) -> bool:
    """Whether it decides by what it has read, even where a mutant takes the lock from it."""
    return step.name.startswith("claim") or step.name.endswith(("well", "fails", "is rescued"))


def _may_begin(now: Moment, step: Step) -> bool:
    if len(now.flights) >= 2 or any(one.name == step.name for one in now.flights):
        return False
    return not (step.locked and any(one.locked for one in now.flights))


def _merged(world: World, seen: World, after: World) -> World:
    """The commit onto what is stored now. A guarded UPDATE that has lost, a moment that has a
    row, or the index on active runs, rolls the whole back: it is tried again."""
    rows = list(world.rows)
    for index, (old, new) in enumerate(zip(seen.rows, after.rows, strict=False)):
        if old != new and rows[index] != old:
            return world
        if old != new:
            rows[index] = new
    if after.settled != seen.settled and world.settled != seen.settled:
        return world
    rows += after.rows[len(seen.rows) :]
    if sum(row.serial and row.state in ACTIVE for row in rows) > 1:
        return world._replace(fault="the index refuses what a rule has written")
    return world._replace(
        rows=tuple(rows),
        settled=max(world.settled, after.settled),
        rule=after.rule if after.rule != seen.rule else world.rule,
        people=world.people + after.people - seen.people,
        faults=world.faults + after.faults - seen.faults,
        fault=world.fault or after.fault,
    )


# ── what must hold ───────────────────────────────────────────────────────────────────────


def wrong(case: Case, now: Moment, *, at_rest: bool) -> str:
    world = now.world
    if world.fault:
        return world.fault
    active = sum(row.state in ACTIVE for row in world.rows)
    if active > 1 and case.rule(world).serial and not case.edited:
        return "two active runs of a serial job"
    moments = [row.order for row in world.rows if row.order % 2 == 0]
    if sorted(moments) != list(range(0, 2 * world.settled, 2)):
        return "a moment without a row, or with two"
    stuck = _stuck(case, world)
    if stuck and not now.flights and not case.edited and not world.hold:
        return "a run is left waiting that only rescue would wake"
    if at_rest and (stuck or active or world.settled < world.passed):
        return "something is left undone for ever"
    return ""


def _stuck(case: Case, world: World) -> bool:
    if world.hold == "on":
        return False
    whole = replace(case, off=frozenset())
    found = situation(whole, world)
    return any(
        overlap.in_the_way(run.order, case.rule(world), found) is None for run in found.waiting
    )


def explore(case: Case, limit: int = 1_000_000) -> Found:
    first = Moment(World(people=case.people, faults=case.faults))
    return breadth.explore(
        first,
        lambda now: onward(case, now),
        lambda now, at_rest: wrong(case, now, at_rest=at_rest),
        limit=limit,
    )
