"""A beat and a worker as forked processes, which play a round each and may be struck.

They call the very functions that beat and worker call, on a database of their own with PGMQ in it,
and call a target that shares no code with the product. A round takes some hundredths of a second,
where starting Celery would take seconds; tests/crash/test_processes.py plays the same table with
the whole product.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any, Self

import celery
from django.conf import settings
from django.db import connection, connections
from environs import Env
from kombu import Queue

from config import brokers, databases
from config.celery import PINNED
from jobs import clock
from runs import claim, enqueue, faults, rescue, tasks
from runs.bounds import EVER
from runs.faults import Action
from runs.models import Run
from runs.publishing.choice import publisher
from runs.publishing.publisher import Publisher
from tests.servers import wait_until

QUEUES = ("default", "other")
SHARDS = range(256)
PATIENCE = 30.0  # seconds for what takes a moment
_RESTS = ("SUCCEEDED", "DEAD", "REVIEW", "CANCELLED", "SKIPPED", "CLOSED")
# A transaction of a process that stands still is ended by the database; by rule after 30 s.
_SESSION = "set idle_in_transaction_session_timeout = '200ms'"
_inherited: list[Any] = []  # the parent's connection, which a child must not close


@dataclass(frozen=True)
class Played:
    """A process that was struck: it ended, or it stands still. Gone at the end of its block."""

    pid: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def wait(self) -> int:
        """The wait status once it has ended or stands still."""
        found: list[int] = []

        def changed() -> bool:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            found.extend([status] if pid else [])
            return bool(pid)

        wait_until(changed, seconds=2 * PATIENCE, what="the process ends or stands still")
        return found[0]

    def go_on(self) -> int:
        """Let it go on; the wait status once it has ended."""
        os.kill(self.pid, signal.SIGCONT)
        return self.wait()


def forked(
    play: Callable[[], object], strikes: Iterable[str] = (), *, database: str = ""
) -> Played:
    """A process of its own that plays this, with these faults armed, and ends. `database`: its
    way there, where that is another than ours."""
    pid = os.fork()
    if pid:
        return Played(pid)
    try:
        _inherited.append(connection.connection)
        connection.connection = None
        found = databases.config(database, Env()) if database else {}
        connection.settings_dict = {**connection.settings_dict, **found}
        connections.databases["default"] = connection.settings_dict  # for its threads
        faults.arm(strikes)
        if any(armed.action is Action.HANG for armed in faults._armed):
            with connection.cursor() as cursor:
                cursor.execute(_SESSION)
        play()
        assert all(armed.passes.value >= armed.hit for armed in faults._armed), "not reached"
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        os._exit(70)
    os._exit(0)


# ── a beat ───────────────────────────────────────────────────────────────────────────────


def beat(url: str) -> None:
    """One tick: what a step raises is caught, and its connection dropped, as the beat's are."""
    sending = _publisher(url)
    for step in _steps(sending):
        try:
            step()
        except Exception:
            traceback.print_exc(file=sys.stderr)
            connection.close()


def _steps(sending: Publisher) -> Iterator[Callable[[], object]]:
    yield lambda: claim.due_jobs(clock.now(), shards=SHARDS, above=EVER)
    yield lambda: enqueue.waiting_runs(clock.now(), sending, above=EVER)
    yield rescue.silent_workers
    yield rescue.missed_wake_ups
    yield lambda: rescue.lost_messages(clock.now(), sending)


@cache  # by each process: the parent has none
def _publisher(url: str) -> Publisher:
    app = celery.Celery("of-the-stage", broker="pgmq://localhost", set_as_current=False)
    app.conf.update(
        PINNED,
        task_queues=[Queue(name, routing_key=name) for name in QUEUES],
        broker_transport_options=brokers.transport_options(brokers.pgmq_url(url)),
    )
    return publisher(app)


def send(url: str, job_ids: list[Any]) -> None:
    """Beats, unharmed, until the run of each job is with the broker."""
    sent = Run.objects.filter(job__in=job_ids, state="ENQUEUED")
    wait_until(
        lambda: forked(partial(beat, url)).wait() == 0 and sent.count() == len(job_ids),
        seconds=PATIENCE,
        what="all are sent",
    )


# ── a worker ─────────────────────────────────────────────────────────────────────────────

_READ = "select msg_id, message from pgmq.read(%s, 3600, 1)"


def work() -> None:
    """Carry out what waits in the queues, one message after the other, each acknowledged when
    its task is over."""
    for queue in QUEUES:
        while message := _one(_READ, [queue]):
            number, envelope = message
            (run_id,), *_ = json.loads(base64.b64decode(json.loads(envelope)["body"]))
            tasks.run(run_id)
            _one("select pgmq.delete(%s, %s::bigint)", [queue, number])


def _one(statement: str, values: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()


# ── time ─────────────────────────────────────────────────────────────────────────────────

_TIME_PASSES = """
update runs_run set lease_until = clock_timestamp() - interval '1 second'
 where state = 'RUNNING';
update runs_run set send_at = clock_timestamp() - interval '1 second'
 where state in ('ENQUEUED', 'RETRYING');
"""
_DELIVERED_AGAIN = "update pgmq.q_{} set vt = clock_timestamp()"


def time_passes() -> None:
    """Leases run out, waits are over, and what was received and not acknowledged is delivered
    again: to be called when nobody is at work but who was struck."""
    with connection.cursor() as cursor:
        cursor.execute(_TIME_PASSES)
        for queue in QUEUES:
            cursor.execute(_DELIVERED_AGAIN.format(queue))


def double_messages(times: int) -> None:
    """The broker holds so many copies of each message."""
    with connection.cursor() as cursor:
        for queue in QUEUES:
            cursor.execute(
                f"select pgmq.send('{queue}', message)"
                f"  from pgmq.q_{queue}, generate_series(2, %s)",
                [times],
            )


def lose_messages() -> None:
    """The broker loses what it holds."""
    with connection.cursor() as cursor:
        for queue in QUEUES:
            cursor.execute(f"truncate pgmq.q_{queue}")


def heal(url: str, job_ids: list[Any]) -> None:
    """Rounds of beats and workers, unharmed, until every job's run rests; then one more, after
    which nothing has changed."""
    deadline = time.monotonic() + PATIENCE
    while not _rest(job_ids):
        if time.monotonic() > deadline:
            raise AssertionError(f"no rest: {list(Run.objects.values('state', 'reason'))}")
        _round(url)
    _round(url)


def _round(url: str) -> None:
    time_passes()
    beat(url)
    work()


def _rest(job_ids: list[Any]) -> bool:
    states = list(Run.objects.filter(job__in=job_ids).values_list("state", flat=True))
    return len(states) == len(job_ids) and all(state in _RESTS for state in states)


def past_the_lease(since: datetime) -> None:
    """Wait until a worker that has stood still since then could not begin an effect any more."""
    seconds = float(settings.LEASE)
    wait_until(
        lambda: (clock.now() - since).total_seconds() > seconds,
        seconds=PATIENCE,
        what="the lease is over",
    )
