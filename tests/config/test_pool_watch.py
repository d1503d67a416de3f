from __future__ import annotations

from config.pool_watch import PATIENCE, Stall


def test_a_message_that_waits_for_an_idle_pool_is_a_stall_after_a_while() -> None:
    stall = Stall()
    assert not stall.seen({"a"}, active=0, now=100)
    assert not stall.seen({"a"}, active=0, now=100 + PATIENCE - 0.1)
    assert stall.seen({"a", "b"}, active=0, now=100 + PATIENCE)


def test_messages_that_come_and_go_are_none() -> None:
    stall = Stall()
    for second in range(100):
        assert not stall.seen({f"run {second}"}, active=0, now=float(second))


def test_a_busy_pool_lets_messages_wait() -> None:
    stall = Stall()
    for second in range(100):
        assert not stall.seen({"a"}, active=1, now=float(second))
    assert not stall.seen({"a"}, active=0, now=100.0)
    assert stall.seen({"a"}, active=0, now=100.0 + 2 * PATIENCE)


def test_an_idle_worker_is_none() -> None:
    stall = Stall()
    assert not stall.seen(set(), active=0, now=0)
    assert not stall.seen(set(), active=0, now=1000)
