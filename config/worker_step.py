"""A worker takes no message but the entry task's.

Celery lets a message name any task that the worker knows, and platform staff may allow tasks for
PeriodicTask rows; those are reached through a run, never by a message of somebody's own.
"""

from __future__ import annotations

from typing import Any

from celery import bootsteps

from runs.publishing.envelope import TASK


class OnlyTheEntryTask(bootsteps.StartStopStep):
    """Runs each time the consumer (re)starts, after it has learnt the tasks; a message that names
    another is reported as unknown and dropped."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        parent.strategies = {
            name: strategy for name, strategy in parent.strategies.items() if name == TASK
        }
