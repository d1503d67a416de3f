"""A data folder: one `up` at a time, files replaced as a whole, ports, left-overs."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from config import installation
from config.installation import UpFailed

FOREVER = "import time\nwhile True: time.sleep(0.1)"


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    contents = [{"pids": [number] * 5000} for number in range(40)]
    installation.write_private(file, contents[0])
    done = threading.Event()
    seen: list[object] = []

    def read() -> None:
        while not done.is_set():
            seen.append(json.loads(file.read_text()))

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents:
        installation.write_private(file, content)
    done.set()
    reader.join()
    assert len(seen) > 10
    assert all(content in contents for content in seen)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["demo.json"]


def test_secrets_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = installation.load_secrets(tmp_path)
    assert installation.load_secrets(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "secrets.json").stat().st_mode) == 0o600
    parts = [first.secret_key, first.sealing_keys, first.password, first.token]
    assert len(set(parts)) == 4
    assert min(len(part) for part in parts) >= 16


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"secret_key": "x"}', "\x00"])
def test_a_broken_secrets_file_is_told_and_kept(tmp_path: Path, text: str) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(text)
    with pytest.raises(UpFailed, match=r"secrets\.json: .*Restore it"):
        installation.load_secrets(tmp_path)
    assert file.read_text() == text


def test_a_folder_serves_one_up_at_a_time(tmp_path: Path) -> None:
    with installation.locked(tmp_path / "deep" / "data"):
        again = installation.locked(tmp_path / "deep" / "data")
        with pytest.raises(UpFailed, match="in use by another"):
            again.__enter__()
    with installation.locked(tmp_path / "deep" / "data"):
        pass


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UpFailed, match="DATA="):
        installation.locked(tmp_path / "file").__enter__()


def test_a_port_in_use_is_told_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UpFailed, match=f"PORT={port}: .*say another PORT"):
            installation.require_free("127.0.0.1", port)
    installation.require_free("127.0.0.1", port)


def test_the_targets_port_stays_while_it_is_free(tmp_path: Path) -> None:
    port = installation.target_port(tmp_path)
    demo = {"target_url": f"http://127.0.0.1:{port}/"}
    installation.write_private(tmp_path / "demo.json", demo)
    assert installation.target_port(tmp_path) == port
    with socket.create_server(("127.0.0.1", port)):
        assert installation.target_port(tmp_path) != port


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"target_url": null}', '{"target_url": "x"}'])
def test_a_broken_demo_file_costs_the_port_and_nothing_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo.json").write_text(text)
    assert installation.target_port(tmp_path) > 0


def test_left_overs_of_this_folder_are_ended_and_no_others(tmp_path: Path) -> None:
    ours, others = (_marked(folder) for folder in (tmp_path / "ours", tmp_path / "others"))
    try:
        assert installation.end_left_overs(tmp_path / "ours") == 1
        ours.wait(5)
        assert not psutil.pid_exists(ours.pid)
        assert others.poll() is None
    finally:
        for process in (ours, others):
            process.kill()
            process.wait()


def _marked(folder: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, installation.MARK: str(folder)}
    code = "print(1, flush=True)\n" + FOREVER
    process = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process
