"""Clocks that are wrong: the database's own, set ahead by a day and back; those of the hosts
(C34)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.models import Beat, Run
from tests import servers
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product
from tests.virtual_clock import VirtualClock

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
NOTE = {"type": "task", "name": "story.note"}


def a_job(team: Team, seconds: int) -> Job:
    schedule = {"every": seconds, "anchor": canonical_instant(clock.now() + SECOND)}
    return register(team, "job", schedule, NOTE, overlap="allow")


def fired(job: Job) -> dict[datetime, Run]:
    runs = list(Run.objects.filter(job=job).exclude(state="SKIPPED"))
    assert set(Counter(run.due_at for run in runs).values()) <= {1}
    return {run.due_at: run for run in runs if run.due_at}


def until_fired(job: Job, count: int) -> None:
    began = clock.now()
    wait_until(
        lambda: sum(began <= due < began + DAY / 2 for due in fired(job)) >= count,
        seconds=40,
        what=f"{count} more moments",
    )


def test_a_clock_set_a_day_ahead_and_back_k092(
    set_clock: VirtualClock, product: Product, team: Team
) -> None:
    """Ahead: what was stepped over goes by the catch-up, one made up at most. Back: no moment
    comes twice, and the next one is due at once, not in a day."""
    for _ in range(2):
        product.beat()
    product.up()
    job = a_job(team, 2)
    until_fired(job, 2)
    ahead = clock.now() + DAY
    set_clock.go_on_from(ahead)
    until_fired(job, 2)
    made_up = [due for due, run in fired(job).items() if run.created_at - due > 10 * SECOND]
    assert len(made_up) <= 1
    back = clock.now() - DAY
    set_clock.go_on_from(back)
    until_fired(job, 3)
    between = sorted(due for due in fired(job) if back <= due < ahead - DAY / 2)
    assert between == [between[0] + 2 * number * SECOND for number in range(len(between))]
    assert between[0] - back < 12 * SECOND
    wait_until(_live_again, seconds=30, what="both beats are live, none of tomorrow is")
    assert [line for line in product.errors() if line["event"] != "rescue.overdue"] == []


def _live_again() -> bool:
    seen = list(Beat.objects.values_list("seen_at", flat=True))
    return len(seen) == 2 and max(seen) <= clock.now()


def test_the_clocks_of_the_hosts_decide_nothing_k093(product: Product, team: Team) -> None:
    """Ninety seconds ahead on one host and behind on the other; the database's clock is right."""
    servers.require("faketime")
    for seconds in (90, -90):
        product.beat(clock=seconds)
    product.up()
    job = a_job(team, 1)
    until_fired(job, 20)
    runs = fired(job)
    moments = sorted(runs)
    assert moments == [moments[0] + number * SECOND for number in range(len(moments))]
    late = [run.created_at - due for due, run in runs.items()]
    assert min(late) >= timedelta(0)
    assert max(late) <= 2 * SECOND
    assert Beat.objects.count() == 2
    stamps = [datetime.fromisoformat(line["timestamp"]) for line in product.lines()]
    assert max(stamps) - min(stamps) > 150 * SECOND  # their clocks did differ
    assert product.errors() == []
