"""The cast of these tests: the same as of runs."""

from __future__ import annotations

import pytest

from jobs.models import Team, User
from tests import make
from tests.api import Api
from tests.pages import Browser


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
