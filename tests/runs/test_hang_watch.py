"""Who waits too long for the database is cut, and nobody else."""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Iterator

import pytest

from runs import persist
from runs.hang_watch import HangWatch
from tests.servers import wait_until

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for ends in made:
        for end in ends:
            end.close()


def is_cut(pair: Pair) -> bool:
    pair[1].setblocking(False)
    try:
        return pair[1].recv(1) == b""
    except BlockingIOError:
        return False


def test_a_block_that_takes_longer_loses_its_line(pairs: list[Pair]) -> None:
    with HangWatch().limit(0.05, lambda: pairs[0][0]):
        wait_until(lambda: is_cut(pairs[0]), seconds=30, what="the line is cut")


def test_a_shorter_limit_is_held_while_a_longer_one_is_waited_for(pairs: list[Pair]) -> None:
    watch = HangWatch()
    with watch.limit(60, lambda: pairs[0][0]), watch.limit(0.05, lambda: pairs[1][0]):
        wait_until(lambda: is_cut(pairs[1]), seconds=30, what="the second line is cut")
        assert not is_cut(pairs[0])


def test_a_block_that_has_ended_is_never_cut(pairs: list[Pair]) -> None:
    watch = HangWatch()
    with watch.limit(0.05, lambda: pairs[0][0]):
        pass
    with watch.limit(0.1, lambda: pairs[1][0]):  # looked at after the first would have been
        wait_until(lambda: is_cut(pairs[1]), seconds=30, what="the second line is cut")
    assert not is_cut(pairs[0])


def test_a_line_that_is_gone_harms_no_other(pairs: list[Pair]) -> None:
    watch = HangWatch()
    pairs[0][0].close()
    with (
        watch.limit(0.01, lambda: pairs[0][0]),
        watch.limit(0.02, lambda: None),
        watch.limit(0.05, lambda: pairs[1][0]),
    ):
        wait_until(lambda: is_cut(pairs[1]), seconds=30, what="the line is cut")


def test_one_thread_watches_over_all(pairs: list[Pair]) -> None:
    watch, before = HangWatch(), threading.active_count()
    for _ in range(50):
        with watch.limit(60, lambda: pairs[0][0]):
            assert threading.active_count() == before + 1


def test_a_forked_process_has_a_watch_of_its_own(pairs: list[Pair]) -> None:
    with persist._watch.limit(60, lambda: pairs[0][0]):
        child = multiprocessing.get_context("fork").Process(target=_waits_long, args=(pairs[1],))
        child.start()
        child.join(30)
    assert child.exitcode == 0
    assert not is_cut(pairs[0])


def _waits_long(pair: Pair) -> None:
    with persist._watch.limit(0.05, lambda: pair[0]):
        wait_until(lambda: is_cut(pair), seconds=30, what="the line is cut")
