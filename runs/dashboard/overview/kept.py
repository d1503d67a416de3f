"""What takes long to count is counted once in a while by each process, however many ask."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeVar
from uuid import UUID

from django.core.cache import cache

SECONDS = 60


class Counted(Protocol):
    """`is_large`: it takes long to count. `at`: when it was counted, where that was not just
    now."""

    @property
    def at(self) -> datetime | None: ...
    @property
    def is_large(self) -> bool: ...


Found = TypeVar("Found", bound=Counted)


def lately(name: str, teams: Collection[UUID], now: datetime, count: Callable[[], Found]) -> Found:
    """What `count` finds of these teams; where that is large, what it found within the last
    SECONDS, which says when that was."""
    whose = hashlib.sha256(",".join(sorted(map(str, teams))).encode()).hexdigest()
    key = f"{name}-{whose}"
    kept: Found | None = cache.get(key)
    if kept is not None:
        return kept
    found = count()
    if found.is_large:
        found = replace(found, at=now)  # type: ignore[type-var]
        cache.set(key, found, SECONDS)
    return found
