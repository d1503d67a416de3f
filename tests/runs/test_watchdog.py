"""The outward watchdog: called while all is well, told the reason where it is not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django_celery_beat.models import PeriodicTask

from jobs import clock
from jobs.models import Job, Team
from jobs.periodic_tasks import mirror
from runs import watchdog, watched
from runs.models import Attempt
from runs.states import State
from tests import make
from tests.runs.loopback import Loopback
from tests.runs.test_claim import overdue

pytestmark = pytest.mark.django_db

LONG = timedelta(seconds=90)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team)


def called(server: Loopback) -> list[bytes]:
    return [request.partition(b" HTTP/")[0] for request in server.requests]


def test_what_is_well_is_called_and_nothing_more(settings: LazySettings) -> None:
    with Loopback() as server:
        settings.EGRESS_ALLOW, settings.WATCHDOG_URL = "127.0.0.1/32", server.url("/ping/abc?x=1")
        assert watchdog.watchdog() == {"well": "yes", "said": "200 ok"}
        assert called(server) == [b"GET /ping/abc?x=1"]


def unclaimed(job: Job) -> None:
    overdue(job, LONG.total_seconds())


def unsent(job: Job) -> None:
    make.run(job, send_at=clock.now() - LONG)


def unworked(job: Job) -> None:
    make.run(job, State.ENQUEUED, sent_at=clock.now() - LONG)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (unclaimed, "1 due moments lie unclaimed"),
        (unsent, "1 runs are not sent"),
        (unworked, "no worker takes from queue default"),
    ],
)
def test_what_is_not_well_is_told_with_the_reason(
    job: Job, settings: LazySettings, wrong: Callable[[Job], None], said: str
) -> None:
    wrong(job)
    with Loopback() as server:
        settings.EGRESS_ALLOW, settings.WATCHDOG_URL = "127.0.0.1/32", server.url("/ping/?x=1")
        assert watchdog.watchdog()["well"] == said
        assert called(server) == [b"POST /ping/fail?x=1"]
        assert server.requests[0].endswith(said.encode())


def test_a_long_queue_that_is_worked_through_is_well(job: Job) -> None:
    unworked(job)
    run = make.run(job, State.RUNNING)
    Attempt.objects.create(
        run=run, number=1, lease_id=run.id, worker="w", started_at=clock.now(), outcome=""
    )
    assert watchdog.unwell() == []


def test_a_receiver_that_is_away_fails_no_run(settings: LazySettings) -> None:
    settings.WATCHDOG_URL = "http://127.0.0.1:9/"  # inside, and not listed
    assert watchdog.watchdog()["said"].startswith("not taken: ")
    settings.WATCHDOG_URL = ""
    assert watchdog.watchdog()["called"].startswith("nobody")


def test_its_row_says_what_the_settings_say(settings: LazySettings) -> None:
    watched.declare()
    assert not PeriodicTask.objects.filter(name=watched.NAME).exists()
    settings.WATCHDOG_URL, settings.WATCHDOG_EVERY = "https://watch.example/", 60
    watched.declare()
    row = PeriodicTask.objects.get(name=watched.NAME)
    before = row.date_changed
    watched.declare()
    assert PeriodicTask.objects.get(name=watched.NAME).date_changed == before
    settings.WATCHDOG_EVERY = 5
    watched.declare()
    mirror.mirror()
    mirrored = Job.objects.get(periodic_task_id=row.id)
    assert (mirrored.schedule[0]["every"], mirrored.paused, mirrored.idempotent) == (5, False, True)
    settings.WATCHDOG_URL = ""
    watched.declare()
    assert not PeriodicTask.objects.get(name=watched.NAME).enabled
