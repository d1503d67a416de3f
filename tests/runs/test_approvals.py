"""Two pairs of eyes: asked by one, approved by another."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock
from jobs.models import Team, User
from runs.decisions import NoteMissing, Stale
from runs.models import Approval, Decision, Run
from runs.review import approvals, claims
from tests import make
from tests.runs.reviewing import decide, job_with, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


@pytest.fixture
def critical(team: Team) -> Run:
    return waits(team, job=job_with(team, critical=True))


def ask(run: Run, by: User, **more: Any) -> Approval:
    with pytest.raises(approvals.Asked) as asked:
        decide(run, "run_again", by, **more)
    return asked.value.approval


def test_a_critical_run_goes_again_when_a_second_person_approves(
    critical: Run, operator: User, colleague: User
) -> None:
    claims.take(critical.id, by=operator)
    approval = ask(critical, operator)
    assert claims.of(critical.id) is None, "the second person may look as well"
    critical.refresh_from_db()
    assert (critical.state, Decision.objects.count()) == ("REVIEW", 0)
    with pytest.raises(approvals.NotYours):
        approvals.approve(approval.id, by=operator)
    again = approvals.approve(approval.id, by=colleague)
    row = Decision.objects.get()
    assert (again.state, row.by, row.second, row.note) == (
        "CLAIMED",
        operator,
        colleague,
        "Looked.",
    )
    assert "approved by colleague" in again.reason
    with pytest.raises(approvals.Over, match="approved by now by colleague"):
        approvals.approve(approval.id, by=colleague)


def test_a_team_asks_for_two_only_for_a_new_key(
    team: Team, operator: User, colleague: User
) -> None:
    Team.objects.update(two_pairs_of_eyes=True)
    first, second = waits(team), waits(team)
    assert decide(first, "run_again", operator).state == "CLAIMED"
    again = approvals.approve(ask(second, operator, new_key=True).id, by=colleague)
    assert again.key == f"{second.key}:again:1"


def test_whatever_else_is_decided_needs_one_person_and_overtakes(
    critical: Run, operator: User, colleague: User
) -> None:
    approval = ask(critical, operator)
    assert decide(critical, "happened", colleague).state == "SUCCEEDED"
    with pytest.raises(approvals.Over, match="overtaken"):
        approvals.approve(approval.id, by=colleague)


def test_a_second_request_finds_the_first(critical: Run, operator: User, colleague: User) -> None:
    ask(critical, operator)
    with pytest.raises(approvals.AskedAlready, match="operator has asked"):
        decide(critical, "run_again", colleague)


def test_it_is_refused_with_a_note_or_taken_back(
    critical: Run, operator: User, colleague: User
) -> None:
    approval = ask(critical, operator)
    with pytest.raises(NoteMissing):
        approvals.refuse(approval.id, note=" ", by=colleague)
    with pytest.raises(approvals.NotYours, match="Only operator takes"):
        approvals.withdraw(approval.id, by=colleague)
    refused = approvals.refuse(approval.id, note="It is in the ledger.", by=colleague)
    assert (refused.state, refused.answer_note) == ("refused", "It is in the ledger.")
    mine = ask(critical, operator)
    with pytest.raises(approvals.NotYours):
        approvals.refuse(mine.id, note="No.", by=operator)
    assert approvals.withdraw(mine.id, by=operator).state == "withdrawn"
    critical.refresh_from_db()
    assert critical.state == "REVIEW"


def test_a_request_grows_too_old(critical: Run, operator: User, colleague: User) -> None:
    old = ask(critical, operator)
    Approval.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    with pytest.raises(approvals.Over, match="too old"):
        approvals.approve(old.id, by=colleague)
    anew = ask(critical, operator)
    assert list(approvals.waiting(operator.id)) == [anew]
    assert approvals.approve(anew.id, by=colleague).state == "CLAIMED"


def test_a_request_about_an_attempt_that_is_over_is_stale(
    critical: Run, operator: User, colleague: User
) -> None:
    approval = ask(critical, operator)
    Run.objects.update(attempt=2)
    with pytest.raises(Stale):
        approvals.approve(approval.id, by=colleague)
    approval.refresh_from_db()
    assert approval.state == "pending", "what was not done was not approved either"


def test_another_team_sees_no_request(critical: Run, operator: User) -> None:
    ask(critical, operator)
    assert not approvals.waiting(make.outsider().id).exists()
