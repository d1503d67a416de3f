"""PeriodicTask rows of three kinds under three beats, one of them killed: each moment once."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db.models import QuerySet
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
)

from jobs import clock
from jobs.models import JobVersion
from jobs.schedules import schedules
from runs.audits import audit
from runs.models import Run
from runs.states import State
from tests.servers import wait_until
from tests.story.processes import Product

pytestmark = pytest.mark.story

ROWS = 200
BEATS = 3


@pytest.mark.timeout(300)
def test_each_moment_of_200_rows_under_three_beats_has_one_run(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEBEAT_BEAT_TASKS", "story.*")
    beats = [product.beat() for _ in range(BEATS)]
    product.up()
    first_minute = _next_minute(clock.now() + timedelta(seconds=45))
    _write_rows(first_minute)
    wait_until(lambda: _mirrors().count() == ROWS, seconds=60, what="every row is mirrored")
    assert clock.now() < first_minute, "this machine is too slow for the figures of this test"

    wait_until(lambda: clock.now() > first_minute, seconds=120, what="the minute begins")
    beats[0].kill()
    end = first_minute + timedelta(seconds=20)
    due = _due(end)
    wait_until(lambda: len(_fired(end)) >= sum(due.values()), seconds=60, what="all is claimed")

    assert Counter(_fired(end)) == due
    assert not Run.objects.filter(state=State.SKIPPED).exists()
    monkeypatch.setattr(audit, "SETTLED", clock.now() - end)
    assert audit.report().gaps == []
    assert [line for line in product.errors() if line["event"] != "rescue.overdue"] == []


def _next_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _write_rows(first_minute: datetime) -> None:
    """A third of each kind; every kind has its moments around the first full minute."""
    each_minute = CrontabSchedule.objects.create(timezone="Europe/Berlin")
    in_bulk = []
    for number in range(ROWS):
        row = PeriodicTask(name=f"row {number}", task="story.note")
        match number % 3:
            case 0:
                row.crontab = each_minute
            case 1:
                row.interval, _ = IntervalSchedule.objects.get_or_create(
                    every=5 + number % 4, period="seconds"
                )
            case _:
                moment = first_minute + timedelta(seconds=number % 15)
                row.clocked = ClockedSchedule.objects.create(clocked_time=moment)
                row.one_off = True
        in_bulk.append(row)
    PeriodicTask.objects.bulk_create(in_bulk)


def _mirrors() -> QuerySet[JobVersion]:
    """The first version of each mirror: a one-off that has fired is paused by its second."""
    return JobVersion.objects.filter(
        number=1, job__periodic_task_id__isnull=False, job__deleted_at=None
    )


def _due(end: datetime) -> Counter[tuple[UUID, datetime | None]]:
    """What each row makes due from its mirroring up to the end."""
    return Counter(
        (version.job_id, moment)
        for version in _mirrors()
        for moment in schedules.moments_between(
            schedules.load(version.definition["schedule"]), version.began_at, end, 1000
        )
    )


def _fired(end: datetime) -> list[tuple[UUID, datetime | None]]:
    return list(Run.objects.filter(due_at__lte=end).values_list("job_id", "due_at"))
