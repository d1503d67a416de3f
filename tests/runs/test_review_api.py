"""Review by the API: the queue, one of it, decisions, second pairs of eyes, many at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from jobs import clock
from jobs.models import Team, User
from jobs.schedules.instants import canonical_instant
from runs.models import Approval, Decision, Run
from runs.review import claims, deciding
from runs.states import ReviewClass
from tests import make
from tests.api import Api
from tests.runs.loopback import Loopback
from tests.runs.reviewing import attempt, decide, job_with, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


@pytest.fixture
def second(team: Team, colleague: User) -> Api:
    return Api.of(team, colleague)


SAID = {"decision": "run_again", "note": "Not in the ledger."}


def unsent(team: Team, **more: Any) -> Run:
    return waits(team, review_class=ReviewClass.NOT_SENT, **more)


def test_the_queue_is_paged_in_its_order(api: Api, team: Team) -> None:
    job = job_with(team, decide_by=60)
    plain = [waits(team, since=timedelta(hours=hours)) for hours in (3, 2)]
    overdue = waits(team, job=job, since=timedelta(hours=1))
    first = api.get("review/?page_size=1").body
    second = api.get(first["next"]).body
    third = api.get(second["next"]).body
    found = [page["results"][0] for page in (first, second, third)]
    assert [row["id"] for row in found] == [str(run.id) for run in (overdue, *plain)]
    assert third["next"] is None
    assert found[0]["review"]["overdue"] is True
    assert found[0]["review"]["decide_before"] < canonical_instant(clock.now())
    assert found[1]["review"]["decide_before"] is None


def test_the_queue_is_narrowed(api: Api, team: Team, operator: User) -> None:
    mine, other = waits(team), unsent(team)
    claims.take(mine.id, by=operator)

    def ids(query: str) -> list[str]:
        return [row["id"] for row in api.get(f"review/?{query}").body["results"]]

    assert (
        ids("claimed=mine") == ids("class=unknown") == ids(f"job={mine.job_id}") == [str(mine.id)]
    )
    assert ids("claimed=nobody") == ids("class=not+sent") == [str(other.id)]
    assert ids("overdue=true") == ids("claimed=others") == []
    assert len(ids("overdue=false")) == 2


@pytest.mark.parametrize("query", ["class=odd", "job=7", "claimed=me", "overdue=1", "state=REVIEW"])
def test_a_filter_that_is_none_is_refused(api: Api, query: str) -> None:
    answer = api.get(f"review/?{query}")
    assert (answer.status, answer.fields) == (400, [query.partition("=")[0]])


def test_one_is_told_with_all_that_is_known(api: Api, team: Team, operator: User) -> None:
    job = job_with(team, runbook="Ask the ledger.")
    decide(waits(team, job=job), "close", operator)
    run = waits(team, job=job)
    attempt(run, started=timedelta(), answer={"phase": "sending", "bytes_sent": 7}, late={"k": 1})
    claims.take(run.id, by=operator)
    decide(run, "escalate", operator)
    told = api.get(f"review/{run.id}/").body["review"]
    assert (told["phase"], told["bytes_sent"], told["runbook"]) == ("sending", 7, "Ask the ledger.")
    assert (told["late"], told["escalated"]["by"]) == ([{"k": 1}], "operator")
    assert [row["decision"] for row in told["before"]] == ["close"]
    assert told["claim"] is told["probe"] is told["approval"] is None
    assert told["unknown"] == "Whether the target acted."


def test_what_was_never_in_review_is_not_there(api: Api, team: Team) -> None:
    assert api.get(f"review/{make.run(make.job(team)).id}/").status == 404


def test_a_claim_keeps_others_away_until_it_is_given_up(api: Api, second: Api, team: Team) -> None:
    run = waits(team)
    claim = api.post(f"review/{run.id}/claim/").body
    assert claim["by"] == "operator"
    for path in ("claim", "release"):
        refused = second.post(f"review/{run.id}/{path}/")
        assert (refused.status, refused.body["claim"]["by"]) == (409, "operator")
    refused = second.post(f"runs/{run.id}/decide/", {"decision": "close", "note": "Mine."})
    assert (refused.status, refused.body["claim"]) == (409, claim)
    assert api.post(f"review/{run.id}/release/").status == 204
    assert second.post(f"runs/{run.id}/decide/", {"decision": "close", "note": "M."}).status == 200
    assert api.post(f"review/{run.id}/claim/").status == 409


def test_a_stale_decision_is_told_who_decided(api: Api, second: Api, team: Team) -> None:
    run = waits(team)
    assert api.post(f"runs/{run.id}/decide/", SAID | {"attempt": 1}).status == 200
    refused = second.post(f"runs/{run.id}/decide/", SAID | {"attempt": 1})
    assert refused.status == 409
    assert "operator decided “run it again”" in refused.body["detail"]
    assert refused.body["run"].endswith(f"/runs/{run.id}/")


def test_a_new_key_is_given_only_where_it_is_asked_for(api: Api, team: Team) -> None:
    run = waits(team)
    again = api.post(f"runs/{run.id}/decide/", SAID | {"new_key": True}).body
    assert again["key"] == f"{run.key}:again:1"
    shown = api.get(f"runs/{run.id}/").body["decisions"][0]
    assert (shown["key"], shown["second"]) == (again["key"], None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"decision": "happened", "note": "n", "new_key": True}, "new_key"),
        ({"decision": "run_again", "note": "n", "new_key": 1}, "new_key"),
        ({"decision": "partly", "note": "n"}, "decision"),
        ({"decision": "escalate", "note": " "}, "note"),
    ],
)
def test_half_a_decision_is_refused(api: Api, team: Team, body: dict[str, Any], field: str) -> None:
    answer = api.post(f"runs/{waits(team).id}/decide/", body)
    assert (answer.status, answer.fields) == (400, [field])
    assert not Decision.objects.exists()


def test_two_pairs_of_eyes(api: Api, second: Api, team: Team) -> None:
    run = waits(team, job=job_with(team, critical=True))
    asked = api.post(f"runs/{run.id}/decide/", SAID)
    assert (asked.status, asked.body["state"]) == (202, "REVIEW")
    waiting = second.get("approvals/").body["results"]
    assert waiting == [asked.body["approval"]]
    assert second.get(f"review/{run.id}/").body["review"]["approval"]["by"] == "operator"
    assert second.get("review/").body["results"][0]["review"]["waits_for_second"] is True
    where = f"approvals/{waiting[0]['id']}/"
    assert api.post(where, {"answer": "approve"}).status == 403
    assert second.post(where, {"answer": "withdraw"}).status == 403
    assert second.post(where, {"answer": "refuse"}).fields == ["note"]
    assert second.post(where, {"answer": "perhaps"}).fields == ["answer"]
    again = second.post(f"runs/{run.id}/decide/", SAID)
    assert (again.status, again.body["approval"]["by"]) == (409, "operator")
    assert second.post(where, {"answer": "approve"}).body["state"] == "CLAIMED"
    twice = second.post(where, {"answer": "approve"})
    assert (twice.status, twice.body["approval"]["state"]) == (409, "approved")
    assert second.get("approvals/").body["results"] == []
    assert second.get(where).body["answered_by"] == "colleague"


def test_a_request_is_taken_back(api: Api, team: Team) -> None:
    run = waits(team, job=job_with(team, critical=True))
    asked = api.post(f"runs/{run.id}/decide/", SAID).body["approval"]
    taken = api.post(f"approvals/{asked['id']}/", {"answer": "withdraw"})
    assert (taken.status, taken.body["state"]) == (200, "withdrawn")
    assert Approval.objects.get().answered_by == Approval.objects.get().by


@pytest.fixture
def probed(team: Team, settings: Any) -> Iterator[Run]:
    """A run whose job names a probe that answers «ok»."""
    settings.EGRESS_ALLOW = "127.0.0.0/8"
    with Loopback() as ledger:
        probe = {"url": f"http://127.0.0.1:{ledger.port}/did"}
        yield waits(team, job=job_with(team, probe=probe))


def test_the_probe_is_asked_now(api: Api, team: Team, probed: Run) -> None:
    none = api.post(f"review/{waits(team).id}/probe/")
    assert (none.status, none.body["answer"]) == (200, None)
    told = api.post(f"review/{probed.id}/probe/").body
    assert told["answer"] == "cannot_tell"
    assert api.get(f"review/{probed.id}/").body["review"]["probe"] == told


def test_the_lock_tells_its_end(api: Api, probed: Run) -> None:
    attempt(probed, started=timedelta())
    until = api.get(f"review/{probed.id}/").body["review"]["locked_until"]
    refused = api.post(f"runs/{probed.id}/decide/", SAID)
    assert (refused.status, refused.body["until"]) == (409, until)


# ── many at once ─────────────────────────────────────────────────────────────────────────


def test_many_are_decided_by_their_ids(api: Api, team: Team) -> None:
    runs = [unsent(team), waits(team)]
    said = {**SAID, "runs": [str(run.id) for run in runs]}
    results = api.post("review/bulk/", said).body["results"]
    assert [(row["run"], row["decided"], row["state"]) for row in results] == [
        (str(runs[0].id), True, "CLAIMED"),
        (str(runs[1].id), False, "REVIEW"),
    ]


def test_many_are_decided_by_a_filter_as_of_then(api: Api, team: Team) -> None:
    job = job_with(team)
    first = unsent(team, job=job)
    unsent(team)
    as_of = canonical_instant(clock.now())
    unsent(team, job=job)
    said = {"decision": "close", "note": "n", "job": str(job.id), "as_of": as_of}
    differs = api.post("review/bulk/", said | {"expected": 2})
    assert (differs.status, differs.body["found"]) == (409, 1)
    results = api.post("review/bulk/", said | {"expected": 1}).body["results"]
    assert [row["run"] for row in results] == [str(first.id)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"decision": "happened"}, "decision"),
        ({"note": ""}, "note"),
        ({"runs": "all"}, "runs"),
        ({"runs": ["7"]}, "runs"),
        ({"runs": [str(uuid4())]}, "runs"),
        ({"runs": None}, "runs"),
        ({"everything": True}, "everything"),
    ],
)
def test_a_bulk_that_says_no_such_thing_is_refused(
    api: Api, team: Team, changes: dict[str, Any], field: str
) -> None:
    run = unsent(team)
    said = {**SAID, "runs": [str(run.id)], **changes}
    answer = api.post("review/bulk/", said)
    assert (answer.status, answer.fields) == (400, [field])
    assert not Decision.objects.exists()


@pytest.mark.parametrize("missing", ["as_of", "expected"])
def test_a_filter_without_what_was_seen_is_refused(api: Api, team: Team, missing: str) -> None:
    said = {**SAID, "as_of": "2026-01-01T00:00:00Z", "expected": 1}
    del said[missing]
    assert api.post("review/bulk/", said).fields == ["runs"]


def test_no_run_of_another_team_is_among_many(api: Api, team: Team) -> None:
    theirs = unsent(make.team("elsewhere"))
    assert api.post("review/bulk/", {**SAID, "runs": [str(theirs.id)]}).fields == ["runs"]
    assert deciding.CHOICES == ("happened", "run_again", "close", "escalate")
