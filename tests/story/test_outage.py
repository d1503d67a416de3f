"""Every beat is killed, ten minutes go by on the database's clock, and two others come."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import product as each

import pytest

from jobs import clock
from jobs.models import Job, Team
from jobs.schedules.instants import canonical_instant
from runs.audits import audit
from runs.models import Run
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product
from tests.virtual_clock import VirtualClock

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

MINUTE, AWAY = timedelta(minutes=1), 10
TASK = {"type": "task", "name": "story.note"}
# What ten missed moments come to, of a job with a limit of seven.
FATES = {
    "last": Counter(CLAIMED=1, SKIPPED=9),
    "all": Counter(CLAIMED=7, SKIPPED=3),
    "none": Counter(SKIPPED=10),
    "ask": Counter(REVIEW=7, SKIPPED=3),
}


def test_each_catch_up_after_all_beats_were_away_for_ten_minutes(
    set_clock: VirtualClock, product: Product, team: Team
) -> None:
    beat = product.beat()
    product.up()
    first = clock.now() + timedelta(seconds=3)
    jobs = {said: _job(team, first, *said) for said in each(FATES, (True, False))}
    wait_until(lambda: _all_have(jobs, first), seconds=30, what="the first moment has fired")
    beat.kill()
    set_clock.go_on_from(first + AWAY * MINUTE + 20 * timedelta(seconds=1))
    for _ in range(2):
        product.beat()
    last = first + AWAY * MINUTE
    wait_until(lambda: _all_have(jobs, last), seconds=30, what="what was missed is settled")
    for (policy, _), job in jobs.items():
        assert _fates(job, first, last) == FATES[policy], policy
    set_clock.go_on_from(last + 58 * timedelta(seconds=1))
    wait_until(lambda: _all_have(jobs, last + MINUTE), seconds=30, what="the next one, on time")
    set_clock.go_on_from(last + 2 * MINUTE + timedelta(seconds=1))
    wait_until(lambda: _all_have(jobs, last + 2 * MINUTE), seconds=30, what="one more")
    assert [gap for gap in audit.report(first - MINUTE).gaps if gap.team == "payments"] == []


def _job(team: Team, first: datetime, policy: str, idempotent: bool) -> Job:
    schedule = {"every": 60, "anchor": canonical_instant(first)}
    own = {"overlap": "allow", "block_on_review": False, "idempotent": idempotent}
    catch_up = {"policy": policy, "window": 3600, "limit": 7}
    return register(team, f"{policy} {idempotent}", schedule, TASK, catch_up=catch_up, **own)


def _all_have(jobs: dict[tuple[str, bool], Job], moment: datetime) -> bool:
    """Whether each job has a row that holds this moment."""
    rows = Run.objects.filter(job__in=jobs.values(), due_at__lte=moment)
    holding = [run for run in rows if (run.skipped_until or run.due_at) == moment]
    return len(holding) == len(jobs)


def _fates(job: Job, after: datetime, until: datetime) -> Counter[str]:
    """The states of the moments in between; what is with a broker was CLAIMED."""
    found: Counter[str] = Counter()
    for run in Run.objects.filter(job=job, due_at__gt=after, due_at__lte=until):
        state = "CLAIMED" if run.state == "ENQUEUED" else run.state
        found[state] += run.skipped_count or 1
    return found
