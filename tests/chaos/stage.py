"""The stage of a chaos run: servers of its own, the product's real processes, lines between them
that can be cut, and the independent target. Everything that it starts it ends, by process id.

```
 beats ──(beat line)──┐                        workers ──▶ target ──▶ ledger
                      ├──▶ PostgreSQL
 workers ─(work line)─┘          all ──(broker line)──▶ RabbitMQ | Redis | PGMQ
```
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import psycopg
from cryptography.fernet import Fernet

from config import brokers, embedded, pgmq_schema, programs
from tests import servers
from tests.proxy import Proxy, address_of
from tests.servers import Broker, Child, wait_until

ROOT = Path(__file__).resolve().parents[2]
BROKERS = ("rabbitmq", "redis", "pgmq")
# Scaled times: the lease is long enough for two cores that many share.
FAST = {"ONEBEAT_LEASE": "6", "ONEBEAT_SWEEP": "0.5", "ONEBEAT_RESEND": "3"}
LIFE = {"ONEBEAT_LEASE": "30", "ONEBEAT_SWEEP": "2", "ONEBEAT_RESEND": "15"}
_LIBFAKETIME = "faketime"
_WRONG_CLOCK = {
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'chaos' / 'wrong_clock'}",
}
_UP = {"beat": "beat.shards", "worker": " ready."}


@dataclass
class Host:
    """One process of the product, started again under the same name when it has ended.
    `clock`: its host's is so many seconds ahead."""

    name: str
    words: list[str]
    log: Path
    env: dict[str, str]
    clock: int = 0
    child: Child | None = None
    wanted: bool = True  # whether it is to be started again when it has ended

    @property
    def role(self) -> str:
        return self.name.rstrip("0123456789")

    def start(self) -> None:
        wrong = ["faketime", "-m", "-f", f"{self.clock:+}s"] if self.clock else []
        env = {**self.env, **_WRONG_CLOCK} if self.clock else self.env
        self.child = Child([*wrong, sys.executable, "-m", *self.words], log=self.log, env=env)

    def signal(self, number: int) -> None:
        """To every process of its session."""
        if self.child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.child.pid, number)

    def kill(self) -> None:
        if self.child is not None:
            self.signal(signal.SIGCONT)
            self.child.kill()

    @property
    def processes(self) -> list[psutil.Process]:
        """The process itself (past faketime's own) and the children of its pool."""
        assert self.child is not None
        found = psutil.Process(self.child.pid)
        if self.clock:
            found = found.children()[0]
        return [found, *found.children()]


@dataclass
class Stage:
    """What a run plays on. `times`: the product's scaled or real times."""

    folder: Path
    broker_name: str
    seed: int
    times: Mapping[str, str] = field(default_factory=lambda: FAST)
    straight: bool = False  # whether the processes call the servers past the lines
    hosts: list[Host] = field(default_factory=list)
    restarts: int = 0  # processes that had ended by themselves
    database: embedded.Server | None = None
    broker: Broker | None = None
    _env: dict[str, str] = field(default_factory=dict)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    @property
    def own_log(self) -> Path:
        """What the product's rules log where this process calls them."""
        return self.folder / "people.log"

    @property
    def database_url(self) -> str:
        assert self.database is not None
        return self.database.url

    def of(self, role: str) -> list[Host]:
        return [host for host in self.hosts if host.role == role]

    def beat(self, *, clock: int = 0) -> Host:
        words = ["celery", "-A", "config", "beat", "--loglevel", "INFO"]
        return self._host("beat", words, self.beat_line, clock)

    def worker(self, *, concurrency: int = 4, clock: int = 0) -> Host:
        own = ["--include", "tests.chaos.handlers", "--concurrency", str(concurrency)]
        words = ["celery", "-A", "config", "worker", *own, *programs.QUIET, "--loglevel", "INFO"]
        return self._host("worker", words, self.work_line, clock)

    def _host(self, role: str, words: list[str], line: Proxy, clock: int) -> Host:
        name = f"{role}{len(self.of(role))}"
        env = {
            **self._env,
            "DATABASE_URL": self.through(line),
            "BROKER_URL": self.broker_url,
            # Each host has a file of its own that remembers the database.
            "ONEBEAT_DATA": str(self.folder / name),
        }
        host = Host(name, words, self.folder / f"{name}.log", env, clock)
        self.hosts.append(host)
        host.start()
        return host

    def through(self, line: Proxy) -> str:
        if self.straight:
            return self.database_url
        return f"postgresql://onebeat@127.0.0.1:{line.port}/onebeat"

    @property
    def broker_url(self) -> str:
        """The broker's address, behind the broker line."""
        if self.straight:
            return self.broker.url if self.broker else brokers.pgmq_url(self.database_url)
        port = self.broker_line.port
        return {
            "rabbitmq": f"amqp://guest:guest@127.0.0.1:{port}//",
            "redis": f"redis://127.0.0.1:{port}/0",
            "pgmq": brokers.pgmq_url(f"postgresql://onebeat@127.0.0.1:{port}/onebeat"),
        }[self.broker_name]

    def up(self) -> None:
        """Wait until every beat looks after shards and every worker takes messages."""
        for host in self.hosts:
            sign = _UP[host.role]
            wait_until(
                partial(_says, host.log, sign), seconds=90, what=f"{host.name}, see {host.log}"
            )

    def start_again_what_ended(self) -> None:
        """As whoever supervises an installation does."""
        for host in self.hosts:
            if host.wanted and host.child is not None and host.child.ended:
                host.child.kill()  # what is left of its session
                host.start()
                self.restarts += 1

    # ── its parts ────────────────────────────────────────────────────────────────────────

    def open(self, stack: ExitStack, *, quiet_target: bool) -> None:
        """Start the servers, the lines and the target; the product's processes come after."""
        self.database = embedded.start(self.folder / "database")
        stack.callback(self._stop_database)
        if self.broker_name != "pgmq":
            own = self.folder / "broker"
            own.mkdir()
            self.broker = stack.enter_context(
                servers.running(servers.BROKERS[self.broker_name](own))
            )
        at = address_of(self.broker.url if self.broker else self.database_url)
        self.beat_line = stack.enter_context(Proxy(address_of(self.database_url)))
        self.work_line = stack.enter_context(Proxy(address_of(self.database_url)))
        self.broker_line = stack.enter_context(Proxy(at))
        target = self._target(stack, quiet=quiet_target)
        self._env = {**os.environ, **self.times, **_secrets(), **self._own(target)}
        self._migrate()
        stack.callback(self._end_hosts)

    def _own(self, target: str) -> dict[str, str]:
        return {
            "PYTHONPATH": str(ROOT),
            "PYTHONTZPATH": "",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "ONEBEAT_EGRESS_ALLOW": "127.0.0.1/32",
            "ONEBEAT_SOFT_SHUTDOWN": "8",
            "CHAOS_TARGET": target,
            "DATABASE_URL": self.database_url,
            "BROKER_URL": self.broker_url,
            "ONEBEAT_DATA": str(self.folder),
        }

    def _target(self, stack: ExitStack, *, quiet: bool) -> str:
        words = ["-m", "tests.chaos.target", "--ledger", str(self.ledger), "--seed", str(self.seed)]
        log = self.folder / "target.log"
        words += ["--quiet"] if quiet else []
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        stack.callback(Child([sys.executable, *words], log=log, env=env).kill)
        wait_until(lambda: "listening on" in log.read_text(), seconds=30, what="the target listens")
        return f"127.0.0.1:{log.read_text().split()[-1]}"

    @property
    def target(self) -> str:
        """Host and port of the target."""
        return self._env["CHAOS_TARGET"]

    def _migrate(self) -> None:
        words = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(words, cwd=ROOT, check=True, env=self._env)
        pgmq_schema.install(self.database_url)

    def set_up_django(self) -> None:
        """This process may register jobs by the product's own rule from now on."""
        os.environ.update(self._env)
        import django

        django.setup()
        # What people do here is told beside what the processes tell.
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(self.own_log.open("a", buffering=1))

    def ask(self, statement: str, *values: Any, within: float = 60) -> list[tuple[Any, ...]]:
        """Rows of the database itself, past every line; while it is down, once it is back."""
        deadline = time.monotonic() + within
        while True:
            try:
                with psycopg.connect(self.database_url, autocommit=True) as connection:
                    cursor = connection.execute(statement.encode(), values or None)
                    return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _stop_database(self) -> None:
        assert self.database is not None
        self.database.stop()

    def _end_hosts(self) -> None:
        for host in self.hosts:
            host.kill()


@contextmanager
def opened(
    folder: Path,
    broker: str,
    seed: int,
    *,
    times: Mapping[str, str] = FAST,
    quiet_target: bool = False,
    straight: bool = False,
) -> Iterator[Stage]:
    """A stage without any process of the product yet. SystemExit where the broker is missing."""
    if broker != "pgmq" and (reason := servers.missing(broker)):
        raise SystemExit(f"{reason}: install it, or choose another broker.")
    if reason := servers.missing(_LIBFAKETIME):
        raise SystemExit(f"{reason}: install it.")
    (folder / "database").mkdir(parents=True)
    stage = Stage(folder, broker, seed, times, straight)
    with ExitStack() as stack:
        stage.open(stack, quiet_target=quiet_target)
        yield stage


def ended_by_signal() -> None:
    """SIGTERM leaves as an exit does, so that all that was started is ended; a second one would
    leave the ending half done."""

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)


@contextmanager
def supervised(stage: Stage) -> Iterator[None]:
    """What ends by itself is started again while the block runs."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.3):
            stage.start_again_what_ended()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _secrets() -> dict[str, str]:
    return {
        "SECRET_KEY": secrets.token_urlsafe(64),
        "ONEBEAT_SEALING_KEYS": Fernet.generate_key().decode(),
    }


def _says(log: Path, sign: str) -> bool:
    return sign in log.read_text(errors="replace")


def now() -> float:
    """This machine's clock, which is the database's as well: seconds since 1970."""
    return time.time()
