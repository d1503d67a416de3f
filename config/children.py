"""One process that `manage.py up` keeps alive: started, followed, started again, ended.

Each has a session of its own, so that a signal to the terminal's group reaches the supervisor
alone, and writes to a file of its own, so that it outlives a supervisor that is killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LONGEST_DELAY = 30.0  # seconds
HEALTHY_AFTER = 60.0  # seconds alive, after which earlier deaths are forgotten
LOG_LIMIT = 10 << 20  # bytes; one older file of this size is kept


@dataclass(frozen=True)
class Program:
    """What to run. Several programs of one `kind` share it (`beat`), never a `name`."""

    kind: str
    name: str
    words: Sequence[str]


def delay(deaths: int) -> float:
    """Seconds to wait after so many deaths in a row: 1, 2, 4 … at most LONGEST_DELAY."""
    return float(min(2 ** min(deaths - 1, 10), LONGEST_DELAY))


class Child:
    """A program and its process. `now` is always seconds of a monotonic clock."""

    def __init__(self, program: Program, env: Mapping[str, str], folder: Path, log: Path):
        self.program = program
        self._env = dict(env)
        self._folder = folder
        self._log = Log(log)
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._started = self._again_at = 0.0

    @property
    def pid(self) -> int | None:
        """None while it is dead."""
        return self._process.pid if self._process is not None else None

    def start(self, now: float) -> None:
        with self._log.path.open("ab") as output:
            self._process = subprocess.Popen(
                self.program.words,
                cwd=self._folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started = now

    def tend(self, now: float) -> str | None:
        """Bury it if it has died, start it again when its time has come; what to say of it."""
        if self._process is None:
            if now < self._again_at:
                return None
            self.start(now)
            return None
        code = self._process.poll()
        if code is None:
            return None
        self.cut()  # its own children would hold the port, or go on with a run
        self._deaths = 1 if now - self._started >= HEALTHY_AFTER else self._deaths + 1
        self._process = None
        self._again_at = now + delay(self._deaths)
        how = f"by signal {-code}" if code < 0 else f"with {code}"
        again = f"started again in {delay(self._deaths):g} s"
        return f"{self.program.name} ended {how}; {again}"

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def ask_to_end(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def cut(self) -> None:
        """SIGKILL to whatever is left of its session."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def new_lines(self) -> list[str]:
        """What it has written since the last call."""
        return self._log.new_lines()


class Log:
    """A file that a child appends to, followed from where it ended when we came."""

    def __init__(self, path: Path):
        self.path = path
        self.path.touch(mode=0o600)
        self._offset = self.path.stat().st_size
        self._rest = b""

    def new_lines(self) -> list[str]:
        with self.path.open("rb") as file:
            file.seek(self._offset)
            fresh = file.read()
        self._offset += len(fresh)
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        if keep_short(self.path):
            self._offset = 0
        return [line.decode("utf-8", "replace") for line in lines]


def keep_short(log: Path) -> bool:
    """Begin a log anew that has grown beyond LOG_LIMIT; whether it had."""
    if log.stat().st_size <= LOG_LIMIT:
        return False
    # Who writes it keeps it open for appending: it can be emptied but not replaced.
    shutil.copyfile(log, log.with_suffix(".log.1"))
    os.truncate(log, 0)
    return True
