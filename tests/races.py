"""What a race needs: several things that begin at one instant, again and again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from django.db import connection

ROUNDS = 200 if os.environ.get("ONEBEAT_STORY") == "full" else 50


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call came to, its exception where it raised one; each in a thread, and with a
    database connection, of its own."""
    outcomes: list[Any] = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def begin(number: int) -> None:
        try:
            connection.ensure_connection()
            start.wait(timeout=10)
            outcomes[number] = calls[number]()
        except Exception as error:
            outcomes[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return outcomes
