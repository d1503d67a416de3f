"""The scenes behind the figures: a stage with a quiet target, a steady load, and one thing that
happens. Each returns what it measured."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil

from tests.chaos import cast, play
from tests.chaos.conduct import kill_database
from tests.chaos.plan import Fault, Kind
from tests.chaos.play import percentile
from tests.chaos.stage import Host, Stage, now, supervised
from tests.servers import wait_until

Figures = dict[str, Any]
_READY = 4.0  # seconds from a registration to the first moment
_WRONG = 120  # seconds that a host's clock may be wrong by


class Load:
    """`rate` jobs due each second for so long, on two beats and two workers."""

    def __init__(self, stage: Stage, *, rate: int, seconds: float, clocks: Sequence[int] = (0,)):
        self.stage = stage
        for number in range(2):
            stage.beat(clock=clocks[number % len(clocks)])
        for number in range(2):
            stage.worker(clock=clocks[number % len(clocks)])
        stage.set_up_django()
        stage.up()
        self.first = datetime.fromtimestamp(int(now() + _READY), UTC)
        self.parts = cast.cast(rate, first=self.first, seconds=seconds)
        cast.register(self.parts, stage.target)

    def wait(self, seconds: float) -> datetime:
        """Until so many seconds after the first moment; that instant."""
        until = self.first + timedelta(seconds=seconds)
        time.sleep(max(0.0, until.timestamp() - now()))
        return until

    def verdict(self) -> Figures:
        """What the oracle says once all is at rest."""
        spoilt = play.come_to_rest(self.stage, bound=180)
        return play.judged(self.stage, self.parts, spoilt).figures()

    def lags(self, since: datetime, until: datetime) -> list[float]:
        """Seconds from each moment in between to the start of its first attempt, sorted."""
        rows = self.stage.ask(_LAGS, since, until)
        return sorted(float(seconds) for (seconds,) in rows)


_LAGS = """
select extract(epoch from coalesce(a.started_at, clock_timestamp()) - r.due_at)
  from runs_run r left join runs_attempt a on a.run_id = r.id and a.number = 1
 where r.state <> 'SKIPPED' and r.due_at > %s and r.due_at <= %s
"""


def shares(lags: Sequence[float]) -> Figures:
    return {"runs": len(lags), **{f"p{share}": percentile(lags, share) for share in (50, 95, 99)}}


# ── F6, F7: lag ──────────────────────────────────────────────────────────────────────────


def lag(stage: Stage, *, minutes: float) -> Figures:
    """F6: 50 moments a second, no faults; the first ten seconds warm up."""
    load = Load(stage, rate=50, seconds=minutes * 60)
    until = load.wait(minutes * 60)
    load.wait(minutes * 60 + 5)
    return shares(load.lags(load.first + timedelta(seconds=10), until))


def beat_killed(stage: Stage, *, minutes: float) -> Figures:
    """F7: one of two beats is killed and stays away; the twenty seconds before and after."""
    load = Load(stage, rate=20, seconds=60)
    load.wait(30)
    killed = datetime.fromtimestamp(now(), UTC)
    stage.of("beat")[0].kill()
    load.wait(60)
    before = load.lags(killed - timedelta(seconds=20), killed - timedelta(seconds=3))
    after = load.lags(killed - timedelta(seconds=3), killed + timedelta(seconds=20))
    added = (percentile(after, 99) or 0) - (percentile(before, 99) or 0)
    return {"before": shares(before), "after": shares(after), "added_p99": round(added, 3)}


# ── F8: a worker killed ──────────────────────────────────────────────────────────────────

_BEGUN = "select count(*) from runs_run where state = 'RUNNING' and intent_at is not null"
_UNDECIDED = "select count(*) from runs_attempt where number = 1 and ended_at is null"


def worker_killed(stage: Stage, *, minutes: float) -> Figures:
    """F8: a worker is killed in the middle of four runs, with the lease of life."""
    stage.beat(), stage.worker(concurrency=4)
    stage.set_up_django()
    stage.up()
    at = datetime.fromtimestamp(int(now() + _READY), UTC)
    for number in range(4):
        cast.register_once(f"nap {number}", at, "chaos.nap", [120], idempotent=number % 2 == 0)
    wait_until(lambda: stage.ask(_BEGUN) == [(4,)], seconds=60, what="four runs have begun")
    killed = now()
    stage.of("worker")[0].kill()
    wait_until(lambda: stage.ask(_UNDECIDED) == [(0,)], seconds=90, what="all are decided")
    states = dict(stage.ask("select state, count(*) from runs_run where attempt > 0 group by 1"))
    return {"decided_s": round(now() - killed, 1), "states": states}


# ── F9: something comes back ─────────────────────────────────────────────────────────────

_OPEN = (
    "select count(*) from runs_run where due_at <= %s and started_at is null and state <> 'SKIPPED'"
)
_AT_WORK = """
select (select count(*) from runs_run where created_at > %s),
       (select count(*) from runs_attempt where started_at > %s and outcome = 'succeeded')
"""


def come_back(stage: Stage, *, minutes: float) -> Figures:
    """F9: the broker is killed for ten seconds, then PostgreSQL for five. Until all that fell
    due meanwhile has started; until claims and successes are there again."""
    load = Load(stage, rate=10, seconds=90)
    load.wait(15)
    broker = _broker_back(load)
    load.wait(60)
    pids = _pids(stage)
    kill_database(stage, Fault(0, Kind.KILL_DATABASE, 0, 5.0))
    back = datetime.fromtimestamp(now(), UTC)
    wait_until(lambda: all(stage.ask(_AT_WORK, back, back)[0]), seconds=60, what="all is at work")
    database = round(now() - back.timestamp(), 1)
    load.wait(92)
    restarted = _pids(stage) != pids
    found = load.verdict()
    return {"broker_back_s": broker, "database_back_s": database, "by_hand": restarted, **found}


def _broker_back(load: Load) -> float:
    stage = load.stage
    if stage.broker is None:
        stage.broker_line.cut()
    else:
        stage.broker.kill()
    time.sleep(10)
    if stage.broker is None:
        stage.broker_line.heal()
    else:
        stage.broker.start()
    back = datetime.fromtimestamp(now(), UTC)
    wait_until(lambda: stage.ask(_OPEN, back) == [(0,)], seconds=90, what="all has started")
    return round(now() - back.timestamp(), 1)


def _pids(stage: Stage) -> list[int]:
    return [host.child.pid for host in stage.hosts if host.child and not host.child.ended]


# ── F10, F11: nothing changes ────────────────────────────────────────────────────────────


def wrong_clocks(stage: Stage, *, minutes: float) -> Figures:
    """F10: each host's clock is two minutes wrong, one ahead and one behind of each kind."""
    load = Load(stage, rate=10, seconds=minutes * 60, clocks=(_WRONG, -_WRONG))
    load.wait(minutes * 60 + 1)
    return load.verdict()


def rolling_restart(stage: Stage, *, minutes: float) -> Figures:
    """F11: every twenty seconds one process is asked to end, and started again, each in turn."""
    pause = 20.0
    load = Load(stage, rate=10, seconds=pause * (len(stage.hosts) + 1) + 80)
    with supervised(stage):
        for number, host in enumerate(stage.hosts):
            load.wait(pause * (number + 1))
            _ask_to_end(host)
        load.wait(pause * (len(stage.hosts) + 1) + 81)
        found = load.verdict()
    return {**found, "restarts": stage.restarts}


def _ask_to_end(host: Host) -> None:
    with suppress(psutil.Error, IndexError):
        host.processes[0].send_signal(signal.SIGTERM)


# ── F12: poison ──────────────────────────────────────────────────────────────────────────

_ENDS = """
select r.state, count(*) from runs_run r join jobs_job j on j.id = r.job_id
 where j.name like 'poison%%' group by 1
"""
_POISON_MOVES = """
select count(*) from runs_run r join jobs_job j on j.id = r.job_id
 where j.name like 'poison%%' and r.state not in ('DEAD', 'REVIEW')
"""


def poison(stage: Stage, *, minutes: float) -> Figures:
    """F12: runs that end their process by exit, memory and segfault, both kinds of job, beside a
    steady load."""
    load = Load(stage, rate=10, seconds=60)
    parents = [host.processes[0].pid for host in stage.of("worker")]
    at = load.first + timedelta(seconds=10)
    for number, way in enumerate(("exit", "memory", "segfault") * 2):
        cast.register_once(
            f"poison {number}", at, "chaos.poison", [way], idempotent=number < 3, max_attempts=3
        )
    until = load.wait(60)
    wait_until(lambda: stage.ask(_POISON_MOVES) == [(0,)], seconds=180, what="all poison is out")
    alive = [host.processes[0].pid for host in stage.of("worker")] == parents
    lags = load.lags(load.first, until)
    return {"parents_alive": alive, "poison": dict(stage.ask(_ENDS)), "others": shares(lags)}


# ── F14: a soak ──────────────────────────────────────────────────────────────────────────

_SIZES = """
select (select count(*) from pg_stat_activity where datname = current_database()),
       pg_table_size('jobs_due'), pg_indexes_size('jobs_due'),
       (select n_dead_tup from pg_stat_user_tables where relname = 'jobs_due')
"""


def soak(stage: Stage, *, minutes: float) -> Figures:
    """F14: a steady load; memory, connections and the size of what is rewritten at each fire, as
    they are after a fifth of the time and as they are in the end."""
    load = Load(stage, rate=10, seconds=minutes * 60)
    load.wait(minutes * 12)
    early = _used(stage)
    most = early["connections"]
    end = load.first.timestamp() + minutes * 60
    while now() < end:
        most = max(most, _used(stage)["connections"])
        time.sleep(5)
    late = _used(stage)
    growth = round(late["memory_mb"] / early["memory_mb"] - 1, 4)
    return {"early": early, "late": late, "memory_growth": growth, "most_connections": most}


def _used(stage: Stage) -> Figures:
    connections, table, indexes, dead = stage.ask(_SIZES)[0]
    memory = sum(_private(process) for host in stage.hosts for process in host.processes)
    due = {"due_table_kb": table // 1024, "due_indexes_kb": indexes // 1024, "due_dead_rows": dead}
    return {"memory_mb": round(memory / 2**20, 1), "connections": connections, **due}


def _private(process: psutil.Process) -> int:
    """Bytes that are its own: what a pool's children share with their parent counts once."""
    return int(process.memory_full_info().uss)


SCENES: dict[str, Callable[..., Figures]] = {
    "F6": lag,
    "F7": beat_killed,
    "F8": worker_killed,
    "F9": come_back,
    "F10": wrong_clocks,
    "F11": rolling_restart,
    "F12": poison,
    "F14": soak,
}
