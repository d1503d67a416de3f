"""The proxy's faults, seen by a client of PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.proxy import Proxy, address_of
from tests.servers import wait_until


@pytest.fixture
def line(product_url: str) -> Iterator[Proxy]:
    with Proxy(address_of(product_url)) as line:
        yield line


@pytest.fixture
def url(product_url: str, line: Proxy) -> str:
    parts = urlsplit(product_url)
    return f"postgresql://{parts.username}@127.0.0.1:{line.port}{parts.path}"


def there(product_url: str) -> int:
    with psycopg.connect(product_url) as connection:
        row = connection.execute("select count(*) from noted").fetchone()
    assert row is not None
    return int(row[0])


def test_a_commit_whose_answer_is_lost_has_taken_place(
    product_url: str, url: str, line: Proxy
) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("create table noted ()")
    with pytest.raises(psycopg.OperationalError), psycopg.connect(url) as connection:
        connection.execute("insert into noted default values")
        line.lose_answers(1)
        connection.commit()
    wait_until(lambda: there(product_url) == 1, seconds=30, what="it was committed")
    assert line.answers_to_lose == 0
    with psycopg.connect(url) as connection:  # the next one is answered
        connection.execute("insert into noted default values")
    assert there(product_url) == 2


def test_what_hangs_comes_in_the_end_and_a_delay_delays(url: str, line: Proxy) -> None:
    with psycopg.connect(url, autocommit=True) as connection, ThreadPoolExecutor() as aside:
        line.hang()
        asked = aside.submit(connection.execute, "select 1")
        with pytest.raises(TimeoutError):
            asked.result(timeout=0.3)
        line.go_on()
        asked.result(timeout=10)
        line.delay = 0.1
        began = time.monotonic()
        connection.execute("select 1")
        assert time.monotonic() - began >= 0.2


def test_a_cut_ends_a_hang(url: str, line: Proxy) -> None:
    with psycopg.connect(url, autocommit=True) as connection, ThreadPoolExecutor() as aside:
        line.hang()
        asked = aside.submit(connection.execute, "select 1")
        with pytest.raises(TimeoutError):
            asked.result(timeout=0.3)
        line.cut()
        with pytest.raises(psycopg.OperationalError):
            asked.result(timeout=10)
