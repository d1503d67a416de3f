"""The tasks that the jobs of a chaos run call, registered in its workers: a task's effect is at
the same independent target."""

from __future__ import annotations

import http.client
import os
import time

from jobs.task_registry import Refused, current_run, job_task

_REFUSED, _FAILED = 404, 400
_TIMEOUT = 2.0  # seconds


@job_task("chaos.call")
def call(kind: str, job: str) -> None:
    """Ask the target to act for this run; `kind` once or raw, as in tests/chaos/target.py."""
    run = current_run()
    headers = {"Idempotency-Key": run.key, "Onebeat-Attempt": str(run.attempt)}
    line = http.client.HTTPConnection(os.environ["CHAOS_TARGET"], timeout=_TIMEOUT)
    try:
        line.request("POST", f"/{kind}/{job}", headers=headers)
        status = line.getresponse().status
    finally:
        line.close()
    if status == _REFUSED:
        raise Refused("The target refused.")
    if status >= _FAILED:
        raise RuntimeError(f"The target answered {status}.")


@job_task("chaos.nap")
def nap(seconds: float) -> None:
    """Take so long."""
    time.sleep(seconds)


@job_task("chaos.poison")
def poison(way: str) -> None:
    """End the process in the middle of a run: by `exit`, `memory` (the out-of-memory killer's
    signal) or `segfault`."""
    match way:
        case "exit":
            raise SystemExit(3)
        case "memory":
            os.kill(os.getpid(), 9)
        case _:
            os.kill(os.getpid(), 11)
