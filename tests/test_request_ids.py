"""An unexpected error is told by a number, and found in the log by it."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from structlog.stdlib import ProcessorFormatter

from runs.dashboard.lists import views as list_views
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is written to standard error, formatted as the product formats it."""
    root, written = logging.getLogger(), io.StringIO()
    formatters = (one.formatter for one in root.handlers)
    handler = logging.StreamHandler(written)
    handler.setFormatter(next(one for one in formatters if isinstance(one, ProcessorFormatter)))
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)


@pytest.fixture
def client() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make.viewer(make.team()))
    return client


@pytest.mark.parametrize("error", [ZeroDivisionError("of the test"), OperationalError("is away")])
def test_an_unexpected_error_shows_its_number_and_no_trace(
    client: Client, log: io.StringIO, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(list_views, "listed", broken)
    answer = client.get("/runs/")
    page = answer.content.decode()
    number = answer.headers["X-Request-ID"]
    assert answer.status_code == 500
    assert number in page
    assert str(error) not in page and "Traceback" not in page and "views.py" not in page
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (found,) = [line for line in lines if line.get("request_id") == number]
    assert str(error) in found["exception"]


def test_every_answer_has_a_number_of_its_own(client: Client) -> None:
    numbers = {client.get(path).headers["X-Request-ID"] for path in ("/jobs/", "/jobs/", "/no/")}
    assert len(numbers) == 3
    assert all(re.fullmatch("[0-9a-f]{32}", number) for number in numbers)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("0af7651916cd43dd8448eb211c80319c", True),
        ("edge-3.7_a-000017", True),
        ("short", False),
        ("x" * 65, False),
        ('"} {"event":"forged', False),
        ("white space in it", False),
        ("ünïcödé-number", False),
        ("", False),
    ],
)
def test_a_proxys_number_is_taken_if_it_is_well_formed(
    client: Client, given: str, taken: bool
) -> None:
    number = client.get("/jobs/", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (number == given) is taken


def test_the_api_tells_the_same_number(
    client: Client, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    team = make.team()
    token = make.token(team, make.editor(team))
    monkeypatch.setattr("runs.dashboard.lists.api.JobsDoor.get", lambda *_: 1 / 0)
    answer = client.get("/api/v1/jobs/", headers={"Authorization": f"Token {token}"})
    assert answer.status_code == 500
    assert answer.json()["request"] == answer.headers["X-Request-ID"]
    assert answer.headers["X-Request-ID"] in log.getvalue()
