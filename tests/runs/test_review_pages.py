"""Review by its pages, without JavaScript: the queue, one of it, a second person, many at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs.models import Team, User
from runs.models import Approval, Decision, ReviewClaim, Run
from runs.review import approvals, claims
from runs.states import ReviewClass, State
from tests import make
from tests.pages import Browser, Page
from tests.runs.reviewing import attempt, decide, job_with, waits

pytestmark = pytest.mark.django_db


@pytest.fixture
def colleague(team: Team) -> User:
    return make.operator(team, "colleague")


def unsent(team: Team, **more: Any) -> Run:
    return waits(team, review_class=ReviewClass.NOT_SENT, **more)


def shown(page: Page) -> list[str]:
    return [row.attrs["id"].removeprefix("run-") for row in page.all("tr") if "id" in row.attrs]


def again(run: Run, **more: str) -> dict[str, str]:
    """The fields that run it again."""
    said = {"decision": "run_again", "note": "Not there.", "token": "1", "from": "review"}
    return {**said, "job_name": run.job.name, **more}


# ── the queue ────────────────────────────────────────────────────────────────────────────


def test_the_queue_says_what_is_overdue_and_whose_it_is(
    browser: Browser, team: Team, operator: User, colleague: User
) -> None:
    plain = waits(team, since=timedelta(hours=5))
    overdue = waits(team, job=job_with(team, decide_by=60), since=timedelta(hours=1))
    claims.take(overdue.id, by=colleague)
    decide(plain, "escalate", operator)
    page = browser.get("/review/")
    assert shown(page) == [str(overdue.id), str(plain.id)]
    at = page.all("div", class_="small overdue")[0].text
    assert at.startswith("overdue since ") and at.endswith(" UTC"), "the browser makes it relative"
    assert "taken by colleague" in page.words
    assert "passed on" in page.words
    assert shown(browser.get("/review/?overdue=yes")) == [str(overdue.id)]
    assert shown(browser.get("/review/?claimed=nobody")) == [str(plain.id)]
    assert shown(browser.get(f"/review/?job={plain.job_id}")) == [str(plain.id)]


def test_an_empty_queue_tells_none_from_filtered_away(browser: Browser, team: Team) -> None:
    assert "Nothing waits for a decision." in browser.get("/review/").words
    waits(team)
    for query in ("class=missed", "claimed=mine", "overdue=true"):
        assert "matches this filter" in browser.get(f"/review/?{query}").words
    for query in ("class=odd", "after=7"):
        assert "the filter was not understood" in browser.get(f"/review/?{query}").words


# ── one of it ────────────────────────────────────────────────────────────────────────────


def test_one_shows_its_evidence_beside_the_others(
    browser: Browser, team: Team, operator: User
) -> None:
    job = job_with(team, runbook="Ask the ledger.", decide_by=600)
    before = waits(team, job=job)
    decide(before, "happened", operator)
    run, other = waits(team, job=job), waits(team)
    broken = {"phase": "waiting", "bytes_sent": 412}
    attempt(run, started=timedelta(seconds=9), answer=broken, late={"reason": "It was done."})
    page = browser.get(f"/review/{run.id}/")
    for said in (
        "It was sent whole. No answer began. 412 bytes left this host.",
        "after attempt 1 had been given up: It was done.",
        "the call could be under way until",
        "Ask the ledger.",
        "it happened that run",
        "decide by ",
    ):
        assert said in page.words, said
    assert page.all("a", href=f"/review/{other.id}/")


def test_nothing_is_preselected_and_the_exact_request_is_shown(
    browser: Browser, team: Team
) -> None:
    run = waits(team)
    page = browser.get(f"/review/{run.id}/")
    radios = page.all("input", name="decision")
    assert len(radios) == 4
    assert not any("checked" in radio.attrs for radio in radios)
    assert page.value("job_name") == ""
    request = next(one.text for one in page.all("pre") if "Idempotency-Key" in one.text)
    assert request.startswith(f"{run.snapshot['method']} {run.snapshot['url']}\n")
    assert f"Idempotency-Key: {run.key}\n" in request
    assert f"Onebeat-Attempt: {run.attempt + 1}" in request
    assert "very-secret" not in page.html


def test_what_nobody_knows_stands_beside_what_is_known(browser: Browser, team: Team) -> None:
    run = waits(team)
    attempt(run, started=timedelta(seconds=1))
    page = browser.get(f"/review/{run.id}/")
    for said in (
        "What we do not know",
        "Whether the target acted.",
        "How much of the request left this host.",
        "Whether the call is still under way.",
        "the job names no probe",
        "Not proven: nothing on record shows that this target acts once for a key.",
        "this one may do it again",
    ):
        assert said in page.words, said
    calm = unsent(team)
    assert "Nothing else is open" in browser.get(f"/review/{calm.id}/").words


def test_an_open_page_is_told_who_was_faster(
    browser: Browser, team: Team, operator: User, colleague: User
) -> None:
    run = waits(team)
    there = browser.get(f"/review/{run.id}/")
    news = there.all("div", id="review-news")[0].attrs
    assert (
        browser.client.get(news["hx-get"], headers={"HX-PTag": news["data-tag"]}).status_code == 304
    )
    claims.take(run.id, by=colleague)
    assert "taken by colleague" in browser.get(news["hx-get"]).words
    attempt(run, started=timedelta(seconds=9), late={"reason": "It was done."})
    assert "Something has come back meanwhile" in browser.get(news["hx-get"]).words
    decide(run, "happened", colleague)
    told = browser.get(news["hx-get"])
    assert "colleague was faster: “it happened”" in told.words
    assert told.all("form") == []
    late = browser.send(f"/runs/{run.id}/decide/", again(run))
    assert "colleague decided “it happened” at " in late.words
    assert "Yours was not recorded." in late.words


def test_no_row_moves_while_the_queue_stands_open(
    browser: Browser, team: Team, operator: User
) -> None:
    first, second = (waits(team, since=timedelta(hours=hours)) for hours in (5, 4))
    page = browser.get("/review/")
    region = page.all("div", id="review-rows")[0].attrs
    urgent = waits(team, job=job_with(team, decide_by=1), since=timedelta())
    decide(first, "close", operator)
    polled = browser.get(region["hx-get"])
    assert shown(polled) == [str(first.id), str(second.id)], "in their places, as they were"
    assert "1 new to decide" in polled.words
    assert "decided: closed" in polled.words
    assert not polled.all("a", href=f"/review/{first.id}/")
    assert shown(browser.get("/review/")) == [str(urgent.id), str(second.id)]


def test_an_empty_queue_fills_by_itself(browser: Browser, team: Team) -> None:
    region = browser.get("/review/").all("div", id="review-rows")[0].attrs
    run = waits(team)
    polled = browser.get(region["hx-get"])
    assert shown(polled) == [str(run.id)]
    assert "new to decide" not in polled.words


def test_the_list_beside_one_stays_in_its_places_too(
    browser: Browser, team: Team, operator: User
) -> None:
    run, other = waits(team), waits(team, since=timedelta(hours=1))
    page = browser.get(f"/review/{run.id}/?claimed=nobody")
    assert page.all("a", href=f"/review/{other.id}/?claimed=nobody"), "the filter goes along"
    region = page.all("div", id="review-others")[0].attrs
    waits(team)
    decide(other, "close", operator)
    polled = browser.get(region["hx-get"])
    assert [one.attrs["id"] for one in polled.all("li") if "id" in one.attrs] == [
        f"beside-{other.id}",
        f"beside-{run.id}",
    ]
    assert "1 new" in polled.words


def test_a_form_that_comes_back_stands_where_it_stood(browser: Browser, team: Team) -> None:
    run = waits(team)
    page = browser.send(f"/runs/{run.id}/decide/", {"token": "1", "from": "review"})
    assert page.status == 422
    (here,) = [a for a in page.all("a") if a.attrs.get("aria-current")]
    assert here.attrs["href"] == "/review/"
    wrong = [a.attrs["href"] for a in page.all("a") if a.attrs["href"].startswith("#id_")]
    assert wrong == ["#id_decision", "#id_note"], "in the order of the page"
    assert "Required: what you looked at" in page.words


def test_a_filter_offers_each_choice_once(browser: Browser, team: Team) -> None:
    waits(team)
    page = browser.get("/review/?overdue=false")
    offered: dict[str, list[str]] = {}
    for one in page.elements:
        if one.tag == "select":
            said = offered[one.attrs["name"]] = []
        elif one.tag == "option":
            said.append(one.text)
    assert offered.keys() == {"class", "team", "claimed", "overdue"}
    assert [said for said in offered.values() if len(said) != len(set(said))] == []
    assert not page.all("div", class_="errors banner"), "the API's word for it is understood"


def test_a_decision_leads_back_to_the_filtered_queue(browser: Browser, team: Team) -> None:
    run = waits(team)
    page = browser.send(f"/runs/{run.id}/decide/?claimed=nobody", again(run))
    assert page.url == "/review/?claimed=nobody"


def test_what_left_review_leads_to_the_run(browser: Browser, team: Team, operator: User) -> None:
    run = waits(team)
    decide(run, "close", operator)
    assert browser.get(f"/review/{run.id}/").url == f"/runs/{run.id}/"


def test_it_is_taken_and_given_back(browser: Browser, team: Team, colleague: User) -> None:
    run = waits(team)
    page = browser.send(f"/review/{run.id}/take/", {"from": "review"})
    assert page.url == f"/review/{run.id}/"
    assert "taken by you" in page.words
    assert Browser(colleague).get(f"/review/{run.id}/").all("form", action="run-decide") == []
    theirs = Browser(colleague).send(f"/review/{run.id}/take/", {"from": "review"})
    assert "operator looks at this run until" in theirs.words
    assert "Nothing was done" in theirs.words
    assert not theirs.all("form", action=f"/runs/{run.id}/decide/")
    late = Browser(colleague).send(f"/runs/{run.id}/decide/", again(run))
    assert "operator looks at this run" in late.words
    assert "Given back" in browser.send(f"/review/{run.id}/release/", {}).words
    assert not ReviewClaim.objects.exists()


def test_after_a_decision_the_queue_comes_next(browser: Browser, team: Team) -> None:
    run = waits(team)
    page = browser.send(f"/runs/{run.id}/decide/", again(run))
    assert (page.url, "recorded with your name" in page.words) == ("/review/", True)
    run.refresh_from_db()
    assert run.state == State.CLAIMED


@pytest.mark.parametrize("typed", ["", "settle", "SETTLE-EOD"])
def test_to_run_it_again_the_jobs_name_is_typed(browser: Browser, team: Team, typed: str) -> None:
    run = waits(team)
    page = browser.send(f"/runs/{run.id}/decide/", again(run, job_name=typed))
    assert page.status == 422
    assert run.job.name in page.error("job_name")
    (said,) = page.all("div", class_="errors banner")  # at the head, where the eye is
    assert "type the job’s name: " in said.text
    assert page.value("note") == "Not there."
    assert "Waiting" in page.words, "it is the page of the queue still"
    assert not Decision.objects.exists()


def test_what_is_safe_to_repeat_asks_for_no_name(browser: Browser, team: Team) -> None:
    run = waits(team, job=make.job(team, name="safe"), review_class=ReviewClass.MISSED)
    assert not browser.get(f"/review/{run.id}/").all("input", name="job_name")
    fields = again(run, job_name="")
    assert "recorded with your name" in browser.send(f"/runs/{run.id}/decide/", fields).words


def test_a_new_key_says_what_it_risks_and_is_recorded(browser: Browser, team: Team) -> None:
    run = waits(team)
    page = browser.get(f"/review/{run.id}/")
    assert "it takes place twice" in page.words
    assert "checked" not in page.all("input", name="new_key")[0].attrs
    wrong = browser.send(f"/runs/{run.id}/decide/", again(run, decision="close", new_key="on"))
    assert "for running it again" in wrong.error("new_key")
    browser.send(f"/runs/{run.id}/decide/", again(run, new_key="on"))
    assert f"under the new key {run.key}:again:1" in browser.get(f"/runs/{run.id}/").words


def test_the_probe_is_asked_on_request(browser: Browser, team: Team) -> None:
    without = waits(team)
    assert not browser.get(f"/review/{without.id}/").all("form", action="probe")
    assert "names no probe" in browser.send(f"/review/{without.id}/probe/", {}).words
    job = job_with(team)
    job.probe = {"task": "gone"}
    job.save()
    run = waits(team, job=job)
    attempt(run, started=timedelta())
    page = browser.send(f"/review/{run.id}/probe/", {"from": "review"})
    assert "It cannot tell. “No task named gone may be called by jobs here.”" in page.words
    assert "Locked until" in page.words
    refused = browser.send(f"/runs/{run.id}/decide/", again(run))
    assert "could still be under way" in refused.words
    assert "Nothing was decided" in refused.words


def test_it_is_passed_on(browser: Browser, team: Team) -> None:
    run = waits(team)
    fields = again(run, decision="escalate", job_name="")
    page = browser.send(f"/runs/{run.id}/decide/", fields)
    assert page.url == f"/review/{run.id}/"
    assert "operator passed it on" in page.words


# ── a second person ──────────────────────────────────────────────────────────────────────


def test_what_is_critical_waits_for_a_second_person(
    browser: Browser, team: Team, colleague: User
) -> None:
    run = waits(team, job=job_with(team, critical=True))
    page = browser.send(f"/runs/{run.id}/decide/", again(run))
    assert "It waits for a second person. Nothing was sent." in page.words
    assert "You have asked to run it again" in page.words
    where = f"/approvals/{Approval.objects.get().id}/"
    own = browser.send(where, {"answer": "approve", "from": "review"})
    assert "a second person approves it" in own.words
    other = Browser(colleague)
    assert "operator has asked to run it again" in other.get(f"/runs/{run.id}/").words
    assert "Write a note" in other.send(where, {"answer": "refuse"}).words
    assert "waits for a second person" in other.get("/review/").words
    done = other.send(where, {"answer": "approve", "from": "review"})
    assert "recorded with both your names" in done.words
    assert "approved by colleague" in browser.get(f"/runs/{run.id}/").words
    assert "approved by now" in other.send(where, {"answer": "approve"}).words


def test_a_request_is_taken_back(browser: Browser, team: Team, operator: User) -> None:
    run = waits(team, job=job_with(team, critical=True))
    asked = approvals.ask(run.id, token=1, new_key=False, note="n", by=operator)
    page = browser.send(f"/approvals/{asked.id}/", {"answer": "withdraw", "from": "review"})
    assert "Taken back" in page.words
    assert "asked to run it again" not in page.words


# ── many at once ─────────────────────────────────────────────────────────────────────────


def test_many_are_decided_and_each_ones_result_is_told(
    browser: Browser, team: Team, colleague: User
) -> None:
    first, second, third = (unsent(team) for _ in range(3))
    unknown = waits(team)
    assert "Decide 3 of which nothing was sent" in browser.get("/review/").words
    page = browser.get("/review/many/")
    assert set(shown(page)) == {str(run.id) for run in (first, second, third)}
    assert all("checked" in box.attrs for box in page.all("input", name="runs"))
    claims.take(second.id, by=colleague)
    fields = {"decision": "close", "note": "The network was away.", "runs": str(first.id)}
    assert "1 of 1 decided" in browser.send("/review/many/", fields).words
    taken = browser.send("/review/many/", {**fields, "runs": str(second.id)})
    assert "0 of 1 decided" in taken.words
    assert "no: colleague looks at this run" in taken.words
    refused = browser.send("/review/many/", {**fields, "runs": str(unknown.id)})
    assert refused.status == 422
    assert "is not among them" in refused.error("runs")
    states = Run.objects.values_list("state", flat=True)
    assert sorted(states) == ["CLOSED", "REVIEW", "REVIEW", "REVIEW"]


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"note": "n", "decision": "close"}, "runs", "Tick the runs"),
        ({"note": "n", "decision": "happened"}, "decision", "happened is no decision"),
        ({"decision": "close"}, "note", "Write a note"),
    ],
)
def test_half_a_decision_about_many_is_none(
    browser: Browser, team: Team, fields: dict[str, str], field: str, said: str
) -> None:
    unsent(team)
    page = browser.send("/review/many/", fields)
    assert (page.status, said in page.error(field)) == (422, True)
    assert not Decision.objects.exists()


def test_more_than_fifty_are_typed(
    browser: Browser, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.review.forms.TYPED_ABOVE", 0)
    fields = {"decision": "close", "note": "n", "runs": str(unsent(team).id)}
    page = browser.send("/review/many/", fields)
    assert "1 are ticked. Type this number" in page.words
    assert "1 of 1 decided" in browser.send("/review/many/", {**fields, "number": "1"}).words


def test_viewers_decide_nothing_together(team: Team) -> None:
    unsent(team)
    reader = Browser(make.viewer(team))
    assert "There is nothing to decide at once" in reader.get("/review/many/").words
