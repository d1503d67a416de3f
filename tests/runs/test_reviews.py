"""Review: since when, whose it is, passed on, under a new key, and a job that pauses itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from jobs import clock, editing
from jobs.models import JobVersion, Team, User
from runs import cancel, idempotency, self_pause
from runs.decisions import Stale
from runs.models import Decision, Message, ReviewClaim, Run
from runs.review import claims, deciding, run_again
from runs.review.claims import Claimed
from runs.states import State
from tests import make
from tests.runs.reviewing import decide, job_with, since, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


# ── since when ────────────────────────────────────────────────────────────────────────────────


def test_a_run_taken_back_before_it_ran_again_is_in_review_anew(team: Team, operator: User) -> None:
    run = waits(team, since=timedelta(hours=3))
    decide(run, "run_again", operator)
    assert since(cancel.cancel(run.id, by=operator).review_at) < 60


def test_a_run_in_review_without_an_instant_cannot_be_stored(team: Team) -> None:
    run = waits(team)
    with pytest.raises(IntegrityError, match="review_since_an_instant"), transaction.atomic():
        Run.objects.filter(id=run.id).update(review_at=None)


# ── claims ────────────────────────────────────────────────────────────────────────────────────


def test_who_takes_a_run_has_it_for_a_quarter_of_an_hour(
    team: Team, operator: User, colleague: User
) -> None:
    run = waits(team)
    claim = claims.take(run.id, by=operator)
    assert claim.until - claim.at == timedelta(minutes=15)
    with pytest.raises(Claimed, match="operator looks at this run until"):
        claims.take(run.id, by=colleague)
    with pytest.raises(Claimed):
        claims.release(run.id, by=colleague)
    for choice in deciding.CHOICES:
        with pytest.raises(Claimed):
            decide(run, choice, colleague)
    assert not Decision.objects.exists()
    assert decide(run, "close", operator).state == "CLOSED"
    assert not ReviewClaim.objects.exists()


def test_a_claim_that_ran_out_is_taken_over_and_one_given_up_is_free(
    team: Team, operator: User, colleague: User
) -> None:
    run = waits(team)
    claims.take(run.id, by=operator)
    long_ago = clock.now() - timedelta(minutes=16)
    ReviewClaim.objects.update(at=long_ago, until=long_ago + timedelta(minutes=15))
    assert claims.of(run.id) is None
    assert claims.take(run.id, by=colleague).by == colleague
    claims.release(run.id, by=colleague)
    assert claims.take(run.id, by=operator).by == operator


def test_one_may_take_longer(team: Team, operator: User) -> None:
    run = waits(team)
    first = claims.take(run.id, by=operator)
    assert claims.take(run.id, by=operator).until >= first.until


def test_what_is_not_in_review_is_not_taken(team: Team, operator: User) -> None:
    run = make.run(make.job(team), State.SUCCEEDED)
    for act in (claims.take, claims.release):
        with pytest.raises(Stale):
            act(run.id, by=operator)


# ── escalate ──────────────────────────────────────────────────────────────────────────────────


def test_what_is_passed_on_stays_in_review_marked_once(
    team: Team, operator: User, colleague: User
) -> None:
    make.channel(team, "escalated")
    run = waits(team)
    claims.take(run.id, by=operator)
    assert decide(run, "escalate", operator).state == "REVIEW"
    row = Decision.objects.get()
    assert (row.decision, row.from_state, row.to_state) == ("escalate", "REVIEW", "REVIEW")
    assert deciding.escalated(run) == row
    assert claims.of(run.id) is None, "who passes it on does not keep it"
    with pytest.raises(Stale, match="operator decided “passed it on”"):
        decide(run, "escalate", colleague)
    assert Message.objects.get().reason == "operator wrote: Looked."
    assert decide(run, "happened", colleague).state == "SUCCEEDED"


# ── a new key ─────────────────────────────────────────────────────────────────────────────────


def test_a_new_key_is_a_choice_and_goes_wherever_the_old_one_was(
    team: Team, operator: User
) -> None:
    run = waits(team)
    old = run.key
    encoded = old.replace(":", "%3A")
    Run.objects.filter(id=run.id).update(
        snapshot={
            "type": "http",
            "method": "POST",
            "url": f"https://ledger.example/{encoded}",
            "headers": {"X-Key": old},
            "body": {"key": [old, 7, None]},
        }
    )
    again = decide(run, "run_again", operator, new_key=True)
    new = f"{old}:again:1"
    assert (again.key, again.state, Decision.objects.get().key) == (new, "CLAIMED", new)
    assert again.snapshot["url"].endswith(f"/{encoded}%3Aagain%3A1")
    assert again.snapshot["headers"] == {"X-Key": new}
    assert again.snapshot["body"] == {"key": [new, 7, None]}
    assert idempotency.take(again.key, run_id=run.id, holder=2, payload=again.snapshot)


@pytest.mark.parametrize(
    ("key", "following"),
    [
        ("j:2026-11-29T18:00:00Z", "j:2026-11-29T18:00:00Z:again:1"),
        ("j:hand:7:again:1", "j:hand:7:again:2"),
        ("j:again:9", "j:again:10"),
    ],
)
def test_new_keys_are_counted(key: str, following: str) -> None:
    assert run_again.next_key(key) == following


def test_without_that_choice_the_key_stays(team: Team, operator: User) -> None:
    run = waits(team)
    assert decide(run, "run_again", operator).key == run.key
    assert Decision.objects.get().key == ""


# ── a job pauses itself ───────────────────────────────────────────────────────────────────────


def test_a_job_pauses_itself_after_so_many_reviews_with_the_reason(
    team: Team, operator: User
) -> None:
    job = job_with(team, pause_after_reviews=2)
    waits(team, job=job)
    assert self_pause.after_reviews() == 0
    waits(team, job=job)
    waits(team)
    assert self_pause.after_reviews() == 1
    job.refresh_from_db()
    assert job.paused and "2 of its runs wait in review" in job.paused_reason
    assert JobVersion.objects.get(job=job, number=2).by is None
    assert self_pause.after_reviews() == 0


def test_who_resumes_it_knows_of_the_old_ones(team: Team, operator: User) -> None:
    job = job_with(team, pause_after_reviews=2)
    for _ in range(2):
        waits(team, job=job)
    self_pause.after_reviews()
    editing.resume(job.id, by=operator)
    assert self_pause.after_reviews() == 0
    waits(team, job=job)
    assert self_pause.after_reviews() == 0
    waits(team, job=job)
    assert self_pause.after_reviews() == 1
