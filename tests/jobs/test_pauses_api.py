"""A job paused and resumed over the API, and the moments that are left of it."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Job, Team
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(team: Team) -> Api:
    return Api.of(team, make.editor(team))


def test_a_pause_has_a_reason_and_perhaps_an_end(api: Api, team: Team) -> None:
    job = make.job(team, schedule={"every": 60})
    paused = api.post(f"jobs/{job.id}/pause/", {"reason": "Ledger down."}).body
    assert (paused["paused"], paused["paused_reason"]) == (True, "Ledger down.")
    assert (paused["paused_until"], paused["next_due_at"]) == (None, None)
    assert api.get(f"jobs/{job.id}/due/").body["results"] == []
    resumed = api.post(f"jobs/{job.id}/resume/").body
    assert (resumed["paused"], resumed["paused_reason"]) == (False, "")
    assert resumed["next_due_at"]


def test_under_a_pause_with_an_end_the_next_moment_lies_behind_it(api: Api, team: Team) -> None:
    job = make.job(team, schedule={"every": 60, "anchor": "2026-01-01T00:00:00Z"})
    end = "2099-01-01T00:00:30Z"
    paused = api.post(f"jobs/{job.id}/pause/", {"until": end}).body
    assert (paused["paused_until"], paused["next_due_at"]) == (end, "2099-01-01T00:01:00Z")
    moments = api.get(f"jobs/{job.id}/due/?count=1").body["results"]
    assert [moment["due_at"] for moment in moments] == ["2099-01-01T00:01:00Z"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"until": "2020-01-01T00:00:00Z"}, "until"),
        ({"until": "2099-01-01T00:00:00"}, "until"),
        ({"until": 7}, "until"),
        ({"reason": 7}, "reason"),
        ({"reason": "x" * 2_001}, "reason"),
        ({"why": "x"}, "why"),
    ],
)
def test_a_pause_that_is_none_is_refused(
    api: Api, team: Team, body: dict[str, Any], field: str
) -> None:
    job = make.job(team)
    answer = api.post(f"jobs/{job.id}/pause/", body)
    assert (answer.status, answer.fields) == (400, [field])
    job.refresh_from_db()
    assert not job.paused


def test_the_next_moments_are_told_with_their_clock(api: Api, team: Team) -> None:
    job = make.job(team)
    answer = api.get(f"jobs/{job.id}/due/?count=3").body
    assert answer["next"] is None
    assert [moment["local"][4:] for moment in answer["results"]] == ["-01-01T03:00:00+01:00"] * 3
    assert [moment["due_at"][4:] for moment in answer["results"]] == ["-01-01T02:00:00Z"] * 3


@pytest.mark.parametrize("count", ["0", "101", "-1", "x", "", "1.5", "９"])
def test_a_count_that_is_none_is_refused(api: Api, team: Team, count: str) -> None:
    job = make.job(team)
    assert api.get(f"jobs/{job.id}/due/?count={count}").fields == ["count"]
    assert len(api.get(f"jobs/{job.id}/due/?count=100").body["results"]) == 100


# ── as fields of the job ─────────────────────────────────────────────────────────────────


def test_a_job_is_registered_paused_until_an_instant(api: Api) -> None:
    said = {"paused_until": "2999-01-01T00:00:00Z", "paused_reason": "The ledger moves."}
    told = api.post("jobs/", make.shape(**said)).body
    assert (told["paused"], told["paused_until"], told["paused_reason"]) == (True, *said.values())
    del told["signing_secret"]
    same = api.put(f"jobs/{told['id']}/", told)
    assert (same.status, same.body) == (200, told)
    assert Job.objects.get().version == 1


def test_resuming_by_a_patch_takes_the_end_and_the_reason_of_the_pause_with_it(api: Api) -> None:
    said = {"paused_until": "2999-01-01T00:00:00Z", "paused_reason": "The ledger moves."}
    job_id = api.post("jobs/", make.shape(**said)).body["id"]
    told = api.patch(f"jobs/{job_id}/", {"paused": False}).body
    assert (told["paused"], told["paused_until"], told["paused_reason"]) == (False, None, "")


def test_an_end_of_a_pause_that_is_over_may_stay_and_not_be_chosen(api: Api) -> None:
    job = make.job(make.team())
    refused = api.patch(f"jobs/{job.id}/", {"paused": True, "paused_until": "2020-01-01T00:00:00Z"})
    assert refused.body["errors"][0]["field"] == "paused_until"
    Job.objects.filter(id=job.id).update(paused=True, paused_until="2020-01-01T00:00:00Z")
    assert api.patch(f"jobs/{job.id}/", {"description": "new"}).status == 200


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"paused": False, "paused_until": "2999-01-01T00:00:00Z"}, "paused_until"),
        ({"paused_reason": "why"}, "paused_reason"),
        ({"skip_reason": "why"}, "skip_reason"),
        ({"paused": True, "paused_until": "soon"}, "paused_until"),
    ],
)
def test_what_belongs_to_no_pause_is_refused(api: Api, said: dict[str, Any], field: str) -> None:
    answer = api.post("jobs/", make.shape(**said))
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, field)
