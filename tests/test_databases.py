from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

import psycopg
import pytest

from tests import databases
from tests.conftest import database_url
from tests.servers import wait_until

NAME = f"onebeat_dropped_{os.getpid()}"
ASLEEP = "select from pg_stat_activity where datname = %s and state = 'active'"


def test_a_database_goes_though_sessions_are_in_it(database_server: None) -> None:
    server = os.environ["DATABASE_URL"]
    databases.create(server, NAME)
    with (
        psycopg.connect(database_url(NAME), autocommit=True) as idle,
        psycopg.connect(database_url(NAME), autocommit=True) as busy,
        psycopg.connect(server, autocommit=True) as observer,
        ThreadPoolExecutor() as threads,
    ):

        def seen(query: LiteralString) -> bool:
            return observer.execute(query, [NAME]).fetchone() is not None

        asleep = threads.submit(busy.execute, "select pg_sleep(60)")
        wait_until(lambda: seen(ASLEEP), seconds=30, what="it sleeps")
        databases.drop(server, NAME)
        with pytest.raises(psycopg.OperationalError):
            asleep.result()
        with pytest.raises(psycopg.OperationalError):
            idle.execute("select 1")
        assert (
            observer.execute("select from pg_database where datname = %s", [NAME]).fetchone()
            is None
        )
