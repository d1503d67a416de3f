"""The API of dead letters by group and of their replays: what it takes, says and refuses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock
from jobs.models import Job, Team, User
from jobs.schedules.instants import canonical_instant
from runs.letters import batch as replay_batch
from runs.letters import replaying
from runs.models import Replay, Run
from runs.states import State
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle")


@pytest.fixture
def runs(job: Job) -> list[Run]:
    return [died(job, f"Order {n} failed") for n in range(3)]


@pytest.fixture
def group(runs: list[Run]) -> str:
    return f"dead-letters/{runs[0].error_group}/"


def died(job: Job, reason: str, ago: float = 60) -> Run:
    at = clock.now() - timedelta(seconds=ago)
    return make.run(job, State.DEAD, reason=reason, died_at=at)


# ── groups ───────────────────────────────────────────────────────────────────────────────


def test_the_groups_are_listed_what_died_last_first(api: Api, job: Job, runs: list[Run]) -> None:
    last = died(job, "[Errno 111] refused", ago=1)
    first, second = api.get("dead-letters/").body["results"]
    assert (first["error"], first["count"], first["team"]) == ("[Errno 111] refused", 1, "payments")
    assert first["sample"] == {"run": str(last.id), "reason": last.reason}
    assert second == {
        "id": str(runs[0].error_group),
        "job": str(job.id),
        "team": "payments",
        "error": "Order # failed",
        "count": 3,
        "first_at": canonical_instant(runs[0].died_at or clock.now()),
        "last_at": canonical_instant(runs[2].died_at or clock.now()),
        "oldest_due_at": canonical_instant(runs[0].created_at),
        "sample": {"run": str(runs[2].id), "reason": "Order 2 failed"},
        "cause_gone_at": None,
    }
    success = make.run(job, State.SUCCEEDED)
    assert success.finished_at is not None
    gone = api.get("dead-letters/").body["results"][1]["cause_gone_at"]
    assert gone == canonical_instant(success.finished_at)


def test_the_list_is_filtered_and_paged_along_a_key(api: Api, job: Job, team: Team) -> None:
    for n, word in enumerate(("one", "two", "three", "four", "five")):
        died(job, word, ago=60 - n)
    other = make.job(team, name="other")
    died(other, "six", ago=1)
    found, where = [], "dead-letters/?page_size=2"
    while where:
        page = api.get(where).body
        found += [row["error"] for row in page["results"]]
        where = page["next"]
    assert found == ["six", "five", "four", "three", "two", "one"]
    errors = [row["error"] for row in api.get(f"dead-letters/?job={other.id}").body["results"]]
    assert errors == ["six"]
    assert len(api.get("dead-letters/?team=payments").body["results"]) == 6
    assert api.get("dead-letters/?team=others").body["results"] == []
    assert api.get("dead-letters/?state=DEAD").fields == ["state"]
    assert api.get("dead-letters/?cursor=made-up").fields == ["cursor"]


def test_a_group_shows_its_dead_runs_the_oldest_first(
    api: Api, job: Job, runs: list[Run], group: str
) -> None:
    died(job, "Another thing")
    page = api.get(f"{group}?page_size=2").body
    assert page["group"] == api.get(f"dead-letters/?job={job.id}").body["results"][1]
    assert [row["id"] for row in page["results"]] == [str(run.id) for run in runs[:2]]
    assert [row["id"] for row in api.get(page["next"]).body["results"]] == [str(runs[2].id)]
    assert api.get(f"dead-letters/{uuid4()}/").status == 404


def test_the_runs_of_a_group_are_found_in_any_state(api: Api, job: Job, runs: list[Run]) -> None:
    Run.objects.filter(id=runs[0].id).update(state=State.CLOSED, finished_at=clock.now())
    died(job, "Another thing")
    where = f"runs/?group={runs[0].error_group}"
    assert {row["id"] for row in api.get(where).body["results"]} == {str(run.id) for run in runs}
    closed = api.get(f"{where}&state=CLOSED").body["results"]
    assert [row["id"] for row in closed] == [str(runs[0].id)]
    assert api.get("runs/?group=x").fields == ["group"]


# ── replay ───────────────────────────────────────────────────────────────────────────────


def test_a_dry_run_tells_what_to_send_and_does_nothing(
    api: Api, runs: list[Run], group: str
) -> None:
    answer = api.post(f"{group}replay/", {"dry_run": True, "per_minute": 1})
    assert answer.status == 200
    as_of = answer.body.pop("as_of")
    assert answer.body == {
        "expected": 3,
        "more": False,
        "oldest_due_at": canonical_instant(runs[0].created_at),
        "first": str(runs[0].id),
        "per_minute": 1,
        "seconds": 120,
    }
    assert not Replay.objects.exists()
    told = {"expected": 3, "as_of": as_of}
    assert api.post(f"{group}replay/", told).status == 201


def test_a_replay_is_begun_shown_listed_paused_resumed_and_cancelled(
    api: Api, job: Job, runs: list[Run], group: str
) -> None:
    answer = api.post(f"{group}replay/", {"expected": 3, "per_minute": 1, "note": "Mended."})
    assert answer.status == 201
    shown = answer.body
    where = f"replays/{shown['id']}/"
    assert answer.headers["Location"].endswith(f"/api/v1/{where}")
    assert (shown["state"], shown["count"], shown["left"], shown["by"]) == (
        "open",
        3,
        3,
        "operator",
    )
    assert (shown["note"], shown["error"], shown["trying"]) == ("Mended.", "Order # failed", False)
    replaying.advance_all()
    seen = api.get(where).body
    assert (seen["replayed"], seen["left"], seen["runs"]) == (1, 2, {"CLAIMED": 1})
    assert api.get(f"replays/?job={job.id}&group={runs[0].error_group}").body["results"] == [seen]
    assert api.get(f"replays/?group={uuid4()}").body["results"] == []
    items = api.get(f"{where}items/?page_size=2").body
    assert [(one["place"], one["result"]) for one in items["results"]] == [
        (1, "replayed"),
        (2, "to come"),
    ]
    assert [one["state"] for one in items["results"]] == ["CLAIMED", "DEAD"]
    assert items["results"][0]["run"] == str(runs[0].id)
    assert [one["place"] for one in api.get(items["next"]).body["results"]] == [3]
    assert api.post(f"{where}pause/").body["state"] == "paused"
    assert api.post(f"{where}resume/").body["state"] == "open"
    assert api.post(f"{where}cancel/").body["reason"] == "Cancelled by operator."
    refused = api.post(f"{where}cancel/")
    assert (refused.status, refused.body["state"]) == (409, "cancelled")
    assert refused.body["replay"].endswith(where)


def test_another_number_than_was_seen_is_409_and_tells_the_one_there_is(
    api: Api, runs: list[Run], group: str
) -> None:
    for verb in ("replay", "discard"):
        answer = api.post(f"{group}{verb}/", {"expected": 2, "note": "n"})
        assert (answer.status, answer.body["count"], answer.body["expected"]) == (409, 3, 2)
    assert set(Run.objects.values_list("state", flat=True)) == {"DEAD"}


def test_what_died_after_the_look_is_not_meant(
    api: Api, job: Job, runs: list[Run], group: str
) -> None:
    seen = api.post(f"{group}replay/", {"dry_run": True}).body
    died(job, "Order 4 failed", ago=0)
    answer = api.post(f"{group}replay/", {"expected": 3, "as_of": seen["as_of"]})
    assert answer.body["count"] == 3


def test_a_second_replay_is_409_and_names_the_first(api: Api, group: str) -> None:
    first = api.post(f"{group}replay/", {"expected": 3}).headers["Location"]
    answer = api.post(f"{group}replay/", {"expected": 3})
    assert (answer.status, answer.body["replay"]) == (409, first)


def test_a_second_person_approves_where_the_team_asks_for_one(
    api: Api, team: Team, group: str
) -> None:
    team.two_pairs_of_eyes = True
    team.save()
    shown = api.post(f"{group}replay/", {"expected": 3}).body
    assert (shown["state"], shown["approved_by"]) == ("asked", None)
    where = f"replays/{shown['id']}/approve/"
    own = api.post(where)
    assert (own.status, own.body["detail"]) == (
        409,
        "This is your own request: a second person approves it.",
    )
    second = Api.of(team, make.operator(team, "second"))
    assert second.post(where).body["approved_by"] == "second"
    assert api.get(f"replays/{shown['id']}/").body["state"] == "open"


def test_a_post_made_twice_with_one_key_begins_one(api: Api, group: str) -> None:
    made = [
        api.call("POST", f"{group}replay/", {"expected": 3}, {"Idempotency-Key": "k"})
        for _ in range(2)
    ]
    assert [answer.status for answer in made] == [201, 201]
    assert made[0].body == made[1].body


def test_runs_are_chosen_by_their_ids(api: Api, runs: list[Run], group: str) -> None:
    answer = api.post(f"{group}replay/", {"runs": [str(runs[1].id)], "per_minute": 6000})
    assert (answer.status, answer.body["count"]) == (201, 1)
    done = api.post(f"{group}discard/", {"runs": [str(runs[2].id)], "note": "Of no use."})
    assert done.body == {"discarded": 1, "passed_over": 0}
    gone = api.post(f"{group}discard/", {"runs": [str(runs[2].id)], "note": "Of no use."})
    assert (gone.status, gone.body["count"]) == (409, 0)


@pytest.mark.parametrize("verb", ["replay", "discard"])
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "expected"),
        ({"expected": None}, "expected"),
        ({"expected": -1}, "expected"),
        ({"expected": 10_001}, "expected"),
        ({"expected": True}, "expected"),
        ({"expected": "3"}, "expected"),
        ({"expected": 3, "as_of": "yesterday"}, "as_of"),
        ({"expected": 3, "as_of": "9999-12-31T23:59:59Z"}, "as_of"),
        ({"expected": 3, "runs": [str(uuid4())]}, "expected"),
        ({"runs": [str(uuid4())], "as_of": "2026-01-01T00:00:00Z"}, "expected"),
        ({"runs": []}, "runs"),
        ({"runs": "all"}, "runs"),
        ({"runs": ["x"]}, "runs"),
        ({"runs": [7]}, "runs"),
        ({"runs": [None]}, "runs"),
        ({"runs": [[]]}, "runs"),
        ({"runs": [str(uuid4())] * 1_001}, "runs"),
        ({"expected": 3, "note": 7}, "note"),
        ({"expected": 3, "all": True}, "all"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(
    api: Api, group: str, verb: str, wrong: dict[str, Any], field: str
) -> None:
    answer = api.post(f"{group}{verb}/", {"note": "n", **wrong})
    assert answer.status == 400
    assert field in answer.fields
    assert set(Run.objects.values_list("state", flat=True)) == {"DEAD"}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"per_minute": 0}, "per_minute"),
        ({"per_minute": 6_001}, "per_minute"),
        ({"per_minute": 1.5}, "per_minute"),
        ({"try_first": "yes"}, "try_first"),
        ({"dry_run": 1}, "dry_run"),
    ],
)
def test_a_wrong_pace_is_refused_by_its_field(
    api: Api, group: str, wrong: dict[str, Any], field: str
) -> None:
    answer = api.post(f"{group}replay/", {"expected": 3, **wrong})
    assert (answer.status, answer.fields) == (400, [field])
    assert not Replay.objects.exists()


def test_a_discard_needs_a_reason(api: Api, group: str) -> None:
    assert api.post(f"{group}discard/", {"expected": 3}).fields == ["note"]
    done = api.post(f"{group}discard/", {"expected": 3, "note": "The book is closed."})
    assert (done.status, done.body) == (200, {"discarded": 3, "passed_over": 0})
    assert api.get(group).body["group"]["count"] == 0
    assert api.post(f"{group}replay/", {"expected": 0}).body["count"] == 0


def test_a_replay_of_another_team_is_not_there(api: Api, group: str, operator: User) -> None:
    elsewhere = make.job(make.team("elsewhere"), name="other")
    of = make.replay(elsewhere)
    for path in (f"replays/{of.id}/", f"replays/{of.id}/items/"):
        assert api.get(path).status == 404
    assert api.post(f"replays/{of.id}/cancel/").status == 404
    assert api.get(f"replays/?job={elsewhere.id}").body["results"] == []
    replay_batch.cancel(of.id, by=operator)
