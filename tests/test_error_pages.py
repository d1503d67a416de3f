"""What a person sees where nothing can be shown: a page that says what to do, and no trace."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from django.test import Client

from tests import make

pytestmark = pytest.mark.django_db
TOO_LARGE = {"name": "x" * 300_000}


@pytest.fixture
def client() -> Client:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.force_login(make.viewer(make.team()))
    return client


def check(answer: Any, status: int, *words: str) -> None:
    """It is a page with its look, says so, and leads on."""
    page = answer.content.decode()
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith("text/html")
    assert [one for one in words if one not in text] == []
    (look,) = re.findall(r'rel="stylesheet" href="[^"]*?([a-z]+)(?:\.[0-9a-f]+)?\.css"', page)[:1]
    assert finders.find(f"{look}.css")
    assert 'name="viewport"' in page
    assert 'href="/"' in page or "Sign in" in text
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_what_is_not_there(client: Client) -> None:
    for reader in (client, Client()):
        check(reader.get("/nowhere/"), 404, "Not found", "There is nothing at this address")


def test_what_is_not_allowed(client: Client) -> None:
    job = make.job(make.team())
    check(client.get(f"/jobs/{job.id}/edit/"), 403, "Not allowed", "Ask an admin of the team.")


def test_the_address_of_a_form(client: Client) -> None:
    job = make.job(make.team())
    answer = client.get(f"/jobs/{job.id}/pause/")
    check(answer, 405, "Nothing to show here", "Nothing was changed.")
    assert answer.headers["Allow"] == "POST"
    assert client.post("/api/v1/overview/").json()["status"] in (401, 405)


def test_a_form_of_a_page_that_is_too_old(client: Client) -> None:
    check(client.post("/sign-out/"), 403, "Please send it again", "Nothing was changed.")


def test_a_request_that_is_too_large(client: Client) -> None:
    check(Client().post("/sign-in/", TOO_LARGE), 400, "Not understood", "Nothing was changed.")


def test_pages_that_ask_too_often(client: Client, settings: Any) -> None:
    settings.POLLS = 0
    answer = client.get("/runs/live/")
    check(answer, 429, "That was too often", f"Ask again in {answer.headers['Retry-After']} s.")


@pytest.mark.parametrize("path", ["/", "/runs/", "/nowhere/", "/sign-in/"])
def test_while_the_database_is_away(
    client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection to server at 10.0.0.7 failed: refused")

    monkeypatch.setattr(CursorWrapper, "execute", away)
    answer = client.get(path)
    check(answer, 500, "Something broke here", answer.headers["X-Request-ID"])
    page = answer.content.decode()
    assert not [word for word in ("10.0.0.7", "Traceback", "OperationalError") if word in page]
