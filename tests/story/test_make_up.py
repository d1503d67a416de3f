"""`make up` as a newcomer meets it: real processes from start to end, then once more."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from config import children, installation
from tests.servers import free_port, wait_until

pytestmark = [pytest.mark.story, pytest.mark.timeout(400)]
ROOT = Path(__file__).resolve().parent.parent.parent
# The test run's own, whose like `up` makes itself; and what the `make` around it hands on.
OURS = ("DATABASE_URL", "BROKER_URL", "SECRET_KEY", "MAKELEVEL", "MAKEFLAGS", "MFLAGS")


class Installation:
    """One `make up`, in a session of its own as a terminal would give it."""

    def __init__(self, data: Path, port: int):
        self.data = data
        self.url = f"http://127.0.0.1:{port}"
        kept = {k: v for k, v in os.environ.items() if k not in OURS and "ONEBEAT" not in k}
        self.log = data.parent / f"{data.name}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                ["make", "up", f"PORT={port}", f"DATA={data}"],
                cwd=ROOT,
                env=kept,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def demo(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.data / "demo.json").read_text())
        return content

    def child_pids(self) -> set[int]:
        return {pid for pids in self.demo()["pids"].values() for pid in pids}

    def wait_ready(self) -> None:
        wait_until(lambda: self.status("/readyz") == 200, seconds=90, what=f"ready, see {self.log}")

    def status(self, path: str) -> int:
        return int(urllib.request.urlopen(self.url + path, timeout=5).status)

    def runs(self, state: str) -> list[dict[str, Any]]:
        request = urllib.request.Request(f"{self.url}/api/v1/runs/?state={state}&page_size=200")
        request.add_header("Authorization", f"Token {self.demo()['token']}")
        found: list[dict[str, Any]] = json.load(urllib.request.urlopen(request, timeout=10))[
            "results"
        ]
        return found

    def acted(self) -> Counter[str]:
        """How often each key was acted on, by the example target's own ledger."""
        lines = Path(self.demo()["ledger"]).read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        return Counter(entry["key"] for entry in entries if entry["phase"] == "acted")

    def processes(self) -> list[psutil.Process]:
        """Everything that was started for this folder, PostgreSQL among it."""
        return [process for process in psutil.process_iter() if self._owns(process)]

    def _owns(self, process: psutil.Process) -> bool:
        try:
            words = " ".join(process.cmdline())
            marked = process.environ().get(installation.MARK) == str(self.data)
            return marked or str(self.data) in words
        except psutil.Error:
            return False

    def end(self) -> float:
        """SIGTERM to the whole group; the seconds until the supervisor was gone."""
        began = time.monotonic()
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(20)
        return time.monotonic() - began


@contextmanager
def up(data: Path, port: int) -> Iterator[Installation]:
    running = Installation(data, port)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_a_newcomer_sees_the_product_at_work_and_finds_it_again(data: Path) -> None:
    port = free_port()
    with up(data, port) as first:
        first.wait_ready()
        wait_until(lambda: _two_jobs_succeeded(first), seconds=90, what="runs that succeeded")
        before = {run["id"] for run in first.runs("SUCCEEDED")}
        assert first.acted()
        assert set(first.acted().values()) == {1}
        assert "ERROR" not in (data / "postgres.log").read_text()
        assert "No hostname was supplied" not in first.log.read_text()
        seconds = first.end()
        assert seconds < 40
        wait_until(
            lambda: not first.processes(), seconds=30, what=f"no process: {first.processes()}"
        )
    with up(data, port) as second:
        second.wait_ready()
        assert before <= {run["id"] for run in second.runs("SUCCEEDED")}


def _two_jobs_succeeded(running: Installation) -> bool:
    return len({run["job"] for run in running.runs("SUCCEEDED")}) >= 2


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """One that is at work, for tests that leave it so: to start it takes half a minute."""
    with up(tmp_path_factory.mktemp("running") / "data", free_port()) as started:
        started.wait_ready()
        yield started


def test_what_dies_comes_back_and_demo_json_tells_its_new_id(running: Installation) -> None:
    before = running.demo()["pids"]
    assert {kind: len(pids) for kind, pids in before.items()} == {
        "web": 1,
        "beat": 2,
        "worker": 1,
        "target": 1,
    }
    for pids in before.values():
        os.kill(pids[0], signal.SIGKILL)

    def all_are_back() -> bool:
        now = running.demo()["pids"]
        fresh = all(before[kind][0] not in now[kind] for kind in before)
        return fresh and all(len(now[kind]) == len(before[kind]) for kind in before)

    wait_until(all_are_back, seconds=30, what="new processes")
    for name in ("web", "beat-1", "worker", "target"):
        line = f"up      | {name} ended by signal 9; started again in 1 s\n"
        assert line in running.log.read_text()
    assert running.demo()["pids"]["beat"][1] == before["beat"][1]
    running.wait_ready()
    assert _answers_a_bare_post(running.demo()["target_url"]) == 200


def test_the_log_of_postgresql_is_kept_short(running: Installation) -> None:
    log = running.data / "postgres.log"
    with log.open("ab") as written:
        written.write(b"x" * children.LOG_LIMIT + b"\n")
    wait_until(
        lambda: log.stat().st_size < children.LOG_LIMIT,
        seconds=30,
        what="a log that begins anew",
    )
    assert log.with_name("postgres.log.1").stat().st_size > children.LOG_LIMIT


def _answers_a_bare_post(url: str) -> int:
    host = url.removeprefix("http://").rstrip("/")
    statuses: list[int] = []

    def post() -> bool:
        connection = http.client.HTTPConnection(host, timeout=5)
        connection.request("POST", "/")
        statuses.append(connection.getresponse().status)
        return True

    wait_until(post, seconds=30, what="the example target")
    return statuses[0]


def test_a_supervisor_killed_outright_leaves_nothing_in_the_way(data: Path) -> None:
    port = free_port()
    first = Installation(data, port)
    first.wait_ready()
    supervisor = _supervisor(first)
    children = first.child_pids()
    supervisor.kill()
    first.process.wait(10)
    with up(data, port) as second:
        wait_until(
            lambda: not children & second.child_pids(), seconds=60, what="children of the second"
        )
        second.wait_ready()
        assert not any(psutil.pid_exists(pid) for pid in children)


def _supervisor(running: Installation) -> psutil.Process:
    family = [psutil.Process(running.process.pid)]
    family += family[0].children(recursive=True)
    return next(process for process in family if "manage.py" in process.cmdline())


@pytest.mark.parametrize(
    ("env", "words", "start"),
    [
        ({"DATABASE_URL": "postgresql://u:hidden@127.0.0.1:1/x"}, [], "DATABASE_URL: "),
        ({"DATABASE_URL": "mysql://u:hidden@127.0.0.1:1/x"}, [], "DATABASE_URL: "),
        ({"BROKER_URL": "kafka://u:hidden@127.0.0.1:1/x"}, [], "BROKER_URL: "),
        ({"BROKER_URL": "amqp://u:hidden@127.0.0.1:1//"}, [], "BROKER_URL: "),
        ({"ONEBEAT_TASK_MODULES": "no.such.module"}, [], "ONEBEAT_TASK_MODULES: "),
        ({"ONEBEAT_QUEUES": ""}, [], "ONEBEAT_QUEUES: "),
        ({"ONEBEAT_QUEUES": "not one"}, [], "ONEBEAT_QUEUES: "),
        ({"ONEBEAT_SEALING_KEYS": "hidden"}, [], "ONEBEAT_SEALING_KEYS: "),
        ({"ONEBEAT_EGRESS_ALLOW": "nonsense"}, [], "ONEBEAT_EGRESS_ALLOW: "),
        ({}, ["HOST=nowhere.invalid"], "HOST=nowhere.invalid"),
        ({}, ["PORT=abc"], "PORT=abc"),
        ({}, ["PORT="], "PORT= "),
        ({}, ["PORT=99999"], "PORT=99999"),
        ({}, ["DATA=/dev/null/x"], "DATA=/dev/null/x"),
    ],
)
def test_what_cannot_work_is_one_line_within_seconds(
    data: Path, env: dict[str, str], words: list[str], start: str
) -> None:
    kept = {k: v for k, v in os.environ.items() if k not in OURS and "ONEBEAT" not in k}
    done = subprocess.run(
        ["make", "--silent", "up", f"PORT={free_port()}", f"DATA={data}", *words],
        cwd=ROOT,
        env={**kept, **env},
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if not line.startswith("make: ")]
    assert len(ours) == 1, done.stderr
    assert ours[0].startswith(start)
    assert "hidden" not in done.stderr
    assert done.returncode == 2
    assert not data.exists()
