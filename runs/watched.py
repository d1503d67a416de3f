"""The row of the platform's watchdog: a PeriodicTask that says what the settings say.

Its job is the longest way round on purpose: that a moment of it is carried out means that a beat
claims, that the broker hands on, that a worker works and that the database answers. What it does
then is in runs/watchdog.py, on the worker.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from jobs.periodic_tasks.rows import ANSWER

NAME, TASK = "Watchdog", "onebeat.watchdog"


def declare() -> None:
    """Have the row as ONEBEAT_WATCHDOG_URL and ONEBEAT_WATCHDOG_EVERY say: there and enabled, or
    disabled where no URL is set. Every beat sees to it, at its start and once a minute."""
    row = PeriodicTask.objects.filter(name=NAME).select_related("interval").first()
    if row is None and not settings.WATCHDOG_URL:
        return
    if row is None or _differs(row):
        with suppress(IntegrityError), transaction.atomic():  # another beat was faster
            _write(row or PeriodicTask(name=NAME))


def _differs(row: PeriodicTask) -> bool:
    is_right = row.task == TASK and row.interval and row.interval.every == settings.WATCHDOG_EVERY
    return not is_right or row.enabled != bool(settings.WATCHDOG_URL)


def _write(row: Any) -> None:
    every = {"every": settings.WATCHDOG_EVERY, "period": IntervalSchedule.SECONDS}
    row.interval = IntervalSchedule.objects.filter(**every).first() or IntervalSchedule(**every)
    row.interval.save()
    row.task, row.enabled = TASK, bool(settings.WATCHDOG_URL)
    row.headers = f'{{"{ANSWER}": true}}'
    row.description = "Calls ONEBEAT_WATCHDOG_URL while all is well; follows the settings."
    row.save()
