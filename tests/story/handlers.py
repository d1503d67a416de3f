"""Functions that the stories' jobs call, registered in the workers that the tests start."""

from __future__ import annotations

import os
from pathlib import Path

from celery import shared_task

from jobs.task_registry import current_run, job_task


@job_task("story.note")
def note() -> None:
    """Append this run's key to a file, in one write: evidence that a worker cannot undo."""
    _append(current_run().key)


@shared_task(name="story.not_ours")
def not_ours() -> None:
    """A Celery task that the worker knows and no message may reach."""
    _append("reached by a message")


def _append(line: str) -> None:
    path = Path(os.environ["STORY_FOLDER"]) / "notes"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)
