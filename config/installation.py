"""A data folder of `manage.py up`: its lock, secrets, ports, environment and demo.json."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from cryptography.fernet import Fernet

MARK = "ONEBEAT_SUPERVISED"  # in the environment of every child: the data folder it works for
USERNAME = "operator"
LAST_PORT = 65535
ENDING = 5.0  # seconds that what a killed supervisor left behind has to end


class UpFailed(Exception):
    """One line: what is wrong and what to do. Nothing keeps running."""


@dataclass(frozen=True)
class Secrets:
    """Made once for a data folder, kept in secrets.json, which its owner alone can read."""

    secret_key: str
    sealing_keys: str
    password: str
    token: str


# ── the folder ───────────────────────────────────────────────────────────────────────────


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """The folder is ours for the block; UpFailed if another `up` has it."""
    try:
        data.mkdir(mode=0o711, parents=True, exist_ok=True)
        for folder in ("logs", "static"):
            (data / folder).mkdir(mode=0o700, exist_ok=True)
        lock = (data / "up.lock").open("w")
    except OSError as error:
        raise UpFailed(f"DATA={data}: {error.strerror}. Say a folder that you can write.") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = "is in use by another `up`. Stop that one or say another DATA."
            raise UpFailed(f"DATA={data} {text}") from None
        yield


def write_private(file: Path, content: Mapping[str, Any]) -> None:
    """Replace the file as a whole: a reader sees the old one or the new one."""
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(content, out, indent=2)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def load_secrets(data: Path) -> Secrets:
    """Those of this folder, made at the first call. Raises UpFailed for a file that is none."""
    file = data / "secrets.json"
    if not file.exists():
        made = {
            "secret_key": secrets.token_urlsafe(64),
            "sealing_keys": Fernet.generate_key().decode(),
            "password": secrets.token_urlsafe(12),
            "token": f"ob_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}",
        }
        write_private(file, made)
    try:
        return Secrets(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise UpFailed(f"{file}: {error}. Restore it, or start with a new DATA.") from None


# ── ports ────────────────────────────────────────────────────────────────────────────────


def require_free(host: str, port: int) -> None:
    """Raise UpFailed unless we could listen there."""
    try:
        _listen(host, port)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise UpFailed(f"HOST={host} is no address of this machine. Say one.") from None
        text = f"cannot listen on {host}:{port} ({os.strerror(error.errno or 0)})"
        raise UpFailed(f"PORT={port}: {text}. Stop what does, or say another PORT.") from None


def target_port(data: Path) -> int:
    """The example target's: the one it had before, if it is free, for its URL is in jobs."""
    try:
        before = json.loads((data / "demo.json").read_text())
        return _listen("127.0.0.1", int(before["target_url"].rstrip("/").rpartition(":")[2]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return _listen("127.0.0.1", 0)


def family(host: str) -> socket.AddressFamily:
    """Which addresses a host to listen on stands for; a name stands for IPv4."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listen(host: str, port: int) -> int:
    with socket.create_server((host, port), family=family(host)) as listener:
        return int(listener.getsockname()[1])


# ── what a killed supervisor left behind ─────────────────────────────────────────────────


def end_left_overs(data: Path) -> int:
    """End every process that carries this folder's mark; how many there were."""
    found = [process for process in psutil.process_iter() if _is_marked(process, data)]
    _signal(found, psutil.Process.terminate)
    _, alive = psutil.wait_procs(found, ENDING)
    _signal(alive, psutil.Process.kill)
    psutil.wait_procs(alive, ENDING)
    return len(found)


def _is_marked(process: psutil.Process, data: Path) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(MARK) == str(data)
    except (psutil.Error, OSError):
        return False


def _signal(processes: Iterable[psutil.Process], action: Any) -> None:
    for process in processes:
        try:
            action(process)
        except psutil.NoSuchProcess:
            continue
