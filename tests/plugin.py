"""What must stand before Django reads its settings: loaded by `-p tests.plugin`.

| variable | meaning | unset |
|---|---|---|
| DATABASE_URL | the server to test on | the PostgreSQL that comes along, in a temporary folder |
| BROKER_URL | the broker of real processes | PGMQ in the same database |
| ONEBEAT_TEST_POSTGRES=15 | start Debian's PostgreSQL 15 and test on it | |
| ONEBEAT_TEST_BROKER=rabbitmq, redis | start this one and test with it | |
| ONEBEAT_REQUIRE=all | a server or browser that is missing fails its tests | it skips them |

The server that comes along starts with the first test that asks for a database.

Under `-n 2` (pytest-xdist) each of its processes has servers of its own: one tells the stories,
one after the other, while the other goes through the rest, file by file.
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
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from config import embedded, reachable
from tests import servers

PREFIX = "onebeat-tests-"
FAST = {
    "ONEBEAT_LEASE": "3",
    "ONEBEAT_SWEEP": "0.3",
    "ONEBEAT_RESEND": "1.5",
    "ONEBEAT_STOP_GRACE": "1",
}
# What this plugin chose, as against what was given: a process that it is handed on to chooses anew.
CHOSEN = "ONEBEAT_TEST_CHOSEN"
STORIES = "tests/story/"
ending = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    for name in os.environ.pop(CHOSEN, "").split():
        del os.environ[name]
    os.environ["PYTHONTZPATH"] = ""
    zoneinfo.reset_tzpath(to=())
    folder = _own_folder()
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(64))
    os.environ.setdefault("ONEBEAT_SEALING_KEYS", Fernet.generate_key().decode())
    os.environ["ONEBEAT_DATA"] = str(folder)
    for name, value in FAST.items():
        os.environ.setdefault(name, value)
    try:
        leads = _leads_others(early_config)
        _choose_database(folder, leads)
        if not leads:
            _choose_broker(folder)
    except reachable.Unreachable as error:
        ending.close()
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stories first, where others can be told beside them: together they take the longest."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: _group(item.nodeid) != STORIES)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Hands the tests out by groups, each of which one process goes through in order."""
    return ByGroup(config, log)


class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
    """All stories are one group, since each wants the machine; any other file is one."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def _group(nodeid: str) -> str:
    return STORIES if nodeid.startswith(STORIES) else nodeid.split("::")[0]


def pytest_unconfigure() -> None:
    ending.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Every reason to skip, with how many tests it cost."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[-1]).removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


def _leads_others(config: pytest.Config) -> bool:
    """Whether this process hands the tests out to others and runs none itself."""
    distributes = bool(getattr(config.known_args_namespace, "numprocesses", None))
    return distributes and "PYTEST_XDIST_WORKER" not in os.environ


# ── servers ──────────────────────────────────────────────────────────────────────────────


def _choose_database(folder: Path, leads: bool) -> None:
    if os.environ.get("ONEBEAT_TEST_POSTGRES") == "15" and not leads:
        server = servers.Postgres15(_made(folder / "postgres15"))
        ending.enter_context(servers.running(server))
        _chose("DATABASE_URL", server.url)
    if "DATABASE_URL" in os.environ:
        return reachable.database(os.environ["DATABASE_URL"])
    _chose("DATABASE_URL", embedded.url(folder))
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
        _chose("BROKER_URL", broker.url)
    elif "BROKER_URL" in os.environ:
        reachable.broker(os.environ["BROKER_URL"])


def _chose(name: str, value: str) -> None:
    os.environ[name] = value
    os.environ[CHOSEN] = f"{os.environ.get(CHOSEN, '')} {name}".strip()


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
