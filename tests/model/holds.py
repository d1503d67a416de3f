"""What holds add to the search: who begins and ends one, what waits for it, and letting go. What
becomes of it is the product's own `owed.parting`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from jobs.schedules.catch_up import Policy
from runs.holds import owed
from runs.holds.owed import Owed
from runs.states import ACTIVE, State
from tests.model.world import Case, Row, Step, World, activated, changed, moment, released

_HOUR = timedelta(hours=1)


def steps(world: World) -> Iterator[Step]:
    """What people do; each in one step, for a start takes the lock of holds too."""
    if world.hold != "on":
        yield Step("a hold begins", lambda w: _turned(w, "on"), locked=False, must=False)
        return
    for choice in ("policy", "fire", "drop"):
        name = f"the hold ends: {choice}"
        yield Step(name, lambda w, choice=choice: _turned(w, choice), locked=False, must=False)  # type: ignore[misc]


def _turned(world: World, hold: str) -> World:
    return world._replace(hold=hold, people=world.people - 1)


def is_over(world: World) -> bool:
    """Whether something is to be let go."""
    return world.hold != "on" and any(row.held for row in world.rows)


def claimed(world: World, orders: range) -> World:
    """runs/holds/holding.py: every moment waits for the end of the hold."""
    born = tuple(Row(order, State.WAITING, held=True) for order in orders)
    return world._replace(rows=(*world.rows, *born), settled=world.passed)


def parked(world: World, index: int) -> World:
    """runs/start.py under a hold."""
    return changed(world, index, state=State.WAITING, held=True)


def let_past(case: Case, world: World, index: int) -> World:
    """runs/holds/letting_go.py: `one`; refused where a run of a serial job is active."""
    if case.rule(world).serial and any(row.state in ACTIVE for row in world.rows):
        return world
    review = any(r.state is State.REVIEW and r.order < world.rows[index].order for r in world.rows)
    if case.block and review:
        return world  # a person may; what the search asks of releases is not asked of people
    return activated(case, changed(world, index, past=True), index)


def let_go(case: Case, world: World) -> World:
    """runs/holds/letting_go.py: `job`."""
    found = [(index, row) for index, row in enumerate(world.rows) if row.held]
    runs = [Owed(UUID(int=index + 1), _undecided(case, row)) for index, row in found]
    newest = moment(max(row.order for row in world.rows))
    said = owed.parting(
        runs,
        choice=world.hold or "policy",
        policy=Policy(case.catch_up, _HOUR, 100),
        now=newest + timedelta(seconds=11),
    )
    for run_id in said.go:
        world = changed(world, run_id.int - 1, held=False, wanted=_wanted(world, run_id, said))
    for run_id in said.ask:
        world = changed(world, run_id.int - 1, state=State.REVIEW)
    for run_id in [run_id for those in said.skip.values() for run_id in those]:
        row = world.rows[run_id.int - 1]
        if row.started or row.wanted or row.past:
            return world._replace(fault="a run that was begun or asked for is dropped")
        world = changed(world, run_id.int - 1, state=State.SKIPPED)
    return released(case, world, "let go")


def _wanted(world: World, run_id: UUID, said: owed.Parting) -> bool:
    return world.rows[run_id.int - 1].wanted or said.chosen


def _undecided(case: Case, row: Row) -> datetime | None:
    asked_for = row.started or row.wanted or row.past
    if asked_for and "begun is dropped" not in case.off:
        return None
    return moment(row.order)
