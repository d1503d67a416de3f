"""`max_runs`, `skip_next`, the window of a job and its spread, at the claim and at the start."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock, editing
from jobs.definitions.definitions import DefinitionError
from jobs.models import Due, Job, JobVersion
from jobs.schedules.instants import canonical_instant
from jobs.shards import COUNT
from runs import cancel, claim, start
from runs.audits import audit
from runs.bounds import EVER
from runs.models import Run
from runs.states import State
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db

ALL = list(range(COUNT))


@pytest.fixture
def api() -> Api:
    """With the token of an editor of the team."""
    team = make.team()
    return Api.of(team, make.editor(team))


def due(*, seconds: int = 0, every: int = 60, **changes: Any) -> tuple[Job, datetime]:
    """A job whose moment `seconds` ago is not settled; it was registered long before that."""
    at = (clock.now() - timedelta(seconds=seconds)).replace(microsecond=0)
    schedule = {"every": every, "anchor": canonical_instant(at)}
    changes = {"catch_up": {"policy": "all", "window": 86_400}, **changes}
    job = make.job(make.team(), name=f"job {uuid4()}", schedule=schedule, **changes)
    began = at - timedelta(days=9)
    Due.objects.update_or_create(job=job, defaults={"at": at, "shard": 0})
    Job.objects.filter(id=job.id).update(version_began_at=began, created_at=began)
    JobVersion.objects.filter(job=job).update(began_at=began)
    job.refresh_from_db()
    return job, at


def take(now: datetime) -> None:
    claim.due_jobs(now, shards=ALL, above=EVER)


def states(job: Job) -> list[str]:
    return list(Run.objects.filter(job=job).order_by("due_at").values_list("state", flat=True))


def minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


def test_a_job_ends_with_its_last_run() -> None:
    job, at = due(max_runs=2)
    take(at)
    take(at + minutes(1))
    job.refresh_from_db()
    assert states(job) == ["CLAIMED", "CLAIMED"]
    assert (job.runs_begun, job.finished) == (2, True)
    assert not Due.objects.filter(job=job).exists()
    last = job.jobversion_set.latest("number")
    assert last.changes == {"finished": {"from": False, "to": True}}


def test_what_was_missed_beyond_the_last_run_is_recorded() -> None:
    job, at = due(seconds=300, max_runs=2)
    take(at + minutes(4))
    rows = Run.objects.filter(job=job).order_by("due_at")
    assert [row.state for row in rows] == ["CLAIMED"] * 2 + ["SKIPPED"] * 3
    assert {row.reason for row in rows[2:]} == {"Skipped: the job has had its 2 runs."}
    job.refresh_from_db()
    assert job.finished


def test_a_finished_job_goes_on_once_it_may_run_more_often() -> None:
    job, at = due(max_runs=1)
    take(at)
    job = editing.edit(job.id, make.definition(name=job.name, max_runs=3), by=None)
    assert (job.runs_begun, job.finished) == (1, False)
    assert Due.objects.filter(job=job).exists()
    job = editing.edit(job.id, make.definition(name=job.name), by=None)
    assert (job.runs_begun, job.finished) == (0, False)


def test_the_audit_expects_nothing_of_a_finished_job() -> None:
    job, at = due(seconds=240, max_runs=2)
    take(at)
    take(at + minutes(1))
    take(at + minutes(3))
    assert states(job) == ["CLAIMED", "CLAIMED"]
    assert audit.report(since=at - minutes(1)).gaps == []


def test_a_run_that_was_skipped_for_another_does_not_count() -> None:
    job, at = due(max_runs=2, overlap="skip")
    make.run(job, State.RUNNING)
    take(at)
    job.refresh_from_db()
    assert (job.runs_begun, job.finished) == (0, False)


def test_the_next_moments_are_skipped_with_the_reason() -> None:
    job, at = due()
    editing.skip_next(job.id, 2, reason="Stocktaking.", by=None)
    Job.objects.filter(id=job.id).update(version_began_at=at - minutes(1))
    for later in range(3):
        take(at + minutes(later))
    rows = Run.objects.filter(job=job).order_by("due_at")
    assert [row.state for row in rows] == ["SKIPPED", "SKIPPED", "CLAIMED"]
    assert rows[0].reason == "Skipped as asked. Stocktaking."
    job.refresh_from_db()
    assert (job.skip_next, job.skip_reason) == (0, "")


def test_moments_that_catch_up_drops_are_among_those_to_skip() -> None:
    job, at = due(seconds=300, catch_up={"policy": "last", "window": 3600})
    Job.objects.filter(id=job.id).update(skip_next=4)
    take(at + minutes(4))
    rows = Run.objects.filter(job=job).order_by("due_at")
    assert [(row.state, row.skipped_count) for row in rows] == [("SKIPPED", 4), ("CLAIMED", None)]


def test_a_job_that_is_not_due_can_skip_nothing() -> None:
    job = make.job(make.team())
    editing.pause(job.id, editing.Pause("Audit."), by=None)
    with pytest.raises(editing.NothingDue, match="paused"):
        editing.skip_next(job.id, 1, reason="x", by=None)


def test_jobs_without_an_allowance_cost_no_statement(
    django_assert_num_queries: Any,
) -> None:
    job, at = due()
    with django_assert_num_queries(6):  # two of them are the transaction's
        take(at)
    assert states(job) == ["CLAIMED"]
    job.refresh_from_db()
    assert job.runs_begun == 0


def test_no_moment_is_due_outside_the_window() -> None:
    job, at = due(ends_at=canonical_instant(clock.now() + timedelta(seconds=90)))
    for later in range(3):
        take(at + minutes(later))
    assert states(job) == ["CLAIMED", "CLAIMED"]
    assert not Due.objects.filter(job=job).exists()


def test_a_job_waits_for_the_start_of_its_window() -> None:
    starts_at = clock.now() + timedelta(days=3)
    job = make.job(make.team(), schedule={"every": 60}, starts_at=canonical_instant(starts_at))
    first = Due.objects.get(job=job).at
    assert starts_at <= first < starts_at + minutes(1)


def test_a_spread_moves_the_start_and_neither_moment_nor_key(api: Api) -> None:
    """K145."""
    job, at = due(spread=3000)
    Job.objects.filter(id=job.id).update(start_delay=1234)
    take(at)
    run = Run.objects.get(job=job)
    assert run.due_at == at
    assert run.key == f"{job.id}:{canonical_instant(at)}"
    assert run.not_before == run.send_at == at + timedelta(seconds=1234)
    assert start.run(run.id, worker="early") is None
    assert Run.objects.get(id=run.id).state == "CLAIMED"
    Run.objects.filter(id=run.id).update(not_before=clock.now())
    assert start.run(run.id, worker="in time") is not None


def test_a_released_run_keeps_its_place_in_the_spread() -> None:
    job, at = due(spread=3000, overlap="queue")
    Job.objects.filter(id=job.id).update(start_delay=900)
    active = make.run(job, State.CLAIMED)
    take(at)
    assert Run.objects.get(job=job, due_at=at).state == "WAITING"
    cancel.cancel(active.id, by=make.operator(job.team))
    run = Run.objects.get(job=job, due_at=at)
    assert (run.state, run.send_at) == ("CLAIMED", at + timedelta(seconds=900))


def test_a_spread_longer_than_the_window_of_catch_up_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"spread: is longer than the catch-up window"):
        make.definition(spread=7200, catch_up={"policy": "last", "window": 3600})


def test_the_api_takes_and_shows_them(api: Api) -> None:
    fields = {
        "starts_at": "2030-01-01T00:00:00Z",
        "ends_at": "2031-01-01T00:00:00Z",
        "max_runs": 7,
        "skip_next": 2,
        "spread": 60,
    }
    answer = api.post("jobs/", make.shape(**fields))
    assert answer.status == 201, answer.body
    assert {name: answer.body[name] for name in fields} == fields
    assert answer.body["next_due_at"] == "2030-01-01T02:00:00Z"
    due = api.get(f"jobs/{answer.body['id']}/due/?count=5").body["results"]
    assert [each["note"] for each in due] == ["will be skipped"]


def test_the_api_skips_and_takes_it_back(api: Api) -> None:
    job = make.job(make.team())
    answer = api.post(f"jobs/{job.id}/pause/", {"skip_next": 3, "reason": "Stocktaking."})
    assert (answer.status, answer.body["skip_next"]) == (200, 3)
    assert answer.body["skip_reason"] == "Stocktaking."
    assert not answer.body["paused"]
    answer = api.post(f"jobs/{job.id}/pause/", {"skip_next": 0})
    assert (answer.body["skip_next"], answer.body["skip_reason"]) == (0, "")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"skip_next": -1}, "skip_next"),
        ({"skip_next": 1001}, "skip_next"),
        ({"skip_next": "2"}, "skip_next"),
        ({"skip_next": 2, "until": "2040-01-01T00:00:00Z"}, "skip_next"),
    ],
)
def test_what_cannot_be_skipped_is_refused(api: Api, body: Any, field: str) -> None:
    job = make.job(make.team())
    answer = api.post(f"jobs/{job.id}/pause/", body)
    assert answer.status == 400
    assert answer.body["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"starts_at": "tomorrow"}, "starts_at"),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
        ({"ends_at": "2030-01-01T00:00:00"}, "ends_at"),
        ({"max_runs": 0}, "max_runs"),
        ({"max_runs": True}, "max_runs"),
        ({"skip_next": 1001}, "skip_next"),
        ({"spread": -1}, "spread"),
        ({"spread": 86_401, "catch_up": {"window": 100_000}}, "spread"),
    ],
)
def test_a_wrong_window_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        make.definition(**changes)
    assert field in {problem.field for problem in refused.value.problems}
