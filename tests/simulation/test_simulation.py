"""Seeds play half a minute of the product with everything going wrong; then all must be well.

`ONEBEAT_SEED=` plays one seed again, `ONEBEAT_PROOF=whole` two hundred.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from jobs.models import User
from jobs.schedules.instants import canonical_instant
from runs import execute, settle
from runs import faults as points
from tests import make
from tests import virtual_clock as clocks
from tests.simulation import oracle
from tests.simulation.oracle import Said
from tests.simulation.world import World
from tests.story.processes import on_database
from tests.virtual_clock import VirtualClock

pytestmark = pytest.mark.timeout(3600)

NAMED = os.environ.get("ONEBEAT_SEED")
WHOLE = os.environ.get("ONEBEAT_PROOF") == "whole"
SEEDS = [int(NAMED)] if NAMED else range(1, 201) if WHOLE else (1, 2)
START = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LASTS = 24  # seconds of the virtual clock in which moments are due
JOBS: list[tuple[str, int, dict[str, Any]]] = [
    ("safe", 2, {"idempotent": True}),
    ("safe, in turn", 3, {"idempotent": True, "overlap": "queue"}),
    ("safe, one at a time", 2, {"idempotent": True, "overlap": "skip"}),
    ("once", 3, {"idempotent": False}),
    ("once, in turn", 4, {"idempotent": False, "overlap": "queue_all"}),
]
SHORT = {"max_attempts": 3, "backoff": 1, "cap": 3}


@pytest.fixture
def clock(product_url: str, django_db_blocker: DjangoDbBlocker) -> Iterator[VirtualClock]:
    """A database of the test's own that lives by this clock."""
    with (
        clocks.installed(product_url) as clock,
        on_database(product_url),
        django_db_blocker.unblock(),
    ):
        yield clock


def registered(lasts: int) -> tuple[list[Said], User]:
    team = make.team()
    until = START + timedelta(seconds=lasts)
    said = []
    for name, every, changes in JOBS:
        anchor = START + timedelta(seconds=2)
        schedule = {"every": every, "anchor": canonical_instant(anchor)}
        job = make.job(
            team,
            name=name.replace(", ", "-").replace(" ", "-"),
            schedule=schedule,
            ends_at=canonical_instant(until),
            retries=SHORT,
            catch_up={"policy": "all" if changes["idempotent"] else "ask"},
            **changes,
        )
        said.append(Said(job, every, anchor, until))
    return said, make.operator(team)


def play(
    seed: int, clock: VirtualClock, patch: pytest.MonkeyPatch, lasts: int = LASTS
) -> tuple[World, list[str]]:
    """What there is after this seed's time, and what is wrong with it."""
    dice = random.Random(seed)
    clock.stand_at(START)
    jobs, person = registered(lasts)
    world = World(clock, START, dice, person if seed % 2 else None)
    patch.setattr(points, "_armed", [None])
    patch.setattr(points, "_pass", lambda point, _: world.struck(point))
    patch.setattr("runs.persist.time.sleep", lambda _: None)
    patch.setattr(settle, "_dice", dice.random)
    while world.now < START + timedelta(seconds=lasts + 4):
        world.step()
    world.heal()
    print(f"ONEBEAT_SEED={seed} effects={len(world.effects)} {dict(world.faults)}")
    return world, oracle.faults(world, jobs)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_every_promise_is_kept(
    seed: int, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"ONEBEAT_SEED={seed}")
    world, faults = play(seed, clock, monkeypatch)
    assert faults == [], f"ONEBEAT_SEED={seed}"
    assert len(world.faults) >= 3 and len(world.effects) > 15  # it was a fault run


def test_an_effect_without_its_intent_is_seen(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "_intend", lambda *_: True)
    _, faults = play(1, clock, monkeypatch, lasts=6)
    assert any("without an intent" in fault for fault in faults)
