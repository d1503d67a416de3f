"""What of the environment is nonsense, told in one line that names the variable."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from jobs.targets.addresses import AllowList, AllowListError

_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")  # PGMQ makes a table's name of it


def queues(names: Sequence[str]) -> list[str]:
    """ONEBEAT_QUEUES: at least one name that every broker takes."""
    found = [name.strip() for name in names]
    for name in found or [""]:
        if not _QUEUE.fullmatch(name):
            raise ImproperlyConfigured(
                f"ONEBEAT_QUEUES: {name[:80]!r} names no queue. Write one or more names of up to 40"
                " letters, digits, `_`, `.` and `-`, set apart by commas."
            )
    return found


def sealing_keys(keys: Sequence[str]) -> list[str]:
    """ONEBEAT_SEALING_KEYS: Fernet keys, or none. What is said tells nothing of a key."""
    found = [key.strip() for key in keys]
    for place, key in enumerate(found, start=1):
        try:
            Fernet(key)
        except ValueError:
            raise ImproperlyConfigured(
                f"ONEBEAT_SEALING_KEYS: number {place} of {len(found)} is not a Fernet key."
                " Write 32 random bytes in URL-safe base64 each, set apart by commas."
            ) from None
    return found


def trace_url(text: str) -> str:
    """ONEBEAT_TRACE_URL: an address with `{trace}` in it, or empty."""
    if text and not (re.match(r"https?://[^/{}]+/", text) and text.count("{trace}") == 1):
        raise ImproperlyConfigured(
            f"ONEBEAT_TRACE_URL: {text[:80]!r} leads to no trace. Write an address with {{trace}}"
            " in its path or query, as https://traces.example/trace/{trace}."
        )
    return text


def egress(text: str) -> str:
    """ONEBEAT_EGRESS_ALLOW: a list that `AllowList` reads."""
    try:
        AllowList.parse(text)
    except AllowListError as error:
        raise ImproperlyConfigured(f"ONEBEAT_EGRESS_ALLOW: {error}.") from None
    return text
