"""A run by hand of a moment that lies behind: its key, its version, and one run only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock, editing
from jobs.editing import Pause
from jobs.models import Job, User
from jobs.schedules.instants import canonical_instant
from runs import by_hand, idempotency, start
from runs.models import Run, Tombstone
from runs.states import State
from tests import make
from tests.api import Answer, Api
from tests.pages import Browser
from tests.runs.histories import MINUTE, edited, fired, minutely, noon, skipped

pytestmark = pytest.mark.django_db


def ask(api: Api, job: Job, moment: Any) -> Answer:
    given = moment if isinstance(moment, (str, int)) else canonical_instant(moment)
    return api.post(f"jobs/{job.id}/run/", {"for": given})


def test_a_skipped_moment_is_run_with_its_key(api: Api) -> None:
    job, at = minutely(overlap="skip"), noon()
    skipped(job, at)
    answer = ask(api, job, at)
    assert answer.status == 201
    run = Run.objects.get(id=answer.body["id"])
    assert (run.key, run.origin) == (idempotency.key_of_moment(job.id, at), "hand")
    assert (run.due_at, run.state, run.serial) == (at, "CLAIMED", True)
    assert answer.body["due_at"] == canonical_instant(at)
    assert start.run(run.id, worker="w") is not None, "what a person asked for has no window"


def test_a_moment_within_a_record_of_several_and_one_without_any(operator: User) -> None:
    job, at = minutely(), noon()
    skipped(job, at, count=5)
    for moment in (at + 2 * MINUTE, at + 4 * MINUTE, at - 3 * MINUTE):
        assert by_hand.run_for(job.id, moment, by=operator).due_at == moment


def test_the_version_in_force_at_the_moment_says_what_is_called(operator: User) -> None:
    job, at = minutely(), noon()
    target = {"type": "http", "method": "POST", "url": "https://ledger.example/new"}
    edited(job, at, target=target, timeout=7)
    old = by_hand.run_for(job.id, at, by=operator)
    new = by_hand.run_for(job.id, at + MINUTE, by=operator)
    assert (old.job_version, old.snapshot, old.timeout) == (1, job.target, job.timeout)
    assert (new.job_version, new.snapshot["url"], new.timeout) == (2, target["url"], 7)


def test_a_recorded_moment_that_the_line_does_not_know_is_run(operator: User) -> None:
    """As after a change of the zone data."""
    job, at = minutely(), noon() + timedelta(seconds=17)
    skipped(job, at)
    assert by_hand.run_for(job.id, at, by=operator).due_at == at


@pytest.mark.parametrize("state", [state for state in State if state is not State.SKIPPED])
def test_a_moment_that_has_a_run_gets_no_second_one(api: Api, state: State) -> None:
    job, at = minutely(), noon()
    has = fired(job, at, state)
    skipped(job, at)
    answer = ask(api, job, at)
    assert answer.status == 409
    assert answer.body["run"].endswith(f"/api/v1/runs/{has.id}/")
    assert answer.body["state"] == state
    assert Run.objects.exclude(state="SKIPPED").get() == has


def test_a_missed_moment_in_review_is_to_be_decided(api: Api) -> None:
    job, at = minutely(idempotent=False), noon()
    has = fired(job, at, State.REVIEW, review_class="missed", attempt=0)
    answer = ask(api, job, at)
    assert answer.status == 409 and "decide it there" in answer.body["detail"]
    assert answer.body["run"].endswith(f"/{has.id}/")


def test_a_moment_that_waits_says_for_what(api: Api) -> None:
    job, at = minutely(overlap="queue"), noon()
    fired(job, at, State.WAITING, reason="Waits for the moon.")
    assert "Waits for the moon." in ask(api, job, at).body["detail"]


def test_a_moment_whose_run_is_kept_no_more_stays_done(api: Api) -> None:
    job, at = minutely(), noon()
    Tombstone.objects.create(job=job, due_at=at, ending="SUCCEEDED")
    answer = ask(api, job, at)
    assert answer.status == 409 and "SUCCEEDED" in answer.body["detail"]
    assert not Run.objects.exists()


def test_a_busy_serial_job_is_left_alone(api: Api) -> None:
    job, at = minutely(overlap="queue"), noon()
    active = make.run(job, State.RUNNING)
    answer = ask(api, job, at)
    assert answer.status == 409 and answer.body["run"].endswith(f"/{active.id}/")


def test_what_never_was_due_is_refused_and_its_neighbours_are_named(api: Api) -> None:
    job, at = minutely(), noon()
    answer = ask(api, job, at + timedelta(seconds=30))
    assert (answer.status, answer.fields) == (400, ["for"])
    hint = answer.body["errors"][0]["hint"]
    assert canonical_instant(at) in hint and canonical_instant(at + MINUTE) in hint


def test_what_lies_before_the_job_ahead_of_now_or_under_a_pause_is_refused(api: Api) -> None:
    job, at = minutely(), noon()
    editing.pause(job.id, Pause("moving"), by=None)
    edited_at = at - MINUTE
    job.jobversion_set.filter(number=2).update(began_at=edited_at)
    for moment in (at - timedelta(days=2), at, clock.now() + timedelta(hours=1)):
        answer = ask(api, job, moment)
        assert (answer.status, answer.fields) == (400, ["for"])
    assert ask(api, job, edited_at).status == 201


@pytest.mark.parametrize("given", ["", "now", "2026-11-29T18:00:00", "2026-02-30T18:00:00Z", 7])
def test_what_is_no_instant_is_refused_by_name(api: Api, given: Any) -> None:
    answer = ask(api, minutely(), given)
    assert (answer.status, answer.fields) == (400, ["for"])


def test_instants_at_the_ends_of_the_calendar_are_refused(api: Api) -> None:
    job = minutely()
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"):
        assert (ask(api, job, text).status, ask(api, job, text).fields) == (400, ["for"])


def test_the_next_claim_leaves_such_a_moment_alone(api: Api) -> None:
    job = minutely()
    at = clock.now().replace(second=0, microsecond=0)
    assert ask(api, job, at).status == 201
    assert ask(api, job, at).status == 409


# ── the page ─────────────────────────────────────────────────────────────────────────────


def test_the_page_offers_the_newest_skipped_moments_first(operator: User) -> None:
    job, at, browser = minutely(), noon(), Browser(operator)
    skipped(job, at - 60 * MINUTE)
    skipped(job, at, count=30)
    fired(job, at + 29 * MINUTE)
    page = browser.get(f"/jobs/{job.id}/run-now/")
    offered = [radio.attrs["value"] for radio in page.all("input", name="moment")]
    newest = [canonical_instant(at + n * MINUTE) for n in (28, 27, 26, 25, 24)]
    assert offered == [*newest, "now"]
    assert not any("checked" in radio.attrs for radio in page.all("input", name="moment"))
    page = browser.post(f"/jobs/{job.id}/run-now/", moment=newest[1])
    run = Run.objects.get(origin="hand")
    assert page.url == f"/runs/{run.id}/"
    assert run.due_at == at + 27 * MINUTE


def test_one_click_runs_nothing_while_something_is_on_offer(operator: User) -> None:
    job, browser = minutely(), Browser(operator)
    skipped(job, noon())
    page = browser.post(f"/jobs/{job.id}/run-now/")
    assert page.all("input", name="moment") and not page.error("moment")
    page = browser.post(f"/jobs/{job.id}/run-now/", offered=1)
    assert page.status == 422 and "Choose" in page.error("moment")
    assert not Run.objects.filter(origin="hand").exists()
    browser.post(f"/jobs/{job.id}/run-now/", moment="now")
    assert Run.objects.get(origin="hand").due_at is None


def test_the_page_leads_to_missed_moments_in_review(operator: User) -> None:
    job = minutely(idempotent=False)
    missed = fired(job, noon(), State.REVIEW, review_class="missed", attempt=0)
    page = Browser(operator).get(f"/jobs/{job.id}/run-now/")
    assert page.all("a", href=f"/runs/{missed.id}/")


def test_a_moment_that_got_its_run_meanwhile_leads_to_it(operator: User) -> None:
    job, at, browser = minutely(), noon(), Browser(operator)
    has = fired(job, at)
    page = browser.post(f"/jobs/{job.id}/run-now/", moment=canonical_instant(at))
    assert page.url == f"/runs/{has.id}/" and "Nothing was started" in page.words


@pytest.mark.parametrize("given", ["yesterday", "2026-11-29T18:00:30Z", "2026-11-29T18:00"])
def test_a_moment_that_is_none_is_said_at_the_field(operator: User, given: str) -> None:
    page = Browser(operator).post(f"/jobs/{minutely().id}/run-now/", moment=given)
    assert page.status == 422 and page.error("moment")
