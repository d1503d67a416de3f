"""The product's real processes on a database and a broker of one test.

Each writes a log of its own, which is shown when the test fails. Only what was started here is
ended, by its process id.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import kombu
import pytest
from django.db import connection
from environs import Env

from config import brokers, databases, programs
from config.celery import app
from runs.models import Run
from runs.publishing.amqp import GIVEN_UP
from tests.servers import Child, wait_until

ROOT = Path(__file__).resolve().parents[2]
_TAIL = 60  # lines of each log that a failure shows


@dataclass
class Product:
    """Starts beats, workers and the example target; ends them all with the test."""

    folder: Path
    database_url: str
    broker_url: str
    children: list[Child] = field(default_factory=list)

    def beat(self, *, clock: int = 0, **environment: str) -> Child:
        """A beat. `clock`: its host's is so many seconds ahead."""
        words = ("celery", "-A", "config", "beat", *_LOG)
        return self._start("beat", *words, environment=environment, clock=clock)

    def worker(self, *words: str, concurrency: int = 4, **environment: str) -> Child:
        """A worker that knows the handlers of tests/story/handlers.py."""
        given = ["--include", "tests.story.handlers", "--concurrency", str(concurrency)]
        told = ("celery", "-A", "config", "worker", *given, *programs.QUIET, *_LOG, *words)
        return self._start("worker", *told, environment=environment)

    def target(self) -> ExampleTarget:
        ledger = self.folder / "ledger.jsonl"
        child = self._start("target", "config.example_target", "--ledger", str(ledger))
        wait_until(
            lambda: _port(child.log), seconds=30, what=f"the target listens, see {child.log}"
        )
        return ExampleTarget(f"http://127.0.0.1:{_port(child.log)}", ledger)

    def up(self) -> None:
        """Wait until every beat looks after shards and every worker takes messages."""
        for child in self.children:
            if sign := _READY.get(child.log.stem.rstrip("0123456789")):
                wait_until(partial(_says, child, sign), seconds=60, what=f"{child.log.name} is up")

    def end(self) -> None:
        """SIGKILL to all: what a story wanted to see of them it has seen."""
        for child in self.children:
            child.kill()

    def errors(self) -> list[dict[str, Any]]:
        """What the processes logged as an error, but for the alarm that nobody starts what is
        sent: that is right where a story has no worker."""
        lonely = not any(child.log.name.startswith("worker") for child in self.children)
        expected = {"rescue.nobody_starts"} if lonely else set()
        return [
            line
            for line in self.lines()
            if line.get("level") in ("error", "critical") and line.get("event") not in expected
        ]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every structured line of every log; others (Celery's banner) are left out."""
        for child in self.children:
            for line in child.log.read_text(errors="replace").splitlines():
                if line.startswith("{") and isinstance(found := _json(line), dict):
                    yield found

    def told(self) -> list[Path]:
        """The log of every process that was started."""
        return sorted(self.folder.glob("*.log"))

    def logs(self) -> str:
        """The end of every log, for a failure."""
        return "\n".join(
            f"── {child.log.name}\n"
            + "\n".join(child.log.read_text(errors="replace").splitlines()[-_TAIL:])
            for child in self.children
        )

    def _start(
        self,
        name: str,
        module: str,
        *words: str,
        environment: Mapping[str, str] | None = None,
        clock: int = 0,
    ) -> Child:
        log = self.folder / f"{name}{len(self.told())}.log"
        env = {**self._env(), **(environment or {})}
        wrong = ["faketime", "-m", "-f", f"{clock:+}s"] if clock else []
        child = Child([*wrong, sys.executable, "-m", module, *words], log=log, env=env)
        self.children.append(child)
        return child

    def _env(self) -> dict[str, str]:
        own = {
            "DATABASE_URL": self.database_url,
            "BROKER_URL": self.broker_url,
            "ONEBEAT_EGRESS_ALLOW": "127.0.0.1/32",
            "PYTHONTZPATH": "",
            "PYTHONPATH": str(ROOT),
            "STORY_FOLDER": str(self.folder),
        }
        return {**os.environ, **own}


_LOG = ("--loglevel", "INFO")
_READY = {"beat": "beat.shards", "worker": " ready."}


def _says(child: Child, sign: str) -> bool:
    text = child.log.read_text(errors="replace")
    if child.process.poll() is not None and sign not in text:
        pytest.fail(f"{child.log.name} has ended")
    return sign in text


@dataclass(frozen=True)
class ExampleTarget:
    """The example target of the product, and its ledger as evidence."""

    url: str
    ledger: Path

    def entries(self, key: str, phase: str) -> list[dict[str, Any]]:
        """What the ledger says of a key: `in` for each request, `acted` for each effect."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        found = [entry for line in lines if (entry := _json(line))]
        return [entry for entry in found if (entry["key"], entry["phase"]) == (key, phase)]


@contextmanager
def on_database(url: str) -> Iterator[None]:
    """Django's connection of this process on another database, for the block."""
    kept = connection.settings_dict
    connection.close()
    connection.settings_dict = {**kept, **databases.config(url, Env())}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = kept


def empty_queue(broker_url: str, queue: str = "default") -> None:
    """A broker that several tests share starts without the messages of the last one."""
    options = brokers.transport_options(broker_url)
    address = brokers.address(broker_url)
    with kombu.Connection(address, transport_options=options) as broker:
        declared = app.amqp.queues[queue](broker.default_channel)
        declared.declare()
        declared.purge()
        if address.startswith("amqp"):  # what it gave up would be an alarm of the next story
            kombu.Queue(GIVEN_UP)(broker.default_channel).delete()


def wait_for(run_of: Callable[[], Run | None], *states: str, seconds: float) -> Run:
    """The run once it is in one of these states; fails with what it is in instead."""
    deadline = time.monotonic() + seconds
    run = run_of()
    while run is None or run.state not in states:
        if time.monotonic() > deadline:
            seen = "no run" if run is None else f"{run.state} ({run.reason})"
            raise AssertionError(f"not {' or '.join(states)} within {seconds} s: {seen}")
        time.sleep(0.05)
        run = run_of()
    return run


def _port(log: Path) -> int | None:
    for line in log.read_text().splitlines():
        if line.startswith("listening on "):
            return int(line.split()[-1])
    return None


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
