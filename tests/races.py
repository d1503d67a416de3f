"""What a race needs: several things that begin at one instant, again and again."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from django.db import connection

ROUNDS = 200 if os.environ.get("ONEBEAT_STORY") == "full" else 20
_MOST = 4  # things at one instant
_LONGEST = 60.0  # seconds; a lock that nobody lets go ends by the database's time-out before

_processes = multiprocessing.get_context("fork")
_inherited: list[Any] = []  # the parent's connection, which a child must not close


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call came to, its exception where it raised one; each in a process, and with a
    database connection, of its own. A call is what pickle knows: a function of a module, or
    partial(function, values). An exception comes back with its type and its text."""
    racers = _racers(connection.settings_dict["NAME"])[: len(calls)]
    for racer, call in zip(racers, calls, strict=True):
        racer.begin(call, of=len(calls))
    try:
        return [racer.outcome() for racer in racers]
    except Hangs as error:
        where = "\n".join(racer.end() for racer in _racers(connection.settings_dict["NAME"]))
        _racers.cache_clear()  # the next race has new ones
        raise Hangs(f"{error}; the racers stood at:\n{where}") from None


class Hangs(AssertionError):
    """A call came to no outcome within a minute."""


@cache
def _racers(database: str) -> list[_Racer]:
    """Processes that were forked while Django's connection was to this database."""
    starts = {count: _processes.Barrier(count) for count in range(1, _MOST + 1)}
    return [_Racer(starts) for _ in range(_MOST)]


class _Racer:
    def __init__(self, starts: dict[int, Any]) -> None:
        self._pipe, child = _processes.Pipe()
        self._starts = starts  # a Process forgets them, and others would get their memory
        self._stack = tempfile.TemporaryFile("w+")  # noqa: SIM115 — lives as long as the racer
        given = (child, starts, self._stack)
        self._process = _processes.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        child.close()

    def begin(self, call: Callable[[], Any], *, of: int) -> None:
        self._pipe.send((call, of))

    def outcome(self) -> Any:
        if not self._pipe.poll(_LONGEST):
            raise Hangs("no outcome: it hangs")
        found, kind, text = self._pipe.recv()
        return found if kind is None else _exception(kind, text)

    def end(self) -> str:
        """Kill it; where it stood."""
        os.kill(self._process.pid or 0, signal.SIGUSR1)
        deadline = time.monotonic() + 5
        while not self._stack.tell() and time.monotonic() < deadline:
            time.sleep(0.05)
            self._stack.seek(0, os.SEEK_END)
        self._stack.seek(0)
        self._process.kill()
        return self._stack.read()


def _serve(pipe: Any, starts: dict[int, Any], stack: Any) -> None:
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
    _inherited.append(connection.connection)
    connection.connection = None
    while True:
        try:
            call, of = pipe.recv()
        except EOFError:  # the tests have ended
            os._exit(0)
        pipe.send(_outcome(call, starts[of]))


def _outcome(call: Callable[[], Any], start: Any) -> tuple[Any, type[Exception] | None, str]:
    try:
        connection.ensure_connection()
        start.wait(timeout=_LONGEST / 2)
        return call(), None, ""
    except Exception as error:
        return None, type(error), str(error)
    finally:
        connection.close()


def _exception(kind: type[Exception], text: str) -> Exception:
    error = kind.__new__(kind)
    error.args = (text,)
    return error
