"""What `manage.py up` does: everything on one machine, kept alive, ended in order.

Of our own and not honcho or supervisor: neither ends its children in an order with a limit for
each, nor tells a file of their process ids whenever one is started again.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from config import brokers, cluster, databases, embedded, installation, pgmq_schema, preflight
from config.children import Child, keep_short
from config.installation import UpFailed
from config.programs import Options, programs
from config.stop import Stop

ROOT = Path(__file__).resolve().parent.parent
TICK = 0.2  # seconds between two looks at the children
FINISH = 8.0  # seconds that web, beats and workers have to end by themselves
FINISH_TARGET = 2.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def up(options: Options) -> None:
    """Run until SIGTERM or Ctrl-C. Raises UpFailed, with nothing left running."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, stop.ask)
    preflight.require(options)
    with installation.locked(options.data):
        left = installation.end_left_overs(options.data)
        if left:
            say("up", f"ended {left} processes that an earlier start had left behind")
        installation.require_free(options.host, options.port)
        Supervisor(options, stop).run()


def say(name: str, text: str) -> None:
    """One line on standard output; whoever read it may be gone."""
    with suppress(OSError):
        print(f"{name:<8}| {text}", flush=True)


@dataclass
class Supervisor:
    """One run of `up`. `stop` is set by a signal."""

    options: Options
    stop: Stop
    children: list[Child] = field(default_factory=list)
    server: embedded.Server | None = None
    ready: bool = False

    def run(self) -> None:
        self.secrets = installation.load_secrets(self.options.data)
        self.target_port = installation.target_port(self.options.data)
        try:
            self._set_up()
            self._start_children()
            while not self.stop.wait(TICK):
                self._look()
        finally:
            self._end()

    # ── before the first child ───────────────────────────────────────────────────────────

    def _set_up(self) -> None:
        self.database_url = self._database()
        self._install_pgmq(os.environ.get("BROKER_URL") or brokers.pgmq_url(self.database_url))
        self._manage("migrate", "--verbosity", "0")
        demo = {
            "ONEBEAT_DEMO_PASSWORD": self.secrets.password,
            "ONEBEAT_DEMO_TOKEN": self.secrets.token,
        }
        words = ("--username", installation.USERNAME, "--target-url", self.target_url)
        self._manage("seed_demo", *words, env=demo)

    def _install_pgmq(self, url: str) -> None:
        if brokers.scheme(url) != "pgmq":
            return
        try:
            pgmq_schema.install("postgresql" + url[url.index("://") :])
        except psycopg.Error as error:
            said = databases.last_said(error)
            raise UpFailed(f"BROKER_URL: PGMQ's schema cannot be installed: {said}") from error

    def _database(self) -> str:
        url = os.environ.get("DATABASE_URL")
        if url:
            return url
        say("up", f"starting PostgreSQL in {self.options.data}")
        try:
            self.server = embedded.start(self.options.data)
        except (cluster.StartFailed, OSError) as error:
            raise UpFailed(f"PostgreSQL in DATA={self.options.data}: {error}") from error
        return self.server.url

    def _manage(self, *words: str, env: dict[str, str] | None = None) -> None:
        """Run one of our commands to its end, or until we are told to stop."""
        if self.stop.asked:
            return
        say("up", words[0])
        log = self.options.data / "logs" / "setup.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", *words],
                cwd=ROOT,
                env={**self.environment, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            while process.poll() is None:
                if self.stop.wait(0.05):
                    process.kill()
        if process.returncode != 0 and not self.stop.asked:
            last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
            raise UpFailed(f"`manage.py {words[0]}` failed: {last} (see {log})")

    # ── the children ─────────────────────────────────────────────────────────────────────

    @property
    def target_url(self) -> str:
        return f"http://127.0.0.1:{self.target_port}/"

    @property
    def ledger(self) -> Path:
        return self.options.data / "ledger.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        """What every child sees. What the caller's environment says, holds."""
        allow = [os.environ.get("ONEBEAT_EGRESS_ALLOW"), f"127.0.0.1/32:{self.target_port}"]
        ours = {
            "SECRET_KEY": self.secrets.secret_key,
            "ONEBEAT_SEALING_KEYS": self.secrets.sealing_keys,
            "ONEBEAT_SOFT_SHUTDOWN": f"{FINISH:g}",
            "ONEBEAT_URL": self.options.url,
            "EMAIL_URL": "console:",
        }
        if self.options.host not in LOOPBACK:
            ours["ALLOWED_HOSTS"] = f"localhost,127.0.0.1,[::1],{self.options.host}"
        return {
            **os.environ,
            **{name: os.environ.get(name) or value for name, value in ours.items()},
            "DATABASE_URL": self.database_url,
            "ONEBEAT_DATA": str(self.options.data),
            "ONEBEAT_EGRESS_ALLOW": ",".join(filter(None, allow)),
            "PYTHONTZPATH": "",
            "PYTHONUNBUFFERED": "1",
            installation.MARK: str(self.options.data),
        }

    def _start_children(self) -> None:
        if self.stop.asked:
            return
        logs, env = self.options.data / "logs", self.environment
        for program in programs(self.options, self.target_port, self.ledger):
            child = Child(program, env, ROOT, logs / f"{program.name}.log")
            self.children.append(child)
            child.start(time.monotonic())
        self._write_demo()

    def _write_demo(self) -> None:
        pids: dict[str, list[int]] = {child.program.kind: [] for child in self.children}
        for child in self.children:
            if child.pid is not None:
                pids[child.program.kind].append(child.pid)
        content = {
            "url": self.options.url,
            "username": installation.USERNAME,
            "password": self.secrets.password,
            "token": self.secrets.token,
            "target_url": self.target_url,
            "ledger": str(self.ledger),
            "pids": pids,
        }
        installation.write_private(self.options.data / "demo.json", content)

    def _look(self) -> None:
        self._tend_server()
        before = [child.pid for child in self.children]
        news = [child.tend(time.monotonic()) for child in self.children]
        self._print_logs()
        for text in filter(None, news):
            say("up", text)
        if before != [child.pid for child in self.children]:
            self._write_demo()
        if not self.ready and _answers(self.options):
            self.ready = True
            self._welcome()

    def _tend_server(self) -> None:
        if self.server is None:
            return
        keep_short(self.server.log)
        if self.server.pid is not None:
            return
        say("up", "PostgreSQL has ended; starting it again")
        try:
            embedded.start(self.options.data)
        except cluster.StartFailed as error:
            say("up", str(error))

    def _print_logs(self) -> None:
        for child in self.children:
            for line in child.new_lines():
                say(child.program.name, line)

    def _welcome(self) -> None:
        say("up", f"Onebeat is ready: {self.options.url}/")
        say("up", f"sign in as {installation.USERNAME}, password {self.secrets.password}")
        say("up", f"an API token is in {self.options.data / 'demo.json'}; Ctrl-C ends everything")

    # ── the end ──────────────────────────────────────────────────────────────────────────

    def _end(self) -> None:
        """Beats and web first, workers get their time, the target they call, the database."""
        target = [child for child in self.children if child.program.kind == "target"]
        others = [child for child in self.children if child not in target]
        for group, seconds in ((others, FINISH), (target, FINISH_TARGET)):
            for child in group:
                child.ask_to_end()
            _wait_for(group, seconds)
            for child in group:
                if not child.has_ended():
                    say("up", f"{child.program.name} had not ended after {seconds:g} s and was cut")
                child.cut()
        self._print_logs()
        if self.server is not None:
            self.server.stop()
        if self.children:
            say("up", "everything has ended")


def _wait_for(children: Iterable[Child], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not all(child.has_ended() for child in children):
        time.sleep(0.05)


def _answers(options: Options) -> bool:
    host = options.url.removeprefix("http://").rpartition(":")[0].strip("[]")
    connection = http.client.HTTPConnection(host, options.port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
