"""Is what DATABASE_URL, BROKER_URL and HOST name there? Asked before anything is started."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import kombu
import psycopg
from django.core.exceptions import ImproperlyConfigured

from config import brokers, databases

DEADLINE = 3.5  # seconds for an answer, name resolution included
CONNECT = 3  # seconds for a connection alone
OLDEST = 150000  # PostgreSQL's server_version_num


class Unreachable(Exception):
    """The text is one line: the variable, what was seen, what to do. It holds no password."""


class _Silence(Exception):
    """No answer within DEADLINE."""


def database(url: str) -> None:
    """Raise Unreachable unless a PostgreSQL 15 or newer lets us in."""
    _ask("DATABASE_URL", url, _ask_database)


def broker(url: str) -> None:
    """Raise Unreachable unless the broker lets us in."""
    _ask("BROKER_URL", url, _ask_broker)


def host(name: str, family: socket.AddressFamily) -> None:
    """Raise Unreachable unless the name to listen on stands for an address."""
    try:
        _within_deadline(lambda: socket.getaddrinfo(name, None, family))
    except (OSError, UnicodeError, _Silence):
        raise Unreachable(
            f"HOST={name} stands for no address. Say 127.0.0.1, 0.0.0.0 or an address of this"
            " machine."
        ) from None


def _ask_database(url: str) -> None:
    with psycopg.connect(url, connect_timeout=CONNECT) as connection:
        version = connection.info.server_version
    if version < OLDEST:
        raise ValueError(f"PostgreSQL {version // 10000} is too old; 15 or newer is needed")


def _ask_broker(url: str) -> None:
    if brokers.scheme(url) == "pgmq":
        return _ask_database("postgresql" + url[url.index("://") :])
    # One attempt: its own loop would hide the error behind retries.
    with kombu.Connection(url, connect_timeout=CONNECT) as connection:
        connection.connect()
    return None


def _ask(variable: str, url: str, question: Callable[[str], None]) -> None:
    try:
        _within_deadline(lambda: question(url))
    except _Silence:
        text = f"{variable}: no answer within {DEADLINE} s. Check host and port."
        raise Unreachable(text) from None
    except Exception as error:
        raise Unreachable(_one_line(variable, url, error)) from None


def _within_deadline(question: Callable[[], object]) -> None:
    """In a thread, for a name server that hangs heeds no connect time-out."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            question()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    if thread.is_alive():
        raise _Silence
    for error in failures:
        raise error


def _one_line(variable: str, url: str, error: Exception) -> str:
    if isinstance(error, ImproperlyConfigured):
        return str(error)
    # A URL that libpq cannot read comes back in its complaint, password and all.
    said = databases.last_said(error, hide=url)
    return f"{variable}: {said}. Check the address, the password and that the server runs."
