"""Carries out the faults of a plan on a stage, and heals each after its time.

Every fault is written down with the instants at which it began and at which it was healed: the
oracle holds reviews against them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

import psutil

from config import embedded
from tests.chaos.plan import Fault, Kind
from tests.chaos.stage import Host, Stage, now
from tests.proxy import Proxy

_DOUBLED = 30  # messages at once, each up to five times
_LOST_COMMITS = 12
_SLOW = 0.08  # seconds a piece
_TRIES = 5


@dataclass(frozen=True)
class Made:
    """A fault that was made; seconds since 1970."""

    kind: Kind
    began: float
    healed: float


@dataclass
class Conductor:
    """Makes the faults of a plan, one thread each, so that a long one holds up no other."""

    stage: Stage
    began: float = field(default_factory=time.monotonic)
    made: list[Made] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _busy: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def play(self, faults: Iterable[Fault]) -> None:
        """Make each at its time. Returns when the last one has begun."""
        for fault in faults:
            time.sleep(max(0.0, self.began + fault.at - time.monotonic()))
            print(fault, file=sys.stderr, flush=True)
            thread = threading.Thread(target=self._make, args=(fault,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def heal(self, *, within: float = 120) -> None:
        """Wait until every fault is healed."""
        deadline = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                self.failed.append("a fault was not healed in time")

    def _make(self, fault: Fault) -> None:
        part = PARTS[fault.kind]
        with self._lock:  # what is down already is left alone
            if part in self._busy:
                return
            self._busy.add(part)
        began = now()
        try:
            FAULTS[fault.kind](self.stage, fault)
        except Exception as error:  # a fault that cannot be made spoils the run, and says so
            self.failed.append(f"{fault}: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._busy.discard(part)
                self.made.append(Made(fault.kind, began, now()))


# ── hosts ────────────────────────────────────────────────────────────────────────────────


def _victim(stage: Stage, role: str, fault: Fault) -> Host:
    hosts = stage.of(role)
    return hosts[fault.whom % len(hosts)]


def _kill(role: str) -> Callable[[Stage, Fault], None]:
    def make(stage: Stage, fault: Fault) -> None:
        host = _victim(stage, role, fault)
        host.wanted = False
        host.kill()
        time.sleep(fault.lasts)
        host.start()
        host.wanted = True

    return make


def _freeze(role: str) -> Callable[[Stage, Fault], None]:
    def make(stage: Stage, fault: Fault) -> None:
        host = _victim(stage, role, fault)
        host.signal(signal.SIGSTOP)
        time.sleep(fault.lasts)
        host.signal(signal.SIGCONT)

    return make


def kill_child(stage: Stage, fault: Fault) -> None:
    """SIGKILL to one process of a worker's pool, as the out-of-memory killer does."""
    with suppress(psutil.Error, IndexError):
        children = _victim(stage, "worker", fault).processes[1:]
        os.kill(children[fault.whom % len(children)].pid, signal.SIGKILL)


def stop_warm(stage: Stage, fault: Fault) -> None:
    """SIGTERM to the worker alone: it finishes what it has, and is started again."""
    with suppress(psutil.Error, IndexError):
        _victim(stage, "worker", fault).processes[0].send_signal(signal.SIGTERM)


# ── the broker ───────────────────────────────────────────────────────────────────────────


def _kill_broker(stage: Stage, fault: Fault) -> None:
    if stage.broker is None:  # PGMQ lives in the database: only its connections die
        return _cut(lambda stage: [stage.broker_line])(stage, fault)
    stage.broker.kill()
    time.sleep(fault.lasts)
    stage.broker.start()
    return None


def _wipe_broker(stage: Stage, fault: Fault) -> None:
    if stage.broker is not None:
        stage.broker.wipe()
    else:
        stage.ask("select pgmq.purge_queue('default')")


# ── lines ────────────────────────────────────────────────────────────────────────────────

Lines = Callable[[Stage], list[Proxy]]


def _cut(lines: Lines) -> Callable[[Stage, Fault], None]:
    def make(stage: Stage, fault: Fault) -> None:
        for line in lines(stage):
            line.cut()
        time.sleep(fault.lasts)
        for line in lines(stage):
            line.heal()

    return make


def _hang(lines: Lines) -> Callable[[Stage, Fault], None]:
    def make(stage: Stage, fault: Fault) -> None:
        for line in lines(stage):
            line.hang()
        time.sleep(fault.lasts)
        for line in lines(stage):
            line.go_on()

    return make


def _one_line(fault: Fault) -> Lines:
    """The beats', the workers', or both."""

    def chosen(stage: Stage) -> list[Proxy]:
        both = [stage.beat_line, stage.work_line]
        return [[both[0]], [both[1]], both][fault.whom % 3]

    return chosen


def _slow(stage: Stage, fault: Fault) -> None:
    lines = _one_line(fault)(stage)
    for line in lines:
        line.delay = _SLOW
    time.sleep(fault.lasts)
    for line in lines:
        line.delay = 0.0


def _lose_commits(stage: Stage, fault: Fault) -> None:
    lines = _one_line(fault)(stage)
    # A commit, or the update of a statement that commits by itself.
    what = (b"COMMIT", b"update")[fault.whom // 3 % 2]
    for line in lines:
        line.lose_answers(_LOST_COMMITS, what)
    time.sleep(fault.lasts)
    for line in lines:
        line.lose_answers(0)


# ── the database ─────────────────────────────────────────────────────────────────────────


def kill_database(stage: Stage, fault: Fault) -> None:
    """SIGKILL to the postmaster; its processes end by themselves as they notice."""
    assert stage.database is not None
    pid = stage.database.pid
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    time.sleep(fault.lasts)
    embedded.start(stage.folder / "database")


def end_connections(stage: Stage, fault: Fault) -> None:
    """As an administrator, or a standby that is promoted, would."""
    stage.ask(_END)


_END = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and usename = current_user
"""


# ── messages ─────────────────────────────────────────────────────────────────────────────


def double_messages(stage: Stage, fault: Fault) -> None:
    """Runs of every state are sent two to five times more, past the product."""
    from config.celery import app
    from runs.publishing.choice import publisher
    from runs.publishing.publisher import BrokerAway

    rows: list[tuple[UUID]] = stage.ask(_ANY, _DOUBLED)
    times = 2 + fault.whom % 4
    ids = [run_id for (run_id,) in rows for _ in range(times)]
    random.Random(fault.whom).shuffle(ids)
    sender = publisher(app)
    for _ in range(_TRIES):
        try:
            sender.send("default", ids, within=3)
            break
        except BrokerAway:  # it is down as well just now; in the end there is nothing to double
            time.sleep(3)
    sender.close()


_ANY = "select id from runs_run order by id desc limit %s"


def _all_broker(stage: Stage) -> list[Proxy]:
    return [stage.broker_line]


FAULTS: dict[Kind, Callable[[Stage, Fault], None]] = {
    Kind.KILL_BEAT: _kill("beat"),
    Kind.FREEZE_BEAT: _freeze("beat"),
    Kind.KILL_WORKER: _kill("worker"),
    Kind.FREEZE_WORKER: _freeze("worker"),
    Kind.KILL_CHILD: kill_child,
    Kind.WARM_STOP: stop_warm,
    Kind.KILL_BROKER: _kill_broker,
    Kind.HANG_BROKER: _hang(_all_broker),
    Kind.CUT_BROKER: _cut(_all_broker),
    Kind.WIPE_BROKER: _wipe_broker,
    Kind.KILL_DATABASE: kill_database,
    Kind.END_CONNECTIONS: end_connections,
    Kind.CUT_DATABASE: lambda stage, fault: _cut(_one_line(fault))(stage, fault),
    Kind.HANG_DATABASE: lambda stage, fault: _hang(_one_line(fault))(stage, fault),
    Kind.SLOW_DATABASE: _slow,
    Kind.LOSE_COMMITS: _lose_commits,
    Kind.DOUBLE_MESSAGES: double_messages,
}
# Faults of the same part exclude each other: who is down cannot be killed.
PARTS: dict[Kind, str] = {
    Kind.KILL_BEAT: "beats",
    Kind.FREEZE_BEAT: "beats",
    Kind.KILL_WORKER: "workers",
    Kind.FREEZE_WORKER: "workers",
    Kind.KILL_CHILD: "workers",
    Kind.WARM_STOP: "workers",
    Kind.KILL_BROKER: "broker",
    Kind.HANG_BROKER: "broker",
    Kind.CUT_BROKER: "broker",
    Kind.WIPE_BROKER: "broker",
    Kind.KILL_DATABASE: "database",
    Kind.END_CONNECTIONS: "database",
    Kind.CUT_DATABASE: "database",
    Kind.HANG_DATABASE: "database",
    Kind.SLOW_DATABASE: "database",
    Kind.LOSE_COMMITS: "database",
    Kind.DOUBLE_MESSAGES: "messages",
}
