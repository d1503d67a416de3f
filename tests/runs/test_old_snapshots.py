"""A transaction that is left open keeps the dead rows of everything since (K136)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from structlog.testing import capture_logs

from jobs import clock
from runs import enqueue, old_snapshots
from runs.bounds import MARGIN
from runs.models import Run
from runs.states import State
from tests import make
from tests.bench.look import idle_buffers

pytestmark = pytest.mark.django_db(transaction=True)

THROUGH = 1_000  # a page of an index holds fewer entries


@pytest.fixture
def forgotten() -> Iterator[psycopg.Connection]:
    """A session that has read something and does not end its transaction."""
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn) as session:
        session.execute("set transaction isolation level repeatable read")
        session.execute("select count(*) from jobs_due").fetchone()
        yield session
        session.rollback()


def buffers(statement: str, **given: Any) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"explain (analyze, buffers, format json) {statement}", given)
        (answer,) = cursor.fetchone()
    plan = answer[0]["Plan"]
    assert plan["Actual Rows"] == 0
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_looks_read_no_more_however_many_dead_rows_lie_below_them(
    forgotten: psycopg.Connection,
) -> None:
    job = make.job(make.team())
    run = make.run(job, State.ENQUEUED)
    ahead = clock.now() + timedelta(hours=1)
    with connection.cursor() as cursor:
        for back in range(THROUGH):
            at = ahead - timedelta(hours=2, seconds=back)
            cursor.execute("update jobs_due set at = %s", [at])
            cursor.execute(
                "update runs_run set state = %s, send_at = %s",
                [State.CLAIMED if back % 2 else State.RETRYING, at],
            )
        cursor.execute("update jobs_due set at = %s", [ahead])
        cursor.execute("update runs_run set send_at = %s", [ahead])
        # What an analyze in an earlier test, of other rows, left behind would choose the plan.
        cursor.execute("analyze jobs_due, runs_run")
    now = clock.now()
    bounded = {"above": now - MARGIN, "now": now}
    assert idle_buffers(**bounded) <= 10
    assert buffers(enqueue._LOCK, **bounded, limit=enqueue.BATCH) <= 10
    everything = {**bounded, "above": now - timedelta(days=1)}
    assert buffers(enqueue._LOCK, **everything, limit=enqueue.BATCH) > 30, "what the bound spares"
    assert Run.objects.filter(id=run.id, send_at=ahead).exists()


def test_one_that_is_old_is_an_alarm(
    forgotten: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not old_snapshots.alarm()
    monkeypatch.setattr(old_snapshots, "OLD", timedelta(0))
    with capture_logs() as logs:
        assert old_snapshots.alarm()
    (line,) = logs
    assert line["event"] == "database.old_snapshot"
    assert line["who"] == f"session {forgotten.info.backend_pid}"


def test_who_has_ended_holds_nothing(forgotten: psycopg.Connection) -> None:
    held = old_snapshots.oldest()
    assert held is not None and held.who == f"session {forgotten.info.backend_pid}"
    forgotten.commit()
    held = old_snapshots.oldest()
    assert held is None or held.who != f"session {forgotten.info.backend_pid}"
