"""Is what DATABASE_URL and BROKER_URL name there? Asked once, before anything is started."""

from __future__ import annotations

import threading
from collections.abc import Callable

import kombu
import psycopg
from django.core.exceptions import ImproperlyConfigured

from config import brokers

DEADLINE = 4.5  # seconds for an answer, name resolution included
OLDEST = 150000  # PostgreSQL's server_version_num


class Unreachable(Exception):
    """The text is one line: the variable, what was seen, what to do. It holds no password."""


def database(url: str) -> None:
    """Raise Unreachable unless a PostgreSQL 15 or newer lets us in."""
    _within_deadline("DATABASE_URL", url, _ask_database)


def broker(url: str) -> None:
    """Raise Unreachable unless the broker lets us in."""
    _within_deadline("BROKER_URL", url, _ask_broker)


def _ask_database(url: str) -> None:
    with psycopg.connect(url, connect_timeout=4) as connection:
        version = connection.info.server_version
    if version < OLDEST:
        raise ValueError(f"PostgreSQL {version // 10000} is too old; 15 or newer is needed")


def _ask_broker(url: str) -> None:
    if brokers.scheme(url) == "pgmq":
        return _ask_database("postgresql" + url[url.index("://") :])
    # One attempt: its own loop would hide the error behind retries.
    with kombu.Connection(url, connect_timeout=4) as connection:
        connection.connect()
    return None


def _within_deadline(variable: str, url: str, ask: Callable[[str], None]) -> None:
    """In a thread, for a name server that hangs heeds no connect time-out."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            ask(url)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(DEADLINE)
    if thread.is_alive():
        raise Unreachable(f"{variable}: no answer within {DEADLINE} s. Check host and port.")
    for error in failures:
        raise Unreachable(_one_line(variable, url, error)) from None


def _one_line(variable: str, url: str, error: Exception) -> str:
    if isinstance(error, ImproperlyConfigured):
        return str(error)
    # A URL that libpq cannot read comes back in its complaint, password and all.
    said = " ".join(str(error).replace(url, "…").split()).rstrip(".?") or type(error).__name__
    return f"{variable}: {said}. Check the address, the password and that the server runs."
