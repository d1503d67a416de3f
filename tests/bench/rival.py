"""The same burst by celery-redbeat on Redis: entries due at one instant, one beat process.

Also the Celery application of that process: `celery -A tests.bench.rival beat`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from celery import Celery
from celery.schedules import schedule
from redbeat import RedBeatSchedulerEntry
from redbeat.decoder import RedBeatJSONEncoder
from redbeat.schedulers import RedBeatConfig
from redis import Redis

from tests.servers import Child

QUEUE = "redbeat"
EVERY = timedelta(hours=1)
ROOT = Path(__file__).resolve().parents[2]

app = Celery("rival", set_as_current=False)
app.conf.update(
    broker_url=os.environ.get("RIVAL_REDIS", "redis://127.0.0.1:1/0"),
    redbeat_redis_url=os.environ.get("RIVAL_REDIS", "redis://127.0.0.1:1/0"),
    redbeat_lock_timeout=600,  # it loads all that is due before it sends the first
    task_default_queue=QUEUE,
    task_ignore_result=True,
    enable_utc=True,
    timezone="UTC",
)


def fires_per_second(due: int, redis_url: str, folder: Path) -> float:
    """From the instant at which they are due until the last message is in the queue."""
    app.conf.update(broker_url=redis_url, redbeat_redis_url=redis_url)
    client = Redis.from_url(redis_url)
    keys = [_save(f"job {number}") for number in range(due)]
    at = datetime.now(UTC) + timedelta(seconds=10)
    _share_a_moment(client, keys, at)
    with _beat(redis_url, folder):
        while (sent := client.llen(QUEUE)) < due:
            if datetime.now(UTC) > at + timedelta(seconds=180):
                raise SystemExit(f"redbeat sent {sent} of {due}, see {folder}/redbeat.log")
            time.sleep(0.02)
        taken = datetime.now(UTC) - at
    return due / taken.total_seconds()


def _save(name: str) -> str:
    entry = RedBeatSchedulerEntry(name, "rival.run", schedule(EVERY, app=app), app=app)
    return str(entry.save().key)


def _share_a_moment(client: Redis, keys: list[str], at: datetime) -> None:
    meta = json.dumps({"last_run_at": at - EVERY}, cls=RedBeatJSONEncoder)
    with client.pipeline() as pipe:
        for key in keys:
            pipe.hset(key, "meta", meta)
        pipe.zadd(RedBeatConfig(app).schedule_key, dict.fromkeys(keys, at.timestamp()))
        pipe.execute()


@contextmanager
def _beat(redis_url: str, folder: Path) -> Iterator[None]:
    words = ["celery", "-A", "tests.bench.rival", "beat", "-S", "redbeat.RedBeatScheduler"]
    # Its own default of 300 s would let it sleep on after the first of many due at one instant.
    calm = ["--max-interval", "1", "--loglevel", "WARNING", "--schedule", str(folder / "redbeat")]
    env = {**os.environ, "RIVAL_REDIS": redis_url, "PYTHONPATH": str(ROOT)}
    env.pop("BROKER_URL", None)
    child = Child([sys.executable, "-m", *words, *calm], log=folder / "redbeat.log", env=env)
    try:
        yield
    finally:
        child.kill()
