"""One kept-alive process: when it is started again, what is read of it, how it ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from config import children
from config.children import Child, Program
from tests.servers import wait_until

FOREVER = "import time\nwhile True: time.sleep(0.1)"


@contextmanager
def child(folder: Path, code: str) -> Iterator[Child]:
    words = (sys.executable, "-c", code)
    made = Child(Program("web", "web", words), os.environ, folder, folder / "web.log")
    made.start(now=0)
    try:
        yield made
    finally:
        made.cut()


def test_the_wait_before_a_restart_doubles_up_to_half_a_minute() -> None:
    waits = [children.delay(deaths) for deaths in (1, 2, 3, 4, 5, 6, 7, 1000)]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_child_that_lives_is_left_alone(tmp_path: Path) -> None:
    with child(tmp_path, FOREVER) as living:
        pid = living.pid
        assert living.tend(now=100) is None
        assert living.pid == pid is not None


def test_a_child_that_died_is_started_again_once_its_time_has_come(tmp_path: Path) -> None:
    with child(tmp_path, FOREVER) as dying:
        first = dying.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_until(dying.has_ended, seconds=30, what="the child's end")
        assert dying.tend(now=10) == "web ended by signal 9; started again in 1 s"
        assert dying.pid is None
        assert dying.tend(now=10.9) is None
        assert dying.tend(now=11) is None
        assert dying.pid not in (None, first)


@pytest.mark.parametrize(("lived", "wait"), [(59, 2), (60, 1)])
def test_a_minute_of_health_forgives_earlier_deaths(
    tmp_path: Path, lived: float, wait: float
) -> None:
    with child(tmp_path, "raise SystemExit(3)") as dying:
        wait_until(dying.has_ended, seconds=30, what="the child's end")
        dying.tend(now=1)
        dying.tend(now=2)
        wait_until(dying.has_ended, seconds=30, what="its second end")
        assert dying.tend(now=2 + lived) == f"web ended with 3; started again in {wait} s"


def test_what_a_dead_child_had_started_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess, sys\n" + (
        f"print(subprocess.Popen([sys.executable, '-c', {FOREVER!r}]).pid, flush=True)"
    )
    with child(tmp_path, code) as dying:
        wait_until(dying.has_ended, seconds=30, what="the child's end")
        grandchild = psutil.Process(int(dying.new_lines()[0]))
        dying.tend(now=1)
        wait_until(lambda: not _alive(grandchild), seconds=30, what="the grandchild's end")


def _alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_log_is_read_by_whole_lines_from_where_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "web.log"
    file.write_text("of an earlier start\n")
    log = children.Log(file)
    with file.open("a") as writer:
        writer.write("one\ntw")
        writer.flush()
        assert log.new_lines() == ["one"]
        writer.write("o\n")
        writer.flush()
        assert log.new_lines() == ["two"]


def test_a_log_that_grows_too_long_begins_anew_and_keeps_one_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "LOG_LIMIT", 10)
    file = tmp_path / "web.log"
    log = children.Log(file)
    with file.open("a") as writer:
        writer.write("a long first line\n")
        writer.flush()
        assert log.new_lines() == ["a long first line"]
        writer.write("next\n")
        writer.flush()
        assert log.new_lines() == ["next"]
    assert file.read_text() == "next\n"
    assert (tmp_path / "web.log.1").read_text() == "a long first line\n"
