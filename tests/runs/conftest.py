"""The cast of most tests here, and a database of the test's own whose clock the test sets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from jobs.models import Team, User
from tests import make
from tests import virtual_clock as clocks
from tests.api import Api
from tests.pages import Browser
from tests.story.processes import on_database


@pytest.fixture
def team() -> Team:
    return make.team()


@pytest.fixture
def operator(team: Team) -> User:
    return make.operator(team)


@pytest.fixture
def api(team: Team, operator: User) -> Api:
    return Api.of(team, operator)


@pytest.fixture
def browser(operator: User) -> Browser:
    return Browser(operator)


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
