"""Ten thousand jobs due at one instant among a hundred thousand: how fast, how late, how sure.

`python -m tests.bench.burst --jobs 100000 --due 10000 --broker rabbitmq|redis|pgmq --beats 1`
prints one JSON object as its last line; tests/bench/README.md says what each figure is.
A fire is a run that is written, in the broker and marked as sent.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet

from config import brokers, embedded, pgmq_schema
from tests import databases, servers
from tests.servers import Child, wait_until

ROOT = Path(__file__).resolve().parents[2]
FEW = 1_000  # registered jobs to compare with


@dataclass(frozen=True)
class Burst:
    """What one burst came to. `lag`: seconds from due to marked as sent."""

    fires_per_s: float
    lag_p50_s: float
    lag_p99_s: float
    missed: int
    doubled: int
    messages: int
    idle_claim_buffers: int


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onebeat-bench-")))
        url = stack.enter_context(database(folder))
        broker = stack.enter_context(_broker(options.broker, url, folder))
        environment(url, broker, folder)
        figures = _measure(options, folder)
        print(json.dumps(figures), file=sys.stderr)
        figures |= _rival(options, folder, stack, figures["fires_per_s"])
    print(json.dumps(figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.burst")
    parser.add_argument("--jobs", type=int, default=100_000, help="registered")
    parser.add_argument("--due", type=int, default=10_000, help="at one instant")
    parser.add_argument("--broker", choices=("rabbitmq", "redis", "pgmq"), default="redis")
    parser.add_argument("--beats", type=int, default=1)
    options = parser.parse_args()
    if not FEW <= options.due <= options.jobs:
        parser.error(f"--due: a number from {FEW} to --jobs")
    return options


# ── servers ──────────────────────────────────────────────────────────────────────────────


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """A database of our own on DATABASE_URL's server, or on the one that comes along."""
    with ExitStack() as stack:
        server = os.environ.get("DATABASE_URL") or embedded.url(folder)
        if "DATABASE_URL" not in os.environ:
            stack.callback(embedded.start(folder).stop)
        name = f"onebeat_bench_{os.getpid()}"
        databases.create(server, name)
        stack.callback(databases.drop, server, name)
        yield urlsplit(server)._replace(path=f"/{name}").geturl()


@contextmanager
def _broker(name: str, database_url: str, folder: Path) -> Iterator[str]:
    if name == "pgmq":
        yield brokers.pgmq_url(database_url)
        return
    with _server(name, folder) as server:
        yield server.url


@contextmanager
def _server(name: str, folder: Path, role: str = "broker") -> Iterator[servers.Server]:
    if reason := servers.missing(name):
        raise SystemExit(f"{reason}; install it, or choose another --broker")
    own = folder / role
    own.mkdir()
    with servers.running(servers.BROKERS[name](own)) as server:
        yield server


def environment(database_url: str, broker_url: str, folder: Path) -> None:
    """What our process and its children read at start; Django is set up here."""
    os.environ |= {
        "DATABASE_URL": database_url,
        "BROKER_URL": broker_url,
        "ONEBEAT_DATA": str(folder),
        "PYTHONTZPATH": "",
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(64))
    os.environ.setdefault("ONEBEAT_SEALING_KEYS", Fernet.generate_key().decode())
    import django
    from django.core.management import call_command

    django.setup()
    logging.disable(logging.INFO)  # our own lines; the beats write theirs
    call_command("migrate", verbosity=0)
    pgmq_schema.install(database_url)


# ── the measurement ──────────────────────────────────────────────────────────────────────


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    from tests.bench import look, store

    store.register_patterns()
    store.fill(FEW)
    few = look.costs(FEW)
    store.fill(options.jobs)
    many = look.costs(options.jobs)
    burst = _burst(options, folder)
    return {
        **{name: getattr(options, name) for name in ("jobs", "due", "broker", "beats")},
        **asdict(burst),
        "looks": [asdict(few), asdict(many)],
    }


def _burst(options: argparse.Namespace, folder: Path) -> Burst:
    from jobs import clock
    from tests.bench import store

    ready = clock.now() + timedelta(seconds=15 + 2 * options.beats)
    due_at = ready.replace(second=0, microsecond=0) + timedelta(minutes=1)
    store.make_due(options.due, due_at)
    with _beats(options.beats, folder):
        seconds = (due_at - clock.now()).total_seconds() + 120
        wait_until(lambda: _sent(due_at) >= options.due, seconds=seconds, what="all are sent")
        time.sleep(0.5)  # a double would come now; no condition says that none does
    return _figures(options.due, due_at)


@contextmanager
def _beats(count: int, folder: Path) -> Iterator[None]:
    with ExitStack() as stack:
        for number in range(count):
            words = ["celery", "-A", "config", "beat", "--loglevel", "INFO"]
            log = folder / f"beat{number}.log"
            child = Child([sys.executable, "-m", *words], log=log, env=dict(os.environ))
            stack.callback(child.kill)
        logs = [folder / f"beat{number}.log" for number in range(count)]
        up = lambda: all("beat.shards" in log.read_text() for log in logs)  # noqa: E731
        wait_until(up, seconds=30, what="the beats look after shards")
        try:
            yield
        except BaseException:
            print(*(log.read_text()[-5000:] for log in logs), sep="\n", file=sys.stderr)
            raise


def _sent(due_at: datetime) -> int:
    from runs.models import Run

    time.sleep(0.2)  # two cores: counting must not take what it measures
    return Run.objects.filter(due_at=due_at, state="ENQUEUED").count()


def _figures(due: int, due_at: datetime) -> Burst:
    from config.celery import app
    from runs.models import Run
    from runs.publishing.choice import publisher
    from tests.bench import look

    runs = list(Run.objects.filter(due_at=due_at).values_list("job_id", "sent_at"))
    lags = sorted((sent_at - due_at).total_seconds() for _, sent_at in runs if sent_at)
    return Burst(
        fires_per_s=round(due / lags[-1]),
        lag_p50_s=round(lags[len(lags) // 2], 3),
        lag_p99_s=round(lags[int(len(lags) * 0.99)], 3),
        missed=due - len({job_id for job_id, _ in runs}),
        doubled=len(runs) - len({job_id for job_id, _ in runs}),
        messages=publisher(app).waiting("default", within=3),
        idle_claim_buffers=look.idle_buffers(above=due_at, now=due_at + timedelta(seconds=59)),
    )


def _rival(
    options: argparse.Namespace, folder: Path, stack: ExitStack, ours: float
) -> dict[str, Any]:
    from tests.bench import rival

    server = stack.enter_context(_server("redis", folder, "rival"))
    theirs = rival.fires_per_second(options.due, server.url, folder)
    return {"redbeat_fires_per_s": round(theirs), "ratio": round(ours / theirs, 1)}


if __name__ == "__main__":
    main()
