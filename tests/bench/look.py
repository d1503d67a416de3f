"""What one look of the claim costs: buffers and milliseconds, with nothing due and with some."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from jobs import clock
from runs import claim, claim_rows
from runs.bounds import MARGIN
from tests.bench import store

REPEATS = 100
SHARDS = list(range(256))


@dataclass(frozen=True)
class Costs:
    """Milliseconds of a claim (medians) and the buffers that its look reads."""

    registered: int
    idle_ms: float
    hundred_due_ms: float
    idle_buffers: int


def costs(registered: int) -> Costs:
    """Nothing of it stays: what was claimed is rolled back."""
    now = clock.now()
    return Costs(
        registered=registered,
        idle_ms=_median_ms(lambda: _claim(clock.now())),
        hundred_due_ms=_median_ms(_claim_a_hundred, repeats=10),
        idle_buffers=idle_buffers(above=now - MARGIN, now=now),
    )


def idle_buffers(*, above: datetime, now: datetime) -> int:
    """Buffers, shared, hit and read, of the claim's own statement when nothing is due."""
    look: dict[str, Any] = {"above": above, "now": now, "shards": SHARDS, "limit": claim.BATCH}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"explain (analyze, buffers, format json) {claim_rows._LOCK_DUE.format(only='')}", look
        )
        (answer,) = cursor.fetchone()
    plan = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    assert plan["Actual Rows"] == 0, "something was due"
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _claim(now: datetime) -> None:
    claim.due_jobs(now, shards=SHARDS, above=now - MARGIN)


def _claim_a_hundred() -> float:
    """Seconds that the claim of a hundred due jobs takes."""
    with transaction.atomic():
        minute = clock.now().replace(second=0, microsecond=0)
        store.make_due(100, minute)
        started = time.perf_counter()
        _claim(minute + timedelta(seconds=2))
        taken = time.perf_counter() - started
        transaction.set_rollback(True)
    return taken


def _median_ms(do: Callable[[], float | None], *, repeats: int = REPEATS) -> float:
    """Of what `do` says it took, or of its whole call."""
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        said = do()
        taken.append(time.perf_counter() - started if said is None else said)
    return round(statistics.median(taken) * 1000, 2)
