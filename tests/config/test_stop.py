from __future__ import annotations

import os
import signal
import threading
import time

from config.stop import Stop


def test_it_waits_until_it_is_asked() -> None:
    stop = Stop()
    assert not stop.wait(0.01)
    threading.Timer(0.05, stop.ask).start()
    began = time.monotonic()
    assert stop.wait(30)
    assert time.monotonic() - began < 20
    assert stop.wait(30)


def test_a_storm_of_signals_does_not_lock_it_up() -> None:
    stop = Stop()
    before = signal.signal(signal.SIGUSR1, stop.ask)
    try:
        for _ in range(2_000):
            os.kill(os.getpid(), signal.SIGUSR1)
        assert stop.asked
        assert stop.wait(30)
    finally:
        signal.signal(signal.SIGUSR1, before)
