"""Why a job has not run: each reason, with what is in the way and what to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock, editing, holds
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Due, Job, Team, User
from jobs.schedules.instants import canonical_instant
from runs.dashboard.job import why
from runs.dashboard.job.why import Answer
from runs.models import Attempt, Beat, Run
from runs.states import Origin, State
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.runs.histories import aged

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", overlap="queue", schedule={"cron": "0 * * * *"})


def answers(job: Job) -> list[Answer]:
    found = Job.objects.select_related("due", "team").get(id=job.id)
    return why.of_job(found, clock.now()).answers


def only(job: Job) -> Answer:
    (answer,) = answers(job)
    assert answer.remedy
    return answer


def changed(job: Job, **columns: Any) -> None:
    Job.objects.filter(id=job.id).update(**columns)


def beat(ago: timedelta = timedelta()) -> None:
    now = clock.now()
    row = {"host": "a", "pid": 1, "tzdata": "2026a", "started_at": now}
    Beat.objects.create(name="a", seen_at=now - ago, **row)


def test_a_job_that_runs_as_it_should_has_no_reason(job: Job) -> None:
    make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=clock.now())
    make.run(job, State.RUNNING)
    assert answers(job) == []


def test_of_many_reasons_the_first_two_stand_open(browser: Browser, job: Job) -> None:
    holds.begin(job.team, "A move.", by=None)
    for _ in range(3):
        make.run(job, State.WAITING)
    count = len(answers(job))
    assert count > 2
    (told,) = browser.get(f"/jobs/{job.id}/").all("section", class_="notice why")
    assert told.text.count("A move.") == 1
    assert f"{count - 2} more reason" in told.text


def test_a_pause_says_who_why_and_since(job: Job, operator: User) -> None:
    editing.pause(job.id, editing.Pause("The ledger moves."), by=operator)
    answer = only(job)
    assert (answer.kind, answer.since is not None) == ("paused", True)
    assert answer.text == "It is paused by operator. The ledger moves."


def test_a_reason_without_a_full_stop_is_not_read_on_into_our_words(
    browser: Browser, job: Job, operator: User
) -> None:
    holds.begin(job.team, "the ledger moves", by=operator)
    changed(job, skip_next=1, skip_reason="stocktaking")
    words = browser.get(f"/jobs/{job.id}/").words
    assert "On hold: team Payments. the ledger moves. Nothing of it starts" in words
    assert "the hold of team payments: the ledger moves. At most" in words
    assert "left out on purpose: stocktaking. " in words
    with pytest.raises(holds.HeldAlready, match=r"the ledger moves\. End that one first"):
        holds.begin(job.team, "again", by=operator)
    editing.pause(job.id, editing.Pause("it is moved"), by=operator)
    assert "It is paused by operator. it is moved. Since" in browser.get(f"/jobs/{job.id}/").words


def test_a_row_that_is_disabled_says_so_of_its_mirror(team: Team) -> None:
    job = editing.register(team, make.definition(), by=None, periodic_task_id=7)
    changed(job, paused=True, paused_reason="The row is disabled.")
    answer = only(job)
    assert answer.kind == "mirrored"
    assert "The row is disabled." in answer.text
    assert "in the admin" in answer.remedy


def test_a_hold_is_named_and_linked(job: Job) -> None:
    hold = holds.begin(job.team, "Stocktaking.", by=None)
    answer = only(job)
    assert (answer.kind, answer.hold_id, answer.since) == ("hold", hold.id, hold.began_at)
    assert "Stocktaking." in answer.text


def test_a_window_max_runs_and_skips(job: Job) -> None:
    soon = clock.now() + timedelta(days=3)
    changed(job, starts_at=soon)
    assert (only(job).kind, only(job).until) == ("window", soon)
    changed(job, starts_at=None, skip_next=2, skip_reason="Stocktaking.")
    assert only(job).text == "Its next 2 moments are left out on purpose: Stocktaking."
    changed(job, skip_next=0, max_runs=1, runs_begun=1, finished=True)
    assert only(job).kind == "finished"
    Due.objects.filter(job=job).delete()
    changed(job, finished=False, max_runs=None, ends_at=clock.now() - MINUTE)
    assert only(job).text == "Its window is over."
    changed(job, ends_at=None)
    assert only(job).kind == "no_moment"


def test_a_moment_that_nobody_claims_tells_of_the_beats(job: Job) -> None:
    assert Beat.objects.count() == 0
    Due.objects.filter(job=job).update(at=clock.now() - MINUTE)
    found = why.of_job(Job.objects.select_related("due").get(id=job.id), clock.now())
    assert found.late
    assert only(job).kind == "beats"
    beat(ago=timedelta(minutes=5))
    assert only(job).since == Beat.objects.get().seen_at
    Beat.objects.all().delete()
    beat()
    assert only(job).kind == "unclaimed"


def test_the_run_in_the_way_is_linked(job: Job) -> None:
    other = make.run(job, State.RUNNING)
    make.run(job, State.WAITING, blocked_by=other.id, reason="Waits for that run to end.")
    answer = only(job)
    assert (answer.kind, answer.run_id) == ("overlap", other.id)


def test_a_review_in_the_way_is_to_be_decided(team: Team) -> None:
    job = make.job(team, idempotent=False, overlap="queue")
    other = make.run(job, State.REVIEW)
    make.run(job, State.WAITING, blocked_by=other.id, reason="Waits until it is decided.")
    answer = only(job)
    assert (answer.kind, answer.run_id) == ("review", other.id)
    assert "Decide" in answer.remedy


def test_a_retry_says_until_when(job: Job) -> None:
    at = clock.now() + MINUTE
    run = make.run(job, State.RETRYING, attempt=1, send_at=at, reason="It answered 503.")
    answer = only(job)
    assert (answer.kind, answer.until, answer.run_id) == ("retrying", at, run.id)
    assert answer.text == "Attempt 1 did not succeed: It answered 503."


def test_a_message_without_a_worker_tells_what_is_known_of_them(job: Job) -> None:
    sent = clock.now() - MINUTE
    make.run(job, State.ENQUEUED, sent_at=sent, created_at=sent)
    assert (only(job).kind, only(job).since) == ("worker", sent)
    assert "none has started anything lately" in only(job).text
    other = make.run(make.job(job.team, name="other"), State.SUCCEEDED)
    row = {"number": 1, "lease_id": other.id, "worker": "w", "started_at": sent}
    Attempt.objects.create(run=other, **row)
    assert canonical_instant(sent.replace(microsecond=0)) in only(job).text
    make.run(make.job(job.team, name="busy"), State.RUNNING)
    assert "1 run of that queue is at work." in only(job).text


def test_a_message_just_sent_is_no_reason(job: Job) -> None:
    make.run(job, State.ENQUEUED, sent_at=clock.now())
    assert answers(job) == []


def test_a_run_that_no_broker_takes_and_one_that_is_spread(job: Job) -> None:
    then, soon = clock.now() - MINUTE, clock.now() + MINUTE
    run = make.run(job, State.CLAIMED, created_at=then)
    assert only(job).kind == "unsent"
    Run.objects.filter(id=run.id).update(not_before=soon)
    assert (only(job).kind, only(job).until) == ("spread", soon)


@pytest.mark.parametrize(
    ("state", "columns", "kind"),
    [
        (State.SKIPPED, {"reason": "Skipped: run 1 was still under way."}, "skipped"),
        (State.CANCELLED, {"reason": "Taken back."}, "cancelled"),
    ],
)
def test_what_became_of_the_last_moment(
    job: Job, state: State, columns: dict[str, Any], kind: str
) -> None:
    due = clock.now() - MINUTE
    run = make.run(job, state, origin=Origin.SCHEDULE, due_at=due, **columns)
    answer = only(job)
    assert (answer.kind, answer.run_id) == (kind, run.id)
    assert columns["reason"] in answer.text
    make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=clock.now())
    assert answers(job) == []


def test_a_missed_moment_waits_for_a_person(team: Team) -> None:
    job = make.job(team, idempotent=False)
    due = {"origin": Origin.SCHEDULE, "due_at": clock.now() - MINUTE}
    make.run(job, State.REVIEW, review_class="missed", reason="Missed.", **due)
    assert only(job).kind == "missed"


@pytest.mark.parametrize("rule", ["skip", "next"])
def test_a_day_off_is_named(team: Team, rule: str) -> None:
    now = clock.now()
    days = [(now - timedelta(days=back)).date().isoformat() for back in range(3)]
    author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    given = {
        "weekdays": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
        "days_off": [{"date": day, "label": "Founders’ day"} for day in days],
    }
    calendar_editing.create("bank", calendar_content.read(given), by=author)
    job = make.job(team, schedule={"cron": "0 0 * * *"}, calendar={"name": "bank", "rule": rule})
    answer = only(aged(job, timedelta(days=2)))
    assert answer.kind == "day_off"
    assert "(Founders’ day) is a day off in the calendar bank" in answer.text
    assert ("skipped" in answer.text) == (rule == "skip")


def test_the_page_and_the_api_tell_the_same(
    browser: Browser, api: Api, job: Job, operator: User
) -> None:
    assert "Why has it not run?" not in browser.get(f"/jobs/{job.id}/").words
    other = make.run(job, State.RUNNING)
    make.run(job, State.WAITING, blocked_by=other.id, reason="Waits for that run to end.")
    page = browser.get(f"/jobs/{job.id}/")
    assert "Why has it not run?" in page.words
    assert "Waits for that run to end." in page.words
    body = api.get(f"jobs/{job.id}/why/").body
    (answer,) = body["answers"]
    assert (answer["kind"], answer["run"]) == ("overlap", str(other.id))
    assert answer["remedy"] in page.words
    assert body["late"] is False
    assert api.get(f"jobs/{job.id}/why/?x=1").fields == ["x"]
