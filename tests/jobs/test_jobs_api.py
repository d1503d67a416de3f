"""Jobs over the API: registered, read, changed, paused, deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from jobs import clock, editing, sealing
from jobs.models import Due, Job, JobVersion, Team, User
from jobs.schedules.schedules import canonical_instant
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db

SETTLEMENT: dict[str, Any] = {
    "team": "payments",
    "name": "settle-eod",
    "schedule": {"cron": "0 18 * * 1-5", "timezone": "America/New_York", "dst": "once"},
    "target": {
        "type": "http",
        "method": "POST",
        "url": "https://ledger.example/settle",
        "headers": {"Authorization": "Bearer top-secret", "X-Team": "payments"},
        "body": {"book": 7},
    },
    "idempotent": False,
}


@pytest.fixture
def api(team: Team, editor: User) -> Api:
    return Api.of(team, editor)


def without(shape: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {field: value for field, value in shape.items() if field not in fields}


def test_a_job_is_registered_with_its_defaults_written_out(api: Api, editor: User) -> None:
    answer = api.post("jobs/", SETTLEMENT)
    assert answer.status == 201
    job = Job.objects.get()
    assert answer.headers["Location"].endswith(f"/api/v1/jobs/{job.id}/")
    masked = {"Authorization": "********", "X-Team": "payments"}
    assert without(answer.body, "signing_secret") == {
        **SETTLEMENT,
        "id": str(job.id),
        "description": "",
        "runbook": "",
        "target": {**SETTLEMENT["target"], "headers": masked},
        "retries": {"max_attempts": 5, "backoff": 10, "cap": 3600},
        "retry_unsent": False,
        "timeout": 300,
        "completion": "answer",
        "deadline": 86400,
        "refusal_codes": [],
        "follow_redirects": 0,
        "late_after": 30,
        "overlap": "queue",
        "block_on_review": True,
        "queue_limit": 100,
        "catch_up": {"policy": "ask", "window": 86400, "limit": 100},
        **dict.fromkeys(("starts_at", "ends_at", "max_runs")),
        "runs_begun": 0,
        "finished": False,
        "skip_next": 0,
        "skip_reason": "",
        "spread": 0,
        "queue": "default",
        "paused": False,
        "paused_until": None,
        "paused_reason": "",
        "calendar": None,
        **dict.fromkeys(("probe", "decide_by", "pause_after_reviews")),
        "critical": False,
        "tags": [],
        "owner": "",
        "next_due_at": canonical_instant(Due.objects.get().at),
    }
    assert JobVersion.objects.get().by == editor


def test_the_signing_secret_is_told_once(api: Api) -> None:
    told = api.post("jobs/", SETTLEMENT).body
    job = Job.objects.get()
    assert told["signing_secret"].startswith("whsec_")
    assert told["signing_secret"] == sealing.unseal(job.signing_secret, settings.SEALING_KEYS)
    assert "signing_secret" not in api.get(f"jobs/{job.id}/").body
    assert "signing_secret" not in api.get("jobs/").body["results"][0]


def test_a_secret_header_is_shown_nowhere(api: Api) -> None:
    job_id = api.post("jobs/", SETTLEMENT).body["id"]
    api.patch(f"jobs/{job_id}/", {"target": SETTLEMENT["target"] | {"method": "PUT"}})
    for path in ("jobs/", f"jobs/{job_id}/", f"jobs/{job_id}/versions/"):
        text = str(api.get(path).body)
        assert "top-secret" not in text
        assert "sealed:" not in text


def test_a_one_off_keeps_its_microseconds(api: Api) -> None:
    at = canonical_instant(clock.now() + timedelta(seconds=3, microseconds=1))
    body = api.post("jobs/", make.shape(schedule={"at": at})).body
    assert body["next_due_at"] == at
    assert body["schedule"] == {"at": at}


def test_several_schedules_stay_a_list(api: Api) -> None:
    schedules = [{"every": 60, "anchor": "2026-01-01T00:00:00Z"}, {"at": "2099-01-01T00:00:00Z"}]
    assert api.post("jobs/", make.shape(schedule=schedules)).body["schedule"] == schedules


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"idempotent": None}, "idempotent"),
        ({"schedule": {"cron": "0 3 * * *", "timezone": "Mars/Olympus"}}, "schedule.timezone"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, "schedule.cron"),
        ({"target": {"type": "task", "name": "os.system"}}, "target.name"),
        ({"target": {"type": "http", "url": "ledger"}}, "target.url"),
        ({"overlaps": "skip"}, "overlaps"),
        ({"id": str(uuid4())}, "id"),
        ({"team": 7}, "team"),
        (
            {
                "target": {
                    "type": "http",
                    "url": "https://a.example/",
                    "headers": {"X-Token": "********"},
                }
            },
            "target.headers.X-Token",
        ),
    ],
)
def test_what_is_no_job_is_refused_by_its_field_and_changes_nothing(
    api: Api, change: dict[str, Any], field: str
) -> None:
    answer = api.post("jobs/", make.shape(**change))
    assert (answer.status, answer.fields) == (400, [field])
    assert not Job.objects.exists()


def test_idempotent_must_be_answered(api: Api) -> None:
    answer = api.post("jobs/", without(make.shape(), "idempotent"))
    assert (answer.status, answer.fields) == (400, ["idempotent"])


def test_every_problem_is_told_at_once(api: Api) -> None:
    assert api.post("jobs/", {}).fields == ["idempotent", "name", "schedule", "target"]


def test_a_second_job_of_one_name_is_a_conflict(api: Api, team: Team) -> None:
    make.job(team, name="nightly")
    other = make.job(team, name="daily")
    second = api.post("jobs/", make.shape(name="nightly"))
    assert (second.status, second.fields) == (409, ["name"])
    assert api.patch(f"jobs/{other.id}/", {"name": "nightly"}).status == 409


def test_another_team_is_not_there(api: Api) -> None:
    make.team("elsewhere")
    for slug in ("elsewhere", "no-such-team"):
        assert api.post("jobs/", make.shape(team=slug)).status == 404


def test_a_job_that_was_read_can_be_sent_as_it_is(api: Api) -> None:
    job_id = api.post("jobs/", SETTLEMENT).body["id"]
    read = api.get(f"jobs/{job_id}/").body
    sent = api.put(f"jobs/{job_id}/", read)
    assert (sent.status, sent.body) == (200, read)
    assert JobVersion.objects.count() == 1


def test_a_one_off_that_has_fired_can_still_be_described(api: Api, team: Team) -> None:
    job = make.job(team, schedule={"at": canonical_instant(clock.now() + timedelta(hours=1))})
    fired = [{"at": "2020-01-01T00:00:00Z"}]
    Job.objects.filter(id=job.id).update(schedule=fired)
    Due.objects.all().delete()
    read = api.get(f"jobs/{job.id}/").body
    assert api.put(f"jobs/{job.id}/", {**read, "description": "put"}).status == 200
    assert api.patch(f"jobs/{job.id}/", {"description": "patched"}).body["next_due_at"] is None
    answer = api.patch(f"jobs/{job.id}/", {"schedule": {"at": "2020-01-02T00:00:00Z"}})
    assert answer.fields == ["schedule.at"]


def test_a_put_gives_what_is_left_out_its_default(api: Api, team: Team) -> None:
    job = make.job(team, timeout=7, retries={"max_attempts": 2})
    body = api.put(f"jobs/{job.id}/", make.shape()).body
    assert (body["timeout"], body["retries"]["max_attempts"]) == (300, 5)


def test_a_patch_changes_what_it_names_alone(api: Api, team: Team) -> None:
    job = make.job(team, timeout=7, retries={"max_attempts": 2, "backoff": 3})
    before = api.get(f"jobs/{job.id}/").body
    after = api.patch(f"jobs/{job.id}/", {"retries": {"max_attempts": 9}}).body
    assert after == {**before, "retries": {"max_attempts": 9, "backoff": 3, "cap": 3600}}
    version = api.get(f"jobs/{job.id}/versions/").body["results"][0]
    assert version["by"] == "editor"
    assert version["changes"] == {"retries": {"from": before["retries"], "to": after["retries"]}}


@pytest.mark.parametrize("field", ["id", "team", "runs_begun", "finished"])
def test_what_a_job_tells_is_not_changed_by_an_edit(api: Api, team: Team, field: str) -> None:
    job = make.job(team)
    answer = api.patch(f"jobs/{job.id}/", {field: "2099-01-01T00:00:00Z"})
    assert (answer.status, answer.fields) == (400, [field])


def test_a_deleted_job_is_gone_and_its_name_free(api: Api, team: Team) -> None:
    job = make.job(team)
    assert api.delete(f"jobs/{job.id}/").status == 204
    assert api.get(f"jobs/{job.id}/").status == 410
    assert api.delete(f"jobs/{job.id}/").status == 410
    assert api.post("jobs/", make.shape()).status == 201
    assert not Due.objects.filter(job=job).exists()


def test_a_mirrored_job_is_read_only_and_says_why(api: Api, team: Team) -> None:
    job = make.job(team)
    Job.objects.filter(id=job.id).update(periodic_task_id=1)
    refused = [
        api.patch(f"jobs/{job.id}/", {"timeout": 7}),
        api.post(f"jobs/{job.id}/pause/"),
        api.post(f"jobs/{job.id}/resume/"),
        api.delete(f"jobs/{job.id}/"),
    ]
    assert [answer.status for answer in refused] == [409] * 4
    assert all("PeriodicTask" in answer.body["detail"] for answer in refused)
    assert api.get(f"jobs/{job.id}/").status == 200


def test_a_job_deleted_under_an_edit_is_gone(
    api: Api, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faster(*args: Any, **named: Any) -> None:
        raise editing.Gone

    job = make.job(team)
    monkeypatch.setattr(editing, "edit", faster)
    assert api.patch(f"jobs/{job.id}/", {"timeout": 7}).status == 410
