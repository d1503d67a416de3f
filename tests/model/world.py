"""What is stored of one job in the search, and the product's rules as they see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from uuid import UUID

from runs import overlap
from runs.overlap import Rule, Situation, Standing
from runs.states import ACTIVE, EDGES, State

START = datetime(2026, 11, 29, tzinfo=UTC)
JOB = UUID(int=0)
MINUTE = timedelta(minutes=1)


class Row(NamedTuple):
    """A run. `order` counts half minutes: a moment is even, a run by hand lies between two.
    `open`: nobody knows what its last attempt did, and nobody has decided; `wanted`: a person
    asked for it; `lost`: its worker is dead; `held`: it waits for a hold;
    `past`: a person let it past one."""

    order: int
    state: State
    serial: bool = False
    asked: bool = False
    started: bool = False
    open: bool = False
    wanted: bool = False
    late: bool = False
    lost: bool = False
    held: bool = False
    past: bool = False
    failures: int = 0


class World(NamedTuple):
    """Everything that is stored, and what people and misfortune may still do."""

    passed: int = 0  # moments that have come
    settled: int = 0  # moments that were claimed
    rule: int = 0
    hold: str = ""  # on, or what was chosen as the last one ended: policy, fire or drop
    rows: tuple[Row, ...] = ()
    people: int = 0
    faults: int = 0
    fault: str = ""


@dataclass(frozen=True)
class Case:
    """One job, and what may happen to it. `off`: the rules that are taken out."""

    overlap: str
    idempotent: bool = True
    block: bool = False
    edited: str = ""  # the overlap to which an edit turns it, and back
    moments: int = 2
    people: int = 2
    faults: int = 1
    catch_up: str = "last"
    whole: bool = False  # transactions are one step each: for jobs with many runs at once
    can: frozenset[str] = frozenset({"hand", "replay", "decide", "cancel"})
    off: frozenset[str] = field(default_factory=frozenset)

    def rule(self, world: World) -> Rule:
        name = self.edited if world.rule and self.edited else self.overlap
        return Rule(name, self.block, 100, asks_about_missed=not self.idempotent)


@dataclass(frozen=True)
class Step:
    """A thing that can happen. `locked`: under the job's lock; `must`: sooner or later it does."""

    name: str
    act: Callable[[World], World]
    locked: bool = True
    must: bool = True


# ── the stored rows, as the rules see them ───────────────────────────────────────────────


def situation(case: Case, world: World) -> Situation:
    def those(*states: State) -> tuple[Standing, ...]:
        return tuple(
            standing(i, row.order, case.idempotent, row.late, row.held)
            for i, row in enumerate(world.rows)
            if row.state in states
        )

    review = () if "reviews ignored" in case.off else those(State.REVIEW)
    taken = frozenset(moment(row.order) for row in world.rows if row.state is not State.SKIPPED)
    return Situation(those(*ACTIVE), those(State.WAITING), review, taken)


@cache
def standing(index: int, order: int, idempotent: bool, late: bool, held: bool) -> Standing:
    return Standing(UUID(int=index + 1), moment(order), False, idempotent, late, held)


@cache
def moment(order: int) -> datetime:
    return START + order * MINUTE / 2


def changed(world: World, index: int, **columns: object) -> World:
    row = world.rows[index]._replace(**columns)  # type: ignore[arg-type]
    before = world.rows[index].state
    if row.state is not before and row.state is not State.WAITING:
        row = row._replace(held=False)  # as runs/transitions.py does
    if row.state is not before and row.state not in EDGES[before]:
        return world._replace(fault=f"{before} → {row.state} is no edge")
    return world._replace(rows=(*world.rows[:index], row, *world.rows[index + 1 :]))


def released(case: Case, world: World, door: str) -> World:
    """runs/release.py: `waiting`. An attempt's end looks for nobody where, as the job is now,
    nobody can be waiting: whom an edit left behind, rescue finds."""
    rule = case.rule(world)
    side_by_side = not rule.serial and not rule.block_on_review
    if world.hold == "on" and "released under a hold" not in case.off:
        return world
    if door in case.off or (side_by_side and door in ("after an end", "after a failure")):
        return world
    found = situation(case, world)
    if "held are released" in case.off:
        free = tuple(replace(run, held=False) for run in found.waiting)
        found = replace(found, waiting=free)
    for run, to in overlap.woken(rule, found):
        index = run.id.int - 1
        row = world.rows[index]
        if to is State.SKIPPED and (row.started or row.wanted):
            return world._replace(fault="a run that somebody asked for is dropped")
        world = (
            activated(case, world, index)
            if to is State.CLAIMED
            else changed(world, index, state=to)
        )
    return world


def activated(case: Case, world: World, index: int) -> World:
    order = world.rows[index].order
    if case.block and any(r.state is State.REVIEW and r.order < order for r in world.rows):
        world = world._replace(fault="a later moment goes while an earlier one is in review")
    if world.hold == "on" and not world.rows[index].past:
        world = world._replace(fault="a run is released under a hold")
    if world.rows[index].held and not world.rows[index].past:
        world = world._replace(fault="a held run goes before it is let go")
    return changed(world, index, state=State.CLAIMED, serial=case.rule(world).serial, late=False)
