"""From where an act comes: the door, the network address, the token and the id of the request.

Bound by the doors and read by whoever writes an act down, so that no rule hands it through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

PAGE, API, ADMIN, COMMAND, SYSTEM = DOORS = ("page", "api", "admin", "command", "system")


@dataclass(frozen=True)
class Whence:
    """`door` is one of DOORS; `token` the beginning of the token that was shown."""

    door: str = SYSTEM
    address: str | None = None
    token: str = ""
    request_id: str = ""


_HERE: ContextVar[Whence | None] = ContextVar("whence", default=None)


def here() -> Whence:
    """From where whatever happens now comes; the system itself where nobody asked."""
    return _HERE.get() or Whence()


@contextmanager
def bound(whence: Whence) -> Iterator[None]:
    """What happens within comes from there."""
    before = _HERE.set(whence)
    try:
        yield
    finally:
        _HERE.reset(before)


def narrow(**known: Any) -> None:
    """More is known by now of the request under way."""
    if whence := _HERE.get():
        _HERE.set(replace(whence, **known))
