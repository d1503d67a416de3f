"""A database that lets nobody in is one line that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.utils import OperationalError
from environs import Env

from config import databases
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]


def audit(**env: str) -> str:
    """What `manage.py audit` writes where it exits with 2, which it does within a minute."""
    done = subprocess.run(
        [sys.executable, "manage.py", "audit"],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_a_database_that_refuses_is_named() -> None:
    line = audit(DATABASE_URL=f"postgresql://u:hidden@127.0.0.1:{free_port()}/x")
    assert line.startswith("DATABASE_URL: ")
    assert line.endswith("Connection refused. Check the address and that the server runs.")
    assert "hidden" not in line


def test_a_server_that_comes_along_and_was_not_started_is_told_how(tmp_path: Path) -> None:
    line = audit(DATABASE_URL="", BROKER_URL="", ONEBEAT_DATA=str(tmp_path / "a b"))
    assert line.startswith("DATABASE_URL is not set, ")
    assert line.endswith("Start it with `make up`, or name its folder by ONEBEAT_DATA.")
    assert str(tmp_path / "a b") in line


@pytest.mark.django_db
def test_the_error_of_a_statement_is_not_taken_for_a_database_away() -> None:
    with pytest.raises(OperationalError) as caught, connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = 1; select pg_sleep(5)")
    assert databases.away(caught.value, named=True) is None


def test_an_address_with_options_of_its_own_keeps_our_time_outs() -> None:
    url = "postgresql://h/x?options=-c%20search_path%3Dbeat%20-c%20lock_timeout%3D0"
    options = databases.config(url, Env())["OPTIONS"]["options"]
    assert options.startswith("-c search_path=beat ")
    assert options.rindex("lock_timeout=4s") > options.index("lock_timeout=0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("connection failed: refused\n\tIs the server running?", "connection failed: refused"),
        ("Multiple attempts:\n- host: 'a': no\n- host: 'b': refused.\n", "host: 'b': refused"),
        ("", "OperationalError"),
    ],
)
def test_what_libpq_says_is_one_sentence(text: str, said: str) -> None:
    assert databases.last_said(psycopg.OperationalError(text)) == said
