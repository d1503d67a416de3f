"""The cast of most tests; fixtures that start servers and whole databases. Which servers:
tests/plugin.py."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from config import pgmq_schema
from jobs.calendars import kept as kept_calendars
from jobs.models import Team, User
from tests import databases, make, plugin, servers
from tests.api import Api
from tests.pages import Browser

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_calendar_is_remembered() -> None:
    """A version of a calendar that a test wrote is gone with it."""
    kept_calendars.forget()


@pytest.fixture
def team() -> Team:
    return make.team()


@pytest.fixture
def operator(team: Team) -> User:
    return make.operator(team)


@pytest.fixture
def editor(team: Team) -> User:
    return make.editor(team)


@pytest.fixture
def api(team: Team, operator: User) -> Api:
    return Api.of(team, operator)


@pytest.fixture
def browser(operator: User) -> Browser:
    return Browser(operator)


@pytest.fixture(scope="session")
def database_server() -> None:
    """The PostgreSQL of this test run is up."""
    plugin.start_database()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(database_server: None) -> None:
    """pytest-django's hook: whatever touches a database starts the server."""


@pytest.fixture(scope="session")
def template_database(database_server: None) -> Iterator[str]:
    """The name of a migrated database with PGMQ in it, to be copied, never to be used."""
    name = f"onebeat_template_{os.getpid()}"
    databases.create(os.environ["DATABASE_URL"], name)
    url = database_url(name)
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, check=True, env={**os.environ, "DATABASE_URL": url})
    pgmq_schema.install(url)
    yield name
    databases.drop(os.environ["DATABASE_URL"], name)


@pytest.fixture
def product_url(template_database: str) -> Iterator[str]:
    """DATABASE_URL of an empty, migrated database of the test's own, for real processes."""
    with copied(template_database) as url:
        yield url


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.RabbitMQ]:
    """A RabbitMQ of this test run, up; a test that stops it starts it again."""
    servers.require("rabbitmq")
    with servers.running(servers.RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))) as server:
        yield server


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Redis]:
    """A Redis of this test run, up; a test that stops it starts it again."""
    servers.require("redis")
    with servers.running(servers.Redis(tmp_path_factory.mktemp("redis"))) as server:
        yield server


@contextmanager
def copied(template: str) -> Iterator[str]:
    """DATABASE_URL of a copy of this database, which is there for the block."""
    name = f"onebeat_{uuid.uuid4().hex[:12]}"
    databases.create(os.environ["DATABASE_URL"], name, template)
    yield database_url(name)
    databases.drop(os.environ["DATABASE_URL"], name)


def database_url(name: str) -> str:
    """DATABASE_URL with another database's name."""
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()
