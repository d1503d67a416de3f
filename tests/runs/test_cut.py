"""A call that is cut from another thread: whoever waits for its answer wakes up at once."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from jobs.targets.addresses import AllowList
from runs.targets import egress
from runs.targets.egress import Broken
from tests.runs.certificate import contexts
from tests.runs.silent import Silent

LOOPBACK = AllowList.parse("127.0.0.0/8")
SECONDS = 120.0  # that the call may take


def cut_while_waiting(line: egress.Line, target: Silent) -> Broken:
    def cut() -> None:
        assert target.read.wait(timeout=30)
        line.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    began = time.monotonic()
    with line, pytest.raises(Broken) as broken:
        line.send("POST", {}, b"{}")
    cutting.join(timeout=30)
    assert time.monotonic() - began < SECONDS / 2
    line.cut()  # once more does no harm
    return broken.value


def test_a_call_that_waits_for_its_answer_is_cut() -> None:
    with Silent() as target:
        deadline = time.monotonic() + SECONDS
        line = egress.prepare(target.url(), allow=LOOPBACK, deadline=deadline)
        broken = cut_while_waiting(line, target)
    assert (broken.phase, broken.sent > 0) == ("waiting", True)


def test_so_is_one_in_the_middle_of_its_answer() -> None:
    with Silent(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf") as target:
        deadline = time.monotonic() + SECONDS
        line = egress.prepare(target.url(), allow=LOOPBACK, deadline=deadline)
        assert cut_while_waiting(line, target).phase in ("waiting", "reading")


def test_and_one_over_tls(tmp_path: Path) -> None:
    server, trusting = contexts(tmp_path, "right.example")
    with Silent(tls=server) as target:
        line = egress.prepare(
            target.url(scheme="https", host="right.example"),
            allow=LOOPBACK,
            deadline=time.monotonic() + SECONDS,
            tls=trusting,
            resolver=lambda host, port, *, type: socket.getaddrinfo("127.0.0.1", port, type=type),
        )
        assert cut_while_waiting(line, target).phase == "waiting"
