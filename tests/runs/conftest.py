"""A database of the test's own whose clock the test sets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests import virtual_clock as clocks
from tests.story.processes import on_database


@pytest.fixture
def virtual_clock(
    product_url: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[clocks.VirtualClock]:
    """Django's queries of the test go to a database that lives by this clock."""
    with (
        clocks.installed(product_url) as clock,
        on_database(product_url),
        django_db_blocker.unblock(),
    ):
        yield clock
