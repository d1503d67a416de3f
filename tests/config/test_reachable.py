"""A wrong address is one line within five seconds, and the line holds no password."""

from __future__ import annotations

import os
import socket
import time

import pytest

from config import reachable
from tests.servers import free_port


@pytest.mark.usefixtures("database_server")
def test_a_database_that_is_there_is_silent() -> None:
    reachable.database(os.environ["DATABASE_URL"])


@pytest.mark.parametrize(
    "shape",
    [
        "postgresql://u:hidden@127.0.0.1:{port}/x",
        "postgresql://u:hidden@nowhere.invalid/x",
        "postgres:/u:hidden@127.0.0.1/x",
        "postgresql://u:hidden@127.0.0.1:x/y",
    ],
)
def test_a_wrong_database_is_told_in_a_line(shape: str) -> None:
    with pytest.raises(reachable.Unreachable) as caught:
        reachable.database(shape.format(port=free_port()))
    _is_one_good_line(str(caught.value), "DATABASE_URL: ")


@pytest.mark.parametrize(
    "shape",
    [
        "amqp://u:hidden@127.0.0.1:{port}//",
        "redis://:hidden@127.0.0.1:{port}/0",
        "pgmq://u:hidden@127.0.0.1:{port}/x",
        "kafka://u:hidden@127.0.0.1/x",
        "u:hidden@127.0.0.1",
    ],
)
def test_a_wrong_broker_is_told_in_a_line(shape: str) -> None:
    with pytest.raises(reachable.Unreachable) as caught:
        reachable.broker(shape.format(port=free_port()))
    _is_one_good_line(str(caught.value), "BROKER_URL: ")


@pytest.mark.parametrize("scheme", ["postgresql", "amqp", "redis", "pgmq"])
def test_a_server_that_accepts_and_says_nothing_costs_a_few_seconds(scheme: str) -> None:
    ask = reachable.database if scheme == "postgresql" else reachable.broker
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(reachable.Unreachable):
            ask(f"{scheme}://u:hidden@127.0.0.1:{silent.getsockname()[1]}/x")
        assert time.monotonic() - began < 20


def test_what_was_seen_and_what_to_do_are_two_sentences() -> None:
    with pytest.raises(reachable.Unreachable) as caught:
        reachable.database(f"postgresql://u@127.0.0.1:{free_port()}/x")
    rest = str(caught.value).partition("failed: Connection refused. ")[2]
    assert rest == "Check the address, the password and that the server runs."


def _is_one_good_line(text: str, start: str) -> None:
    assert text.startswith(start)
    assert "\n" not in text
    assert "hidden" not in text
