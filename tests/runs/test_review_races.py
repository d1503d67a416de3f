"""Two people at one instant about one run in review: one wins, the other is told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from jobs.models import Job, Team, User
from runs import self_pause
from runs.models import Approval, Decision, ReviewClaim
from runs.review import approvals, claims, deciding
from runs.states import State
from tests import make
from tests.races import ROUNDS, at_once
from tests.runs.reviewing import job_with, waits

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


def decide(run_id: Any, choice: deciding.Choice, by: User) -> str:
    """One click."""
    return deciding.decide(run_id, choice, token=1, note="Looked.", by=by).state


def told(outcomes: list[Any]) -> list[str]:
    return sorted(type(one).__name__ if isinstance(one, Exception) else one for one in outcomes)


def test_a_double_click_decides_once(team: Team, operator: User) -> None:
    """The other finds the run decided, and by whom."""
    job = job_with(team, block_on_review=False, overlap="allow")
    for _ in range(ROUNDS):
        run = waits(team, job=job)
        click = partial(decide, run.id, "run_again", operator)
        outcomes = at_once(click, click)
        assert told(outcomes) == ["CLAIMED", "Stale"]
        lost = next(one for one in outcomes if isinstance(one, deciding.Stale))
        assert "operator decided “run it again”" in str(lost)
        assert Decision.objects.filter(run=run).count() == 1


def test_of_two_deciders_one_wins(team: Team, operator: User, colleague: User) -> None:
    job = job_with(team, block_on_review=False, overlap="allow")
    for _ in range(ROUNDS):
        run = waits(team, job=job)
        outcomes = at_once(
            partial(decide, run.id, "happened", operator),
            partial(decide, run.id, "run_again", colleague),
            partial(decide, run.id, "close", operator),
        )
        names = told(outcomes)
        assert names[1:] == ["Stale", "Stale"] and names[0] in ("SUCCEEDED", "CLAIMED", "CLOSED")
        run.refresh_from_db()
        assert run.state == names[0]
        assert Decision.objects.get(run=run).to_state == names[0]


def test_a_claim_against_a_decision(team: Team, operator: User, colleague: User) -> None:
    """Whoever comes first keeps the other from it; no claim outlives a decision."""
    job = job_with(team, block_on_review=False, overlap="allow")
    for _ in range(ROUNDS):
        run = waits(team, job=job)
        taken, decided = at_once(
            partial(claims.take, run.id, by=operator),
            partial(decide, run.id, "close", colleague),
        )
        run.refresh_from_db()
        if isinstance(taken, ReviewClaim):
            assert isinstance(decided, claims.Claimed)
            assert run.state == State.REVIEW
        else:
            assert (type(taken), decided, run.state) == (deciding.Stale, "CLOSED", "CLOSED")
            assert not ReviewClaim.objects.filter(run=run).exists()


def test_two_people_take_it_and_one_has_it(team: Team, operator: User, colleague: User) -> None:
    job = job_with(team, block_on_review=False, overlap="allow")
    for _ in range(ROUNDS):
        run = waits(team, job=job)
        outcomes = at_once(
            partial(claims.take, run.id, by=operator),
            partial(claims.take, run.id, by=colleague),
        )
        assert sorted(type(one).__name__ for one in outcomes) == ["Claimed", "ReviewClaim"]


def approve(approval: Approval, by: User) -> str:
    return approvals.approve(approval.id, by=by).state


def test_a_request_approved_twice_runs_once(team: Team, operator: User, colleague: User) -> None:
    """And an approval against a decision, or against being taken back: one of them."""
    job = job_with(team, block_on_review=False, overlap="allow", critical=True)
    third = make.operator(team, "third")
    for count in range(ROUNDS):
        run = waits(team, job=job)
        approval = approvals.ask(run.id, token=1, new_key=False, note="Not seen.", by=operator)
        other = (
            partial(approve, approval, third),
            partial(decide, run.id, "close", third),
            partial(approvals.withdraw, approval.id, by=operator),
        )[count % 3]
        outcomes = at_once(partial(approve, approval, colleague), other)
        assert sum(isinstance(one, Exception) for one in outcomes) == 1, outcomes
        assert Decision.objects.filter(run=run).count() <= 1
        run.refresh_from_db()
        approval.refresh_from_db()
        assert (run.state == "CLAIMED") == (approval.state == "approved")


def test_two_requests_at_once_are_one(team: Team, operator: User, colleague: User) -> None:
    job = job_with(team, block_on_review=False, overlap="allow", critical=True)
    for _ in range(ROUNDS):
        run = waits(team, job=job)
        at_once(
            partial(decide, run.id, "run_again", operator),
            partial(decide, run.id, "run_again", colleague),
        )
        assert Approval.objects.filter(run=run).count() == 1


def test_two_beats_pause_a_job_once(team: Team) -> None:
    for _ in range(ROUNDS):
        job = job_with(team, pause_after_reviews=1)
        waits(team, job=job)
        assert sorted(at_once(self_pause.after_reviews, self_pause.after_reviews)) == [0, 1]
        assert Job.objects.get(id=job.id).version == 2
