"""django-celery-beat's tables, read as rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import CharField
from django.db.models.functions import Cast
from django_celery_beat.models import PeriodicTask

from jobs.periodic_tasks.crontab import Crontab
from jobs.periodic_tasks.rows import Row

Mark = tuple[datetime | None, int]

_MARK = """
select (select last_update from django_celery_beat_periodictasks where ident = 1),
       (select count(*) from django_celery_beat_periodictask)
"""


def mark() -> Mark:
    """The time of the last change and the number of rows: what changes with them, but for bulk
    updates, which django-celery-beat does not see."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK)
        last_update, count = cursor.fetchone()
    return last_update, count


def rows(**which: int) -> Iterator[Row]:
    """All rows, or those with these columns."""
    # The zone is read as the text that it is: the field would raise at one that is unknown, and
    # hold up every other row.
    zone = Cast("crontab__timezone", CharField())
    for values in PeriodicTask.objects.filter(**which).annotate(zone=zone).values(*_COLUMNS):
        yield _row(values)


def lock(row_id: int) -> bool:
    """Lock a row for this transaction; False when it is gone or somebody else has it."""
    found = PeriodicTask.objects.select_for_update(skip_locked=True).filter(id=row_id)
    return bool(list(found.values_list("id")))


def disable(row_id: int) -> None:
    """What django-celery-beat's own scheduler does with a one-off row that has fired."""
    PeriodicTask.objects.filter(id=row_id).update(
        enabled=False, last_run_at=None, total_run_count=0
    )


_CRONTAB = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_COPIED = (
    *("id", "name", "task", "args", "kwargs", "headers", "queue", "description", "enabled"),
    *("one_off", "start_time", "expires", "expire_seconds"),
)
_COLUMNS = (
    *_COPIED,
    *(f"crontab__{field}" for field in _CRONTAB),
    *("zone", "interval__every", "interval__period", "clocked__clocked_time", "solar_id"),
    "total_run_count",
)


def _row(values: dict[str, Any]) -> Row:
    minute, hour, date, month, weekday = (values[f"crontab__{field}"] for field in _CRONTAB)
    zone, period = values["zone"], values["interval__period"]
    return Row(
        **{field: values[field] for field in _COPIED},
        crontab=Crontab(minute, hour, date, month, weekday, zone) if zone is not None else None,
        interval=(values["interval__every"], period) if period is not None else None,
        clocked=values["clocked__clocked_time"],
        solar=values["solar_id"] is not None,
        runs=values["total_run_count"],
    )
