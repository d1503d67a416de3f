"""Beats come and go while thousands of jobs are due every ten seconds: each moment becomes one run,
and soon. A smaller play by default; ONEBEAT_STORY=full plays two minutes with 5,000 jobs."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import QuerySet

from jobs import clock
from jobs.models import Job, Team
from runs.beat import Every
from runs.models import Run
from tests.servers import Child, wait_until
from tests.story import many
from tests.story.conftest import FULL
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(600)]

JOBS = 5000 if FULL else 300
PERIOD = timedelta(seconds=10)
REPLICAS = [1, 4, 2, 3] * 3 if FULL else [1, 4, 2]
# Not as often as other stories want it: nobody works here, and all that is sent would be looked
# after again and again.
AS_IN_LIFE: dict[str, Any] = {"ONEBEAT_SWEEP": "2", "ONEBEAT_RESEND": "60"}
# Seconds from due to claimed and sent, of 99 in 100. Held in the full play alone, which wants a
# quiet machine; else only that every moment is there once.
SOON = 3.0 if FULL else 60.0


@pytest.fixture
def first(team: Team) -> datetime:
    """The jobs' first moments lie in the ten seconds from then on, one after the other."""
    first = clock.now().replace(microsecond=0) + timedelta(seconds=25)
    firsts = [first + PERIOD * number / JOBS for number in range(JOBS)]
    many.jobs(team, firsts, every=int(PERIOD.total_seconds()))
    assert clock.now() < first - timedelta(seconds=5), "too slow for the figures of this test"
    return first


def test_beats_that_come_and_go_lose_and_double_nothing(product: Product, first: datetime) -> None:
    beats = [product.beat(**AS_IN_LIFE)]
    product.up()
    wait_until(lambda: clock.now() > first, seconds=40, what="the first moment")
    for count in REPLICAS:
        ten_seconds = Every(PERIOD.total_seconds())
        ten_seconds.has_come()
        beats = _scaled(product, beats, count)
        wait_until(ten_seconds.has_come, seconds=30, what="ten seconds are over")
    until = clock.now()
    expected = Counter(dict.fromkeys(_due(first, until), 1))
    wait_until(lambda: _sent(until) >= len(expected), seconds=60, what="every run is sent")

    assert (
        Counter(Run.objects.filter(due_at__lte=until).values_list("job_id", "due_at")) == expected
    )
    late = sorted(_lateness(until))
    figures = {
        "moments": len(late),
        "p50": late[len(late) // 2],
        "p99": late[len(late) * 99 // 100],
    }
    print(figures | {"most": late[-1]})
    assert figures["p99"] <= SOON, figures
    assert [line for line in product.errors() if line["event"] != "rescue.overdue"] == []


def _scaled(product: Product, beats: list[Child], count: int) -> list[Child]:
    """So many beats: the oldest are asked to stop, new ones come."""
    going, staying = beats[: max(0, len(beats) - count)], beats[max(0, len(beats) - count) :]
    for child in going:
        child.process.terminate()
    return staying + [product.beat(**AS_IN_LIFE) for _ in range(count - len(staying))]


def _due(first: datetime, until: datetime) -> list[tuple[UUID, datetime]]:
    """Each job's moments up to then, from its anchor on."""
    found = []
    for job_id, schedule in Job.objects.filter(team__slug="payments").values_list("id", "schedule"):
        moment = datetime.fromisoformat(schedule[0]["anchor"])
        while moment <= until:
            found.append((job_id, moment))
            moment += PERIOD
    assert min(moment for _, moment in found) == first
    return found


def _runs(until: datetime) -> QuerySet[Run]:
    return Run.objects.filter(job__in=Job.objects.filter(team__slug="payments"), due_at__lte=until)


def _sent(until: datetime) -> int:
    return _runs(until).filter(state="ENQUEUED").count()


def _lateness(until: datetime) -> list[float]:
    """Seconds from due to sent."""
    rows = _runs(until).values_list("due_at", "sent_at")
    return [(sent - due).total_seconds() for due, sent in rows if sent and due]
