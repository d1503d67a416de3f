"""What must stand before Django reads its settings: loaded by `-p tests.plugin`.

| variable | meaning | unset |
|---|---|---|
| DATABASE_URL | the server to test on | the PostgreSQL that comes along, in a temporary folder |
| BROKER_URL | the broker of real processes | PGMQ in the same database |
| ONEBEAT_TEST_POSTGRES=15 | start Debian's PostgreSQL 15 and test on it | |
| ONEBEAT_TEST_BROKER=rabbitmq, redis | start this one and test with it | |
| ONEBEAT_REQUIRE=all | a server or browser that is missing fails its tests | it skips them |

The server that comes along starts with the first test that asks for a database.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import zoneinfo
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from cryptography.fernet import Fernet

from config import embedded, reachable
from tests import servers

PREFIX = "onebeat-tests-"
FAST = {
    "ONEBEAT_LEASE": "3",
    "ONEBEAT_SWEEP": "0.3",
    "ONEBEAT_RESEND": "1.5",
    "ONEBEAT_STOP_GRACE": "1",
}
ending = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    os.environ["PYTHONTZPATH"] = ""
    zoneinfo.reset_tzpath(to=())
    folder = _own_folder()
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(64))
    os.environ.setdefault("ONEBEAT_SEALING_KEYS", Fernet.generate_key().decode())
    os.environ["ONEBEAT_DATA"] = str(folder)
    for name, value in FAST.items():
        os.environ.setdefault(name, value)
    try:
        _choose_database(folder)
        _choose_broker(folder)
    except reachable.Unreachable as error:
        ending.close()
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure() -> None:
    ending.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Every reason to skip, with how many tests it cost."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[-1]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


# ── servers ──────────────────────────────────────────────────────────────────────────────


def _choose_database(folder: Path) -> None:
    if os.environ.get("ONEBEAT_TEST_POSTGRES") == "15":
        server = servers.Postgres15(_made(folder / "postgres15"))
        ending.enter_context(servers.running(server))
        os.environ["DATABASE_URL"] = server.url
    if "DATABASE_URL" in os.environ:
        return reachable.database(os.environ["DATABASE_URL"])
    os.environ["DATABASE_URL"] = embedded.url(folder)
    return None


def start_database() -> None:
    """Start the server that comes along, if that is the one to test on."""
    folder = Path(os.environ["ONEBEAT_DATA"])
    if os.environ["DATABASE_URL"] == embedded.url(folder):
        ending.callback(embedded.start(folder).stop)


def _choose_broker(folder: Path) -> None:
    name = os.environ.get("ONEBEAT_TEST_BROKER", "pgmq")
    if name != "pgmq":
        broker = servers.BROKERS[name](_made(folder / name))
        ending.enter_context(servers.running(broker))
        os.environ["BROKER_URL"] = broker.url
    elif "BROKER_URL" in os.environ:
        reachable.broker(os.environ["BROKER_URL"])


# ── folders ──────────────────────────────────────────────────────────────────────────────


def _own_folder() -> Path:
    _clear_killed_sessions()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _clear_killed_sessions() -> None:
    """A test run that was killed leaves its PostgreSQL running: end it, remove its folder."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = int(folder.name.removeprefix(PREFIX).split("-")[0])
        if not psutil.pid_exists(pid):
            with suppress(OSError):
                embedded.Server(embedded.url(folder), folder / "postgres").stop()
            shutil.rmtree(folder, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
