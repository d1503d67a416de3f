"""Many tries in one test, each as if it were the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction


@contextmanager
def undone() -> Iterator[None]:
    """What is written meanwhile is taken back. For a test whose tries differ in nothing but a
    name: what it takes to set each up by itself is most of the time that it needs."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
