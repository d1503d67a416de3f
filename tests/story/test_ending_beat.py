"""A beat is asked to end while it waits for a statement."""

from __future__ import annotations

import signal

import psycopg
import pytest
from django.db import connection

from tests.servers import wait_until
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]

_WAITS = """
select count(*) from pg_locks where not granted and relation = 'runs_beat'::regclass
"""


def waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITS)
        return bool(cursor.fetchone()[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_the_look_is_over_and_gives_its_shards_up(
    product: Product, number: signal.Signals
) -> None:
    beat = product.beat()
    product.up()
    with psycopg.connect(connection.connection.info.dsn) as session:
        session.execute("lock table runs_beat")
        wait_until(waits, seconds=30, what="the beat waits for a statement")
        beat.process.send_signal(number)
        assert waits()
    wait_until(lambda: beat.ended, seconds=30, what="it has ended")
    assert beat.process.returncode == 0
    assert [line["event"] for line in product.lines()][-1] == "beat.leaves"
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from runs_beat")
        assert cursor.fetchone() == (0,)
    assert product.errors() == []
