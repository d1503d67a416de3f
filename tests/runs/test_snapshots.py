"""What a run is to call is filled in when it is born, whoever asks for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing
from jobs.models import Due, Job, JobVersion
from jobs.schedules import local_times, schedules
from jobs.shards import COUNT
from runs import by_hand, claim, execute, snapshots
from runs.bounds import EVER
from runs.idempotency import key_of_moment
from runs.models import Attempt, Run
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db

URL = "https://ledger.example/close"
HOURLY = {"cron": "0 * * * *", "timezone": "Asia/Tokyo"}
FILLED = {
    "type": "http",
    "method": "POST",
    "url": f"{URL}/{{{{date}}}}",
    "headers": {"Authorization": "Bearer secret", "X-Key": "{{key}}"},
    "body": {"at": "{{due}}", "count": 9007199254740993},
}


def take(now: datetime | None = None) -> claim.Claimed:
    return claim.due_jobs(now or clock.now(), shards=list(range(COUNT)), above=EVER)


def due_job(name: str = "close", **changes: Any) -> tuple[Job, datetime]:
    """A job of every hour in Tokyo whose last moment is not claimed yet; it takes them all."""
    job = make.job(make.team(), name=name, **{
        "schedule": HOURLY, "target": FILLED,
        "catch_up": {"policy": "all", "window": 86_400}, **changes,
    })  # fmt: skip
    at = clock.now().replace(minute=0, second=0, microsecond=0)
    return set_back(job, at), at


def set_back(job: Job, due: datetime) -> Job:
    began = due - timedelta(days=9)
    Due.objects.filter(job=job).update(at=due)
    Job.objects.filter(id=job.id).update(version_began_at=began)
    JobVersion.objects.filter(job=job, number=1).update(began_at=began)
    job.refresh_from_db()
    return job


def test_the_claim_fills_in_the_moment_and_keeps_secrets_sealed() -> None:
    job, at = due_job()
    take()
    run = Run.objects.get(due_at=at)
    day = (at + timedelta(hours=9)).date()
    assert run.snapshot["url"] == f"{URL}/{day}"
    assert run.snapshot["body"] == {
        "at": schedules.canonical_instant(at), "count": 9007199254740993
    }  # fmt: skip
    assert run.snapshot["headers"]["X-Key"] == run.key
    assert run.snapshot["headers"]["Authorization"] == job.target["headers"]["Authorization"]
    assert run.snapshot["headers"]["Authorization"].startswith("sealed:")


def test_each_moment_that_is_made_up_has_its_own_values() -> None:
    _, at = due_job()
    Due.objects.update(at=at - timedelta(hours=2))
    take()
    told = [run.snapshot["body"]["at"] for run in Run.objects.order_by("due_at")]
    assert told == [schedules.canonical_instant(at - timedelta(hours=n)) for n in (2, 1, 0)]


def test_what_waits_and_what_is_asked_about_is_filled_in_too() -> None:
    job, at = due_job(idempotent=False, catch_up={"policy": "ask", "window": 86_400})
    Due.objects.update(at=at - timedelta(hours=2))
    take()
    run = Run.objects.filter(job=job, state=State.REVIEW).earliest("due_at")
    assert run.snapshot["body"]["at"] == schedules.canonical_instant(at - timedelta(hours=2))


def test_a_moment_goes_by_the_target_of_its_version() -> None:
    job, at = due_job()
    Due.objects.update(at=at - timedelta(hours=1))
    plain = make.definition(
        name=job.name, schedule=HOURLY, target={"type": "http", "method": "POST", "url": URL},
        catch_up={"policy": "all", "window": 86_400},
    )  # fmt: skip
    editing.edit(job.id, plain, by=None)
    assert not Job.objects.get().templated
    take()
    run = Run.objects.earliest("due_at")
    assert run.job_version == 1
    assert run.snapshot["headers"]["X-Key"] == run.key


def test_only_jobs_that_use_it_pay_for_it() -> None:
    def statements(**changes: Any) -> list[str]:
        due_job(name=f"job {Job.objects.count()}", **changes)
        with CaptureQueriesContext(connection) as seen:
            take()
        return [query["sql"] for query in seen.captured_queries]

    plain = statements(target={"type": "http", "method": "POST", "url": URL})
    assert len(statements()) == len(plain) + 1
    assert Run.objects.count() == 2


def test_a_run_by_hand_tells_the_instant_it_was_asked_for_and_its_own_key() -> None:
    job, _ = due_job()
    run = by_hand.run_now(job.id, by=None)
    assert run.snapshot["body"]["at"] == schedules.canonical_instant(run.created_at)
    assert run.snapshot["headers"]["X-Key"] == run.key
    day = (run.created_at + timedelta(hours=9)).date()
    assert run.snapshot["url"] == f"{URL}/{day}"


def test_a_run_made_for_a_moment_takes_the_version_that_it_is_told() -> None:
    job, at = due_job()
    editing.edit(job.id, make.definition(name=job.name, schedule=HOURLY), by=None)
    key = key_of_moment(job.id, at)
    found = snapshots.of_moment(job.id, 1, moment=at, key=key)
    assert found["headers"]["X-Key"] == key
    assert snapshots.of_moment(job.id, 2, moment=at, key=key) == make_target(job.id)


def make_target(job_id: Any) -> dict[str, Any]:
    target: dict[str, Any] = Job.objects.get(id=job_id).target
    return target


def test_a_zone_that_is_gone_breaks_no_claim() -> None:
    job, at = due_job()
    found = snapshots.of_moment(job.id, 1, moment=at, key="k")
    assert found["body"]["at"] == schedules.canonical_instant(at)
    gone = [{"cron": "0 * * * *", "timezone": "Nowhere/Gone", "dst": "once"}]
    version = JobVersion.objects.get(job=job)
    JobVersion.objects.filter(job=job).update(definition={**version.definition, "schedule": gone})
    Job.objects.filter(id=job.id).update(version=2)  # so that the stored version is read
    assert snapshots.of_moment(job.id, 1, moment=at, key="k")["url"] == f"{URL}/{at.date()}"


@pytest.mark.parametrize(("idempotent", "state"), [(True, "DEAD"), (False, "REVIEW")])
def test_what_is_too_long_once_filled_in_is_refused_for_good(idempotent: bool, state: str) -> None:
    job = make.job(make.team(), idempotent=idempotent)
    long = {**job.target, "url": f"{URL}?{'{{due}}' * 250}"}  # stored by other means
    Job.objects.filter(id=job.id).update(target=long, templated=True)
    run = by_hand.run_now(job.id, by=None)
    execute.run(run.id, worker="one")
    run.refresh_from_db()
    assert (run.state, run.effect) == (state, "none")
    assert "once its moment is filled in" in run.reason
    assert Attempt.objects.get().outcome == "refused"


def test_values_agree_with_the_zone_of_the_schedule() -> None:
    found = schedules.load([HOURLY])
    values = local_times.values(found, datetime(2026, 1, 1, 15, tzinfo=UTC), "k")
    assert values.due_local == "2026-01-02T00:00:00+09:00"
