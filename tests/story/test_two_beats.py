"""Many jobs due at one instant under several beats: one run for each job and moment, though beats
are killed (K098, K145)."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db.models import QuerySet

from jobs import clock
from jobs.models import Team
from runs.beat import Every
from runs.models import Run
from tests.servers import Child, wait_until
from tests.story import many
from tests.story.conftest import FULL
from tests.story.processes import Product

pytestmark = pytest.mark.story

JOBS = 2000 if FULL else 300
ROUNDS = 10 if FULL else 4
EVERY = 6 if FULL else 4  # seconds between two rounds
BEATS = 4


@dataclass(frozen=True)
class Rounds:
    """What is due: each of these jobs at each of these moments."""

    jobs: list[UUID]
    moments: list[datetime]

    @property
    def pairs(self) -> set[tuple[UUID, datetime]]:
        return set(itertools.product(self.jobs, self.moments))


@pytest.fixture
def rounds(team: Team) -> Rounds:
    """The jobs are registered with a first moment late enough for all to be there."""
    first = clock.now() + timedelta(seconds=20)
    jobs = [job.id for job in many.jobs(team, [first] * JOBS, every=EVERY)]
    assert clock.now() < first, "this machine is too slow for the figures of this test"
    return Rounds(jobs, [first + n * timedelta(seconds=EVERY) for n in range(ROUNDS)])


@pytest.mark.timeout(400)
def test_four_beats_write_one_run_for_each_job_and_moment(product: Product, rounds: Rounds) -> None:
    for _ in range(BEATS):
        product.beat()
    product.up()
    wait_until(lambda: _all_sent(rounds), seconds=EVERY * ROUNDS + 60, what="every run is sent")
    _one_run_each(rounds)
    assert product.errors() == []
    assert _sends(rounds) == {1}  # nobody sent another's run again
    assert _claims_by_beat(product) == BEATS  # each had its share


@pytest.mark.timeout(400)
def test_a_beat_killed_every_two_seconds_loses_and_doubles_nothing(
    product: Product, rounds: Rounds
) -> None:
    beats = [product.beat() for _ in range(BEATS)]
    product.up()
    killed = _kill_in_turn(product, beats, until=rounds.moments[-1] + timedelta(seconds=2))
    wait_until(lambda: _all_sent(rounds), seconds=60, what="every run is sent")
    assert killed >= EVERY * (ROUNDS - 1) / 4
    _one_run_each(rounds)
    assert [line for line in product.errors() if line["event"] != "rescue.overdue"] == []


def _kill_in_turn(product: Product, beats: list[Child], *, until: datetime) -> int:
    """The oldest of the four dies every two seconds, and a new one comes; how many died."""
    killed = 0
    two_seconds = Every(2)
    while clock.now() < until:
        wait_until(two_seconds.has_come, seconds=30, what="two seconds are over")
        beats.pop(0).kill()
        beats.append(product.beat())
        killed += 1
    return killed


def _of(rounds: Rounds) -> QuerySet[Run]:
    return Run.objects.filter(due_at__lte=rounds.moments[-1])


def _all_sent(rounds: Rounds) -> bool:
    return _of(rounds).filter(state="ENQUEUED").count() >= len(rounds.pairs)


def _one_run_each(rounds: Rounds) -> None:
    found = Counter(_of(rounds).values_list("job_id", "due_at"))
    assert rounds.pairs - set(found) == set()  # none missed
    assert set(found) - set(rounds.pairs) == set()  # none invented
    assert set(found.values()) == {1}  # none doubled


def _sends(rounds: Rounds) -> set[int]:
    return set(_of(rounds).values_list("sends", flat=True))


def _claims_by_beat(product: Product) -> int:
    return sum("claim.batch" in child.log.read_text() for child in product.children)
