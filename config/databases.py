"""DATABASE_URL → Django's DATABASES entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db.utils import OperationalError
from environs import Env, validate

URL_FILE = "postgres.url"  # in the data folder; written by config/embedded.py as it starts


def embedded_url(data: Path) -> str:
    """The address of the PostgreSQL that comes along, as its last start wrote it."""
    file = data / URL_FILE
    if file.exists():
        return file.read_text().strip()
    return f"postgresql://onebeat@/onebeat?host={quote(str(data))}/not-started"


def config(url: str, env: Env) -> dict[str, Any]:
    """One DATABASES entry with the time-outs that every statement has.

    Raises ImproperlyConfigured, naming DATABASE_URL, for a URL that is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL: {error}. {_SHAPE}") from None
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise ImproperlyConfigured(f"DATABASE_URL: not a PostgreSQL address. {_SHAPE}")
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": options.pop("port", str(port or "")),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {
            **_LINE,
            **options,
            # Behind what the address says itself: of two words for one setting the last counts.
            "options": f"{options.get('options', '')} {_session(env)}".strip(),
        },
    }


def away(error: OperationalError, *, named: bool) -> str | None:
    """One line on a database that let nobody in; None for the error of a statement.

    `named`: whether DATABASE_URL is set, and the server is not the one that comes along.
    """
    state = getattr(error.__cause__, "sqlstate", None)
    if state is not None and not state.startswith(_LOST):
        return None
    if named:
        return f"DATABASE_URL: {last_said(error)}. Check the address and that the server runs."
    return (
        f"DATABASE_URL is not set, and of the server that comes along: {last_said(error)}."
        " Start it with `make up`, or name its folder by ONEBEAT_DATA."
    )


_LOST = ("08", "57P")  # SQLSTATE: the connection broke, the server is going down or coming up


def last_said(error: Exception, *, hide: str = "") -> str:
    """What libpq says in the end, without a full stop: each address that it tried has a line,
    and a question may follow («Is the server running …?»), after a tab. `hide` is not
    told."""
    text = str(error).replace(hide, "…") if hide else str(error)
    lines = [line for line in text.splitlines() if line.strip() and line[0] != "\t"]
    return lines[-1].strip().removeprefix("- ").rstrip(".?") if lines else type(error).__name__


_BOUND = validate.Range(1, 600)  # seconds; PostgreSQL takes 0 for no bound at all
# A server whose host is gone says nothing: libpq gives up within about ten seconds.
_LINE = {
    "connect_timeout": 3,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # ms
}
_SHAPE = "Write it as postgresql://user:password@host:5432/name."


def _session(env: Env) -> str:
    # synchronous_commit is said here, whatever the server's default: only the broker's own
    # connections may answer before their commit is on disk (config/pgmq_transport.py).
    settings = {
        "timezone": "UTC",
        "synchronous_commit": "on",
        "statement_timeout": f"{env.int('ONEBEAT_STATEMENT_TIMEOUT', 20, validate=_BOUND)}s",
        "lock_timeout": f"{env.int('ONEBEAT_LOCK_TIMEOUT', 4, validate=_BOUND)}s",
        "idle_in_transaction_session_timeout": "30s",
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())
