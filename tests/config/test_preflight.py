"""What `up` is told is refused before anything is written, in a line that names it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from config import preflight
from config.installation import UpFailed
from config.programs import Options
from tests.servers import free_port


@pytest.mark.parametrize("port", ["abc", "", "-1", "0", "65536", "8000.0", "²", "9" * 5000])
def test_a_port_that_is_none_is_told(port: str) -> None:
    with pytest.raises(UpFailed, match=rf"^PORT={port[:80]} is none\. Say one from 1 to 65535"):
        preflight.options("127.0.0.1", port, "data")


@pytest.mark.parametrize(("host", "data", "named"), [(" ", "data", "HOST"), ("::", "", "DATA")])
def test_what_is_empty_is_told(host: str, data: str, named: str) -> None:
    with pytest.raises(UpFailed, match=f"^{named} is empty"):
        preflight.options(host, "8000", data)


def test_options_are_read_as_they_are_typed() -> None:
    assert preflight.options("::1", "8000", "data") == Options("::1", 8000, Path("data").resolve())


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("nowhere.invalid", "HOST=nowhere.invalid stands for no address"),
        ("a" * 70 + ".invalid", "stands for no address"),
        ("fe80::zz", "HOST=fe80::zz stands for no address"),
        ("192.0.2.1", "HOST=192.0.2.1 is no address of this machine"),
    ],
)
def test_a_host_that_cannot_be_listened_on_is_told(tmp_path: Path, host: str, told: str) -> None:
    with pytest.raises(UpFailed, match=told):
        preflight.require(Options(host, free_port(), tmp_path / "data"))


def test_a_port_in_use_is_told_before_a_new_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unset(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UpFailed, match=f"PORT={port}: "):
            preflight.require(Options("127.0.0.1", port, tmp_path / "data"))
    preflight.require(Options("127.0.0.1", port, tmp_path / "data"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variable", ["DATABASE_URL", "BROKER_URL"])
def test_a_server_that_is_away_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    _unset(monkeypatch)
    scheme = {"DATABASE_URL": "postgresql", "BROKER_URL": "amqp"}[variable]
    monkeypatch.setenv(variable, f"{scheme}://u:hidden@127.0.0.1:{free_port()}/x")
    with pytest.raises(UpFailed, match=f"^{variable}: "):
        preflight.require(Options("127.0.0.1", free_port(), tmp_path / "data"))


def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DATABASE_URL", "BROKER_URL"):
        monkeypatch.delenv(variable, raising=False)
