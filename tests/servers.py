"""Servers of the tests' own: each on a free port, in a temporary folder, ended by process id.

Nothing here touches a server that the machine runs anyway.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

import kombu
import psycopg
import pytest

RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the packaged wrapper changes user
POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")
PGBOUNCER = Path("/usr/sbin/pgbouncer")


class Server(Protocol):
    """A server that a test may stop and start again; its data and its address stay."""

    url: str

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Broker(Server, Protocol):
    """A server of messages, which may also be killed, and lose them all."""

    def kill(self) -> None:
        """SIGKILL; its data stays."""

    def wipe(self) -> None:
        """Every message and queue is gone; afterwards it is up."""


# ── what this machine has ────────────────────────────────────────────────────────────────


def missing(name: str) -> str | None:
    """Why `name` (rabbitmq, redis, postgresql-15, pgbouncer, chromium, faketime) cannot be used
    here; None if it can."""
    found = {
        "rabbitmq": RABBITMQ.exists() and bool(shutil.which("epmd")),
        "redis": bool(shutil.which("redis-server")),
        "postgresql-15": POSTGRES_15.exists(),
        "pgbouncer": PGBOUNCER.exists(),
        "chromium": bool(shutil.which("chromium")),
        "faketime": bool(shutil.which("faketime")),
    }[name]
    return None if found else f"{name} is not installed"


def require(name: str) -> None:
    """Skip the test where `name` is missing; fail it under ONEBEAT_REQUIRE=all."""
    reason = missing(name)
    if reason and os.environ.get("ONEBEAT_REQUIRE") == "all":
        pytest.fail(f"{reason}, and ONEBEAT_REQUIRE=all")
    if reason:
        pytest.skip(reason)


# ── processes ────────────────────────────────────────────────────────────────────────────


def free_port() -> int:
    """A port of the loopback interface that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_until(condition: Callable[[], object], *, seconds: float, what: str) -> None:
    """Poll until `condition` holds; an error of its own counts as "not yet"."""
    deadline = time.monotonic() + seconds
    error: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except Exception as raised:
            error = raised
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what} ({error})")


class Child:
    """One process in a session of its own, its output in a file."""

    def __init__(self, words: Sequence[str], *, log: Path, env: dict[str, str] | None = None):
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                words,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process.poll() is not None

    def end(self, *, within: float = 10) -> None:
        """SIGTERM, then SIGKILL to what is left of its session."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(within)
        self.kill()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(10)


# ── brokers ──────────────────────────────────────────────────────────────────────────────


class Redis:
    """Redis that keeps its data on disk, so that a restart loses nothing."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        words = ["redis-server", "--port", str(self._port), "--bind", "127.0.0.1"]
        disk = ["--dir", str(self._folder), "--appendonly", "yes", "--save", ""]
        self._child = Child([*words, *disk], log=self._folder / "redis.log")
        wait_until(lambda: _answers(self.url), seconds=30, what=f"Redis, see {self._child.log}")

    def stop(self) -> None:
        self._child.end()

    def kill(self) -> None:
        self._child.kill()

    def wipe(self) -> None:
        with socket.create_connection(("127.0.0.1", self._port), timeout=10) as line:
            line.sendall(b"FLUSHALL\r\n")
            assert line.recv(100).startswith(b"+OK")


class RabbitMQ:
    """One node with a name, ports, an epmd and folders of its own; works as root, too."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._port = free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self._port}//"
        self._env = self._environment(epmd_port=free_port(), dist_port=free_port())

    def start(self) -> None:
        # An epmd that Erlang starts by itself would outlive the node.
        self._epmd = Child(["epmd"], log=self._folder / "epmd.log", env=self._env)
        log = self._folder / "rabbitmq.log"
        self._child = Child([str(RABBITMQ.resolve())], log=log, env=self._env)
        wait_until(lambda: _answers(self.url), seconds=90, what=f"RabbitMQ, see {log}")

    def stop(self) -> None:
        self._child.end(within=20)
        self._epmd.end()

    def kill(self) -> None:
        self._child.kill()
        self._epmd.kill()

    def wipe(self) -> None:
        self.kill()
        shutil.rmtree(self._folder / "mnesia")
        self.start()

    def _environment(self, *, epmd_port: int, dist_port: int) -> dict[str, str]:
        folder = str(self._folder)
        (self._folder / "rabbitmq.conf").write_text("loopback_users.guest = true\n")
        (self._folder / "enabled_plugins").write_text("[].\n")
        return {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"onebeat{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(dist_port),
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/enabled_plugins",
            "RABBITMQ_PID_FILE": f"{folder}/pid",
        }


def _answers(url: str) -> bool:
    with kombu.Connection(url, connect_timeout=2) as connection:
        connection.connect()
    return True


BROKERS: dict[str, Callable[[Path], Broker]] = {"rabbitmq": RabbitMQ, "redis": Redis}


# ── PostgreSQL 15, the oldest that is served ─────────────────────────────────────────────


class Postgres15:
    """Debian's PostgreSQL 15, run as `nobody` where the tests run as root."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._port = free_port()
        self.url = f"postgresql://onebeat@127.0.0.1:{self._port}/onebeat"
        self._home = folder / "data"

    def start(self) -> None:
        if not self._home.exists():
            self._home.mkdir(mode=0o700)
            os.chown(self._home, self._owner(), -1)
            self._run("initdb", "-D", str(self._home), "-U", "onebeat", "--auth", "trust")
        words = ["-h", "127.0.0.1", "-p", str(self._port), "-k", ""]
        log = self._folder / "postgres15.log"
        self._child = Child(self._words("postgres", "-D", str(self._home), *words), log=log)
        wait_until(self._has_database, seconds=30, what=f"PostgreSQL 15, see {log}")

    def stop(self) -> None:
        self._child.process.send_signal(signal.SIGINT)  # fast mode
        self._child.end()

    def _has_database(self) -> bool:
        address = self.url.removesuffix("onebeat") + "postgres"
        with (
            psycopg.connect(address, autocommit=True) as connection,
            suppress(psycopg.errors.DuplicateDatabase),
        ):
            connection.execute("create database onebeat")
        return True

    def _owner(self) -> int:
        return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()

    def _words(self, program: str, *words: str) -> list[str]:
        return _as_nobody([str(POSTGRES_15 / program), *words])

    def _run(self, program: str, *words: str) -> None:
        command = self._words(program, *words)
        subprocess.run(command, cwd="/", check=True, capture_output=True)


class PgBouncer:
    """A pool by transactions before one database; what a session says is lost between two."""

    def __init__(self, folder: Path, port: int, database: str):
        self._folder = folder
        self._place = f"host=127.0.0.1 port={port} dbname={database} user=onebeat"
        self._port = free_port()
        self.url = f"postgresql://onebeat@127.0.0.1:{self._port}/pooled"

    def start(self) -> None:
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\npooled = {self._place}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self._port}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 20\n"
            "ignore_startup_parameters = extra_float_digits,options\n"
        )
        log = self._folder / "pgbouncer.log"
        self._child = Child(_as_nobody([str(PGBOUNCER), str(settings)]), log=log)
        wait_until(self._answers, seconds=30, what=f"PgBouncer, see {log}")

    def stop(self) -> None:
        self._child.end()

    def _answers(self) -> bool:
        with psycopg.connect(self.url) as connection:
            return connection.execute("select 1").fetchone() == (1,)


def _as_nobody(command: list[str]) -> list[str]:
    """The command, for a server that does not run as root."""
    if os.geteuid() != 0:
        return command
    drop = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    passing = ["--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override"]
    return [*drop, *passing, *command]


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    """Started for the block, stopped after it."""
    server.start()
    try:
        yield server
    finally:
        server.stop()
