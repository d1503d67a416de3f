"""The example target, over real sockets: its ledger is what the demo is judged by."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import wait_until


class Running:
    """A target process, its port and its ledger."""

    def __init__(self, ledger: Path):
        self.ledger = ledger
        words = [sys.executable, "-m", "config.example_target", "--ledger", str(ledger)]
        self.errors = ledger.with_suffix(".errors")
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(" ")[2])

    def post(
        self, path: str, key: str | None = None, body: str = ""
    ) -> tuple[int, str, str | None]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST", path, body, {"Idempotency-Key": key} if key else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.getheader("Idempotency-Key")

    def entries(self, phase: str) -> list[dict[str, Any]]:
        lines = self.ledger.read_text().splitlines()
        return [entry for entry in map(json.loads, lines) if entry["phase"] == phase]

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=10)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "ledger.jsonl")
    yield running
    running.end()


def test_a_bare_post_is_acted_on(target: Running) -> None:
    assert target.post("/")[0] == 200
    assert len(target.entries("in")) == len(target.entries("acted")) == 1


def test_a_key_acts_once_and_gets_the_stored_answer_again(target: Running) -> None:
    first = target.post("/", "k", "{}")
    again = target.post("/", "k", "{}")
    assert first[:2] == again[:2] == (200, '{"acted": "k"}\n')
    assert [entry["key"] for entry in target.entries("acted")] == ["k"]
    assert [entry["key"] for entry in target.entries("in")] == ["k", "k"]


@pytest.mark.parametrize(("path", "body"), [("/", "other"), ("/drop", "body")])
def test_a_key_with_another_request_is_refused(target: Running, path: str, body: str) -> None:
    target.post("/", "k", "body")
    assert target.post(path, "k", body)[0] == 422
    assert len(target.entries("acted")) == 1


def test_a_key_that_is_being_acted_on_is_told_so(target: Running) -> None:
    answers: list[tuple[int, str, str | None]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(target.post("/slow?seconds=1.5", "k")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(status for status, _, _ in answers) == {200: 1, 409: 3}
    assert {echoed for status, _, echoed in answers if status == 409} == {"k"}
    assert len(target.entries("acted")) == 1


def test_drop_acts_and_answers_nothing_but_answers_the_key_later(target: Running) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        target.post("/drop", "k")
    assert len(target.entries("acted")) == 1
    assert target.post("/drop", "k")[0] == 200
    assert len(target.entries("acted")) == 1


@pytest.mark.parametrize("path", ["/slow?seconds=0.3", "/drop"])
def test_a_caller_that_was_killed_leaves_no_trace_but_the_effect(
    target: Running, path: str
) -> None:
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", target.port)) as caller:
            reset = struct.pack("ii", 1, 0)  # as the system does for a process that is killed
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            caller.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    wait_until(lambda: len(target.entries("acted")) == 3, seconds=30, what="three effects")
    assert target.post("/")[0] == 200
    target.end()
    assert target.errors.read_text() == ""


@pytest.mark.parametrize("code", [302, 400, 409, 429, 500, 503])
def test_a_status_other_than_2xx_does_nothing_and_frees_the_key(target: Running, code: int) -> None:
    assert target.post(f"/status/{code}", "k")[0] == code
    assert target.entries("acted") == []
    assert target.post("/", "k")[0] == 200


@pytest.mark.parametrize("code", [201, 204])
def test_a_2xx_of_ones_choice_acts(target: Running, code: int) -> None:
    assert target.post(f"/status/{code}", "k")[0] == code
    assert len(target.entries("acted")) == 1


@pytest.mark.parametrize("path", ["/nowhere", "/status/", "/status/99999", "/status/%C2%B2"])
def test_an_unknown_path_is_a_404_and_does_nothing(target: Running, path: str) -> None:
    assert target.post(path)[0] == 404
    assert target.entries("acted") == []


def test_a_killed_target_remembers_and_steps_over_half_a_line(target: Running) -> None:
    target.post("/", "k")
    target.end(signal.SIGKILL)
    with target.ledger.open("a") as file:
        file.write('{"key": "half')
    again = Running(target.ledger)
    try:
        assert again.post("/", "k")[0] == 200
        assert again.post("/", "new")[0] == 200
    finally:
        again.end()
    whole = [line for line in target.ledger.read_text().splitlines() if line.endswith("}")]
    acted = [e["key"] for e in map(json.loads, whole) if e["phase"] == "acted"]
    assert acted == ["k", "new"]


def test_a_body_that_is_too_long_is_refused_unread(target: Running) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=20)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str((1 << 20) + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    assert not target.ledger.exists()


def test_the_ledger_can_be_read_in_a_browser(target: Running) -> None:
    target.post("/", "k")
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=20)
    connection.request("GET", "/")
    assert '"phase": "acted"' in connection.getresponse().read().decode()
