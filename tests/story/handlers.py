"""Functions that the stories' jobs call, registered in the workers that the tests start."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from celery import shared_task

from jobs.task_registry import current_run, job_task


@job_task("story.note")
def note() -> None:
    """Append this run's key to a file, in one write: evidence that a worker cannot undo."""
    _append("notes", current_run().key)


@job_task("story.work")
def work(seconds: float) -> None:
    """Take so long, and pay no heed to anybody who asks it to stop. Notes when it began, and
    when it ended, by this machine's clock."""
    _append("work", f"{current_run().key} begins {time.time()}")
    threading.Event().wait(seconds)
    _append("work", f"{current_run().key} ends {time.time()}")


@job_task("story.die")
def die(how: str) -> None:
    """End this process as the OOM killer does, or a fault in C, or a handler that exits."""
    _append("deaths", current_run().key)
    match how:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(1)
        case "memory":
            raise MemoryError


@shared_task(name="story.not_ours")
def not_ours() -> None:
    """A Celery task that the worker knows and no message may reach."""
    _append("notes", "reached by a message")


def _append(name: str, line: str) -> None:
    path = Path(os.environ["STORY_FOLDER"]) / name
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)
