"""Arrays for statements over many rows. PURE."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID


def array(values: Iterable[UUID | int | str | datetime | None]) -> str:
    """An array in PostgreSQL's own text, of values that need no quotes in it: ids, keys, numbers
    and instants. The driver would look at each value several times, and take as long over a
    batch as the server does."""
    return "{" + ",".join("null" if value is None else str(value) for value in values) + "}"
