"""What must hold before a process serves: settings in force, the database's promises, secrets.

`manage.py check --deploy` shows what can be seen without a database; beats and workers refuse to
start (`at_start`) on anything here, each of which would lose or double runs, or open the door.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection

from jobs.targets.addresses import AllowList, AllowListError

OLDEST = 150000  # PostgreSQL's server_version_num
_BOUNDS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
_DURABLE = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "remote_apply"),
}


@register(Tags.security, deploy=True)
def production(app_configs: object, **_: Any) -> list[Error]:
    """What an installation that serves anybody must have."""
    return [*_secrets(), *_faults(), *_debug(), *_egress(), *_zones()]


def at_start(pinned: Mapping[str, object], conf: Mapping[str, Any]) -> None:
    """Raise ImproperlyConfigured, in one line, unless this process may serve.

    `pinned` are the Celery settings that must be in force, `conf` those that are. With
    ONEBEAT_DEBUG on, an installation of a developer's own, secrets may be missing and faults armed.
    """
    found = [*_egress(), *_zones(), *_celery(pinned, conf), *_database()]
    if not settings.DEBUG:
        found += [*_secrets(), *_faults()]
    elif settings.SECURE:
        found += _debug()
    if found:
        raise ImproperlyConfigured("; ".join(f"{error.msg} {error.hint}" for error in found))


def _secrets() -> Iterator[Error]:
    if settings.SECRET_KEY == settings.DEFAULT_SECRET_KEY:
        hint = "Set it to 50 or more random characters."
        yield Error("SECRET_KEY is the default one.", hint=hint, id="onebeat.E001")
    if not settings.SEALING_KEYS:
        hint = "Set it to a Fernet key (32 random bytes in URL-safe base64)."
        yield Error("ONEBEAT_SEALING_KEYS is not set.", hint=hint, id="onebeat.E002")


def _faults() -> Iterator[Error]:
    if settings.FAULTS:
        yield Error(
            f"ONEBEAT_FAULTS arms {', '.join(settings.FAULTS)[:200]}: runs would be struck.",
            hint="Take it out of the environment; only tests arm faults, with ONEBEAT_DEBUG.",
            id="onebeat.E020",
        )


def _debug() -> Iterator[Error]:
    if settings.DEBUG:
        hint = "Leave it unset where anybody is served."
        yield Error("ONEBEAT_DEBUG is on.", hint=hint, id="onebeat.E003")


def _egress() -> Iterator[Error]:
    try:
        is_open = AllowList.parse(settings.EGRESS_ALLOW).is_open
    except AllowListError as error:
        yield Error(f"ONEBEAT_EGRESS_ALLOW: {error}.", hint="", id="onebeat.E004")
        return
    if is_open:
        yield Error(
            "ONEBEAT_EGRESS_ALLOW opens every address inside to targets.",
            hint="List the networks that targets may reach, as 10.1.0.0/16:443.",
            id="onebeat.E005",
        )


def _zones() -> Iterator[Error]:
    if zoneinfo.TZPATH:
        yield Error(
            "Time zones come from this host, not from the pinned tzdata package.",
            hint="Start the process with PYTHONTZPATH set and empty.",
            id="onebeat.E006",
        )


def _celery(pinned: Mapping[str, object], conf: Mapping[str, Any]) -> Iterator[Error]:
    for name, value in pinned.items():
        if conf[name] != value:
            yield Error(
                f"Celery's {name} is {conf[name]!r}, not {value!r}.",
                hint="Take it out of the command line and the environment.",
                id="onebeat.E007",
            )


def _database() -> Iterator[Error]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("select current_setting('server_version_num')::int")
            (version,) = cursor.fetchone()
            cursor.execute(
                "select name, setting from pg_settings where name = any(%s)",
                [[*_DURABLE, *_BOUNDS]],
            )
            in_force = dict(cursor.fetchall())
    except DatabaseError as error:
        reason = (str(error).splitlines() or ["no answer"])[0]
        hint = "Start it, or mend the address."
        yield Error(f"DATABASE_URL: {reason}.", hint=hint, id="onebeat.E008")
        return
    yield from _promises(version, in_force)


def _promises(version: int, in_force: Mapping[str, str]) -> Iterator[Error]:
    """What is wrong with a server of this version and with these settings."""
    if version < OLDEST:
        yield Error(
            f"PostgreSQL {version // 10000} is too old.",
            hint="15 or newer is needed.",
            id="onebeat.E009",
        )
    for name, allowed in _DURABLE.items():
        if in_force[name] not in allowed:
            yield Error(
                f"PostgreSQL's {name} is {in_force[name]}: a crash could lose committed runs.",
                hint="Turn it on.",
                id="onebeat.E010",
            )
    if unbounded := [name for name in _BOUNDS if in_force[name] == "0"]:
        yield Error(
            f"PostgreSQL's {', '.join(unbounded)} is not in force: a pooler between may keep the"
            " start-up parameter «options» back, and a statement could hang for ever.",
            hint="Connect past the pooler, or say it to the role: alter role … set lock_timeout …",
            id="onebeat.E011",
        )
