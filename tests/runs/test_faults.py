"""The points at which tests strike: every one stands in the code, and nothing is struck unarmed."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection

from runs import faults
from runs.faults import Fault, fault

RUNS = Path(faults.__file__).parent
_processes = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    faults.arm([])


def test_every_point_stands_in_the_code() -> None:
    text = "".join(file.read_text() for file in RUNS.rglob("*.py"))
    placed = set(re.findall(r'\bfault\(\s*"([a-z_.]+)"', text))
    assert placed == faults.POINTS


def test_nothing_is_struck_unless_armed_and_then_that_point_at_that_pass() -> None:
    fault("claim.selected")
    faults.arm(["claim.selected:exception:2", "send.midway:broker"])
    fault("claim.selected")
    fault("start.after_commit")
    with pytest.raises(Fault, match=r"claim\.selected"):
        fault("claim.selected")
    fault("claim.selected")
    with pytest.raises(ConnectionResetError):
        fault("send.midway")


def test_an_error_of_the_points_own_kind() -> None:
    faults.arm(["prepare.failed:exception"])
    with pytest.raises(LookupError):
        fault("prepare.failed", LookupError)


@pytest.mark.django_db(transaction=True)  # its connection is cut
def test_a_cut_connection_is_gone_and_the_next_one_works() -> None:
    faults.arm(["claim.selected:database"])
    with connection.cursor() as cursor, pytest.raises(OperationalError):
        cursor.execute("select 1")
        fault("claim.selected")
    with connection.cursor() as cursor, pytest.raises(OperationalError):
        cursor.execute("select 1")
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("select 1")
        assert cursor.fetchone() == (1,)


def _struck(point: str) -> Any:
    process = _processes.Process(target=fault, args=(point,))
    process.start()
    return process


def test_forked_processes_count_their_passes_together() -> None:
    faults.arm(["start.after_commit:kill:2"])
    codes = []
    for _ in range(3):
        process = _struck("start.after_commit")
        process.join(10)
        codes.append(process.exitcode)
    assert codes == [0, -signal.SIGKILL, 0]


def test_who_hangs_stands_still_until_somebody_lets_it_go_on() -> None:
    faults.arm(["start.after_commit:hang"])
    process = _struck("start.after_commit")
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    os.kill(process.pid, signal.SIGCONT)
    process.join(10)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("claim.sellected:kill", "no point"),
        ("claim.selected:stab", "no action"),
        ("claim.selected", "no action"),
        ("claim.selected:kill:0", "no pass"),
        ("claim.selected:kill:-1", "no pass"),
        ("claim.selected:kill:9999999999999999999", "no pass"),
        ("", "no point"),
    ],
)
def test_nonsense_is_refused(text: str, said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=said):
        faults.arm([text])
