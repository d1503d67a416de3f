"""Days on which clocks change, played through minute by minute on a database whose clock the test
sets: every moment in thirty zones becomes one run, in its own minute.

Two days by default; under ONEBEAT_PROOF=whole as many as it takes for each zone to move its clock
both ways, if it ever did since 2007.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.db.models import F

from jobs import clock
from jobs.models import Job
from runs.audits import audit
from runs.models import Run
from tests import make
from tests.jobs import enumeration
from tests.jobs.moments import DSTS, PLACES, WHOLE
from tests.runs.playing import MINUTE, Beat
from tests.virtual_clock import VirtualClock

BEGIN, END = datetime(2007, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
DAY, BEFORE = timedelta(days=1), timedelta(hours=9)
EXPRESSIONS = (
    *("0 0 * * *", "30 1 * * *", "30 2,23 * * *"),
    *("15,45 0-3 * * *", "*/20 1-3 * * *", "0 * * * *"),
)
SUMMER_BEGINS, SUMMER_ENDS = (
    datetime(2026, 3, 29, 1, tzinfo=UTC),
    datetime(2026, 10, 25, 1, tzinfo=UTC),
)


def days() -> Iterator[datetime]:
    """Changes of the clock, newest first, each of which moves a clock that no other has yet moved
    that way."""
    moves = {
        (at, zone, by > timedelta(0))
        for zone in PLACES
        for at, by in enumeration.changes(zone, BEGIN, END)
    }
    seen: set[tuple[str, bool]] = set()
    for at in sorted({at for at, *_ in moves}, reverse=True):
        moved = {(zone, on) for when, zone, on in moves if at - BEFORE < when < at + DAY - BEFORE}
        if moved - seen:
            seen |= moved
            yield at


@pytest.mark.parametrize("change", days() if WHOLE else (SUMMER_BEGINS, SUMMER_ENDS), ids=str)
def test_a_day_on_which_clocks_change(change: datetime, virtual_clock: VirtualClock) -> None:
    began = time.process_time()
    after, until = change - BEFORE, change - BEFORE + DAY
    virtual_clock.stand_at(after)
    expected = {
        (made.id, moment)
        for zone, expression, dst in product(PLACES, EXPRESSIONS, DSTS)
        for made in [_job(zone, expression, dst)]
        for moment in enumeration.moments(expression, zone, dst, after, until)
    }
    Beat(virtual_clock).play(after, until)

    assert Counter(Run.objects.values_list("job_id", "due_at")) == Counter(expected)
    assert not Run.objects.exclude(created_at=F("due_at"), state="CLAIMED").exists()

    virtual_clock.stand_at(until + audit.SETTLED)
    report = audit.report(after)
    assert (report.due, report.gaps) == (len(expected), [])
    assert clock.now() == until + MINUTE
    assert time.process_time() - began < 60


def _job(zone: str, expression: str, dst: str) -> Job:
    schedule = {"cron": expression, "timezone": zone, "dst": dst}
    return make.job(make.team(), name=f"{expression} {zone} {dst}", schedule=schedule)
