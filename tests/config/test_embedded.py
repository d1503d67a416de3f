"""The PostgreSQL that comes along, for real: start, stop, crash, start again."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config import cluster, embedded, pgmq_schema
from tests.servers import wait_until


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    embedded.Server(embedded.url(tmp_path), tmp_path / "postgres").stop()


def connected(server: embedded.Server) -> psycopg.Connection:
    """`options`: PGOPTIONS, which the PGMQ transport sets, would let commits be lost."""
    return psycopg.connect(server.url, options="")


def ask(server: embedded.Server, query: str) -> object:
    with connected(server) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def test_a_second_start_takes_over_the_running_server(data: Path) -> None:
    first = embedded.start(data)
    second = embedded.start(data)
    assert second == first
    assert second.pid == first.pid is not None


def test_what_was_committed_is_there_after_stop_and_start(data: Path) -> None:
    server = embedded.start(data)
    with connected(server) as connection:
        connection.execute("create table kept as select 42 as answer")
    server.stop()
    assert server.pid is None
    assert ask(embedded.start(data), "select answer from kept") == 42


def test_a_killed_server_starts_again_with_its_data(data: Path) -> None:
    server = embedded.start(data)
    with connected(server) as connection:
        connection.execute("create table kept as select 42 as answer")
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    again = embedded.start(data)
    wait_until(lambda: again.pid not in (None, pid), seconds=30, what="a new postmaster")
    assert ask(again, "select answer from kept") == 42


def test_a_stale_pid_file_of_another_process_is_no_obstacle(data: Path) -> None:
    embedded.start(data).stop()
    (data / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{data}\n")
    assert embedded.start(data).pid not in (None, os.getpid())


def test_half_a_cluster_is_made_anew(data: Path) -> None:
    (data / "postgres" / "base").mkdir(parents=True)
    assert embedded.start(data).pid is not None


def test_stopping_cuts_open_transactions_and_does_not_wait_for_them(
    data: Path,
) -> None:
    server = embedded.start(data)
    connection = connected(server)
    connection.execute("select 1")
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 20
    assert server.pid is None
    with pytest.raises(psycopg.OperationalError):
        connection.execute("select 1")


@pytest.mark.parametrize("name", cluster.DURABLE)
def test_a_commit_is_on_disk_when_it_answers(data: Path, name: str) -> None:
    assert ask(embedded.start(data), f"select current_setting('{name}')") == "on"


def test_a_server_made_forgetful_is_refused(data: Path) -> None:
    server = embedded.start(data)
    host = str(embedded.url(data).partition("host=")[2])
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as db:
        db.execute("alter system set fsync = off")
    server.stop()
    with pytest.raises(cluster.StartFailed, match="fsync off"):
        embedded.start(data)


def test_the_products_role_is_no_superuser_but_installs_pgmq(data: Path) -> None:
    server = embedded.start(data)
    assert ask(server, "select rolsuper from pg_roles where rolname = current_user") is False
    pgmq_schema.install(server.url)
    pgmq_schema.install(server.url)
    assert ask(server, "select count(*) from pgmq.meta") == 0


def test_a_deep_folder_gets_a_short_socket_path_that_is_private(data: Path) -> None:
    deep = data / ("d" * 90) / "it's, deep"
    deep.mkdir(parents=True)
    server = embedded.start(deep)
    try:
        assert ask(server, "select 1") == 1
        folder = Path(server.url.partition("host=")[2])
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        server.stop()


def test_a_socket_folder_of_someone_else_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = data / "elsewhere"
    elsewhere.mkdir()
    (data / "planted").symlink_to(elsewhere)
    monkeypatch.setattr(cluster, "socket_folder", lambda _: data / "planted")
    with pytest.raises(cluster.StartFailed, match="belongs to someone else"):
        embedded.start(data)
