"""The pages of dead letters: what they show, ask, do and refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs import clock
from jobs.models import Job, Team, User
from runs.letters import batch as replay_batch
from runs.letters import forms as letters_form
from runs.letters import replaying
from runs.models import Decision, Replay, Run
from runs.states import State
from tests import make
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", runbook="Ask the ledger.")


@pytest.fixture
def runs(job: Job) -> list[Run]:
    return [died(job, f"Order {n} failed") for n in range(3)]


@pytest.fixture
def where(runs: list[Run]) -> str:
    return f"/dead-letters/{runs[0].error_group}/"


def died(job: Job, reason: str, ago: float = 60) -> Run:
    at = clock.now() - timedelta(seconds=ago)
    return make.run(job, State.DEAD, reason=reason, died_at=at)


def sent(browser: Browser, page: Page, to: str, **typed: str) -> Page:
    """The page's form as it stands, with what was typed into it."""
    hidden = {name: page.value(name) for name in ("expected", "as_of", "runs")}
    return browser.post(to, **{**hidden, **typed})


def test_letters_that_died_alike_stand_together(browser: Browser, job: Job, where: str) -> None:
    died(job, "[Errno 111] refused", ago=1)
    page = browser.get("/dead-letters/")
    assert page.words.index("[Errno 111] refused") < page.words.index("Order # failed")
    assert page.all("a", href=where)
    assert "nothing says so" in page.words
    make.run(job, State.SUCCEEDED)
    assert "a run succeeded" in browser.get("/dead-letters/").words


def test_an_empty_list_says_whether_it_is_the_filters_doing(browser: Browser, job: Job) -> None:
    assert "There are no dead letters" in browser.get("/dead-letters/").words
    died(job, "one")
    assert "No dead letter matches" in browser.get("/dead-letters/?q=other").words
    assert "settle" in browser.get("/dead-letters/?q=SETT&team=payments").words
    assert "nobodys is none of your teams" in browser.get("/dead-letters/?team=nobodys").words


def test_the_list_is_paged(browser: Browser, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.letters.views.SIZE", 2)
    for n, word in enumerate(("alpha", "beta", "gamma")):
        died(job, word, ago=60 - n)
    first = browser.get("/dead-letters/")
    assert "alpha" not in first.words
    older = browser.get("/dead-letters/" + first.all("a", rel="next")[0].attrs["href"])
    assert "alpha" in older.words and "gamma" not in older.words
    assert "gamma" in browser.get("/dead-letters/?after=made-up").words


def test_a_group_shows_its_runs_and_what_may_be_done(
    browser: Browser, runs: list[Run], where: str
) -> None:
    page = browser.get(where)
    assert page.all("title")[0].text.strip().startswith("3 dead letters of settle")
    assert "Ask the ledger." in page.words
    assert [box.attrs["value"] for box in page.all("input", name="run")] == [
        str(run.id) for run in runs
    ]
    assert "Replay 3…" in page.words and "Discard 3…" in page.words


def test_a_viewer_sees_a_group_and_changes_nothing(team: Team, where: str) -> None:
    page = Browser(make.viewer(team)).get(where)
    assert page.status == 200
    assert "Replay 3…" not in page.words
    assert not page.all("input", name="run")


def test_a_replay_is_looked_at_and_begun(
    browser: Browser, operator: User, runs: list[Run], where: str
) -> None:
    look = browser.get(f"{where}replay/")
    assert "Replay 3 dead letters of settle" in look.words
    assert not Replay.objects.exists(), "looking begins nothing"
    page = sent(browser, look, f"{where}replay/", per_minute="6000", note="Mended.")
    of = Replay.objects.get()
    assert page.url == f"/replays/{of.id}/"
    assert (of.by, of.note, of.per_minute, of.count, of.trying) == (
        operator,
        "Mended.",
        6000,
        3,
        False,
    )
    assert "The replay has begun." in page.words


def test_one_is_tried_first_unless_it_is_said_otherwise(browser: Browser, where: str) -> None:
    look = browser.get(f"{where}replay/")
    assert "checked" in look.all("input", name="try_first")[0].attrs
    sent(browser, look, f"{where}replay/", per_minute="60", try_first="on")
    assert Replay.objects.get().trying


def test_of_one_alone_none_is_tried_first(browser: Browser, runs: list[Run], where: str) -> None:
    page = browser.get(f"{where}replay/?ticked=1&run={runs[0].id}")
    assert "Replay 1 dead letter of settle" in page.words
    assert "Try one first" not in page.words
    assert "Try one first" in browser.get(f"{where}replay/").words
    sent(browser, page, f"{where}replay/", per_minute="60")
    assert not Replay.objects.get().trying


def test_what_came_or_went_meanwhile_is_told_and_nothing_begun(
    browser: Browser, job: Job, runs: list[Run], where: str, operator: User
) -> None:
    look = browser.get(f"{where}replay/")
    Run.objects.filter(id=runs[0].id).update(state=State.CLOSED, finished_at=clock.now())
    page = sent(browser, look, f"{where}replay/", per_minute="60")
    assert page.url == where
    assert "3 dead letters were seen, 2 are there by now" in page.words
    assert not Replay.objects.exists()


def test_the_ticked_runs_alone_are_meant(browser: Browser, runs: list[Run], where: str) -> None:
    ticked = f"?ticked=1&run={runs[0].id}&run={runs[2].id}"
    look = browser.get(f"{where}replay/{ticked}")
    assert "Replay 2 dead letters" in look.words
    sent(browser, look, f"{where}replay/", per_minute="60")
    assert {item.run_id for item in Replay.objects.get().items.all()} == {runs[0].id, runs[2].id}
    nothing = browser.get(f"{where}discard/?ticked=1")
    assert (nothing.url, "Tick the runs" in nothing.words) == (where, True)


@pytest.mark.parametrize("wrong", ["0", "6001", "x", ""])
def test_a_wrong_pace_is_said_at_its_field(browser: Browser, where: str, wrong: str) -> None:
    page = sent(browser, browser.get(f"{where}replay/"), f"{where}replay/", per_minute=wrong)
    assert page.status == 422
    assert page.error("per_minute") == "Write a whole number from 1 to 6000."
    assert page.value("expected") == "3"


@pytest.mark.parametrize(
    "seen", [{"expected": ""}, {"as_of": "x"}, {"as_of": ""}, {"runs": "x"}, {"expected": "x"}]
)
@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_a_form_that_says_not_which_does_nothing(
    browser: Browser, where: str, seen: dict[str, str], verb: str
) -> None:
    look = browser.get(f"{where}{verb}/")
    page = sent(browser, look, f"{where}{verb}/", per_minute="60", note="n", **seen)
    assert "It is not clear which runs are meant" in page.words
    assert set(Run.objects.values_list("state", flat=True)) == {"DEAD"}
    assert not Replay.objects.exists()


def test_a_discard_needs_a_reason(browser: Browser, where: str) -> None:
    look = browser.get(f"{where}discard/")
    page = sent(browser, look, f"{where}discard/", note="  ")
    assert (page.status, page.error("note")) == (
        422,
        "Write why these are not carried out. Nothing was done.",
    )
    page = sent(browser, look, f"{where}discard/", note="Of no use.")
    assert "3 discarded, and recorded with your name." in page.words
    assert "None of this group is dead any more." in page.words
    (link,) = [a for a in page.all("a") if a.text == "Look at them"]
    closed = browser.get(link.attrs["href"])
    assert len([tr for tr in closed.all("tr") if tr.attrs.get("id", "").startswith("run-")]) == 3
    assert Decision.objects.filter(decision="discard", note="Of no use.").count() == 3


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_who_acts_on_many_types_their_number(
    browser: Browser, where: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letters_form, "TYPED_ABOVE", 2)
    to, filled = f"{where}{verb}/", {"note": "n", "per_minute": "60"}
    look = browser.get(to)
    assert "type 3 to go on" in look.words
    page = sent(browser, look, to, **filled, typed="4")
    assert (page.status, page.error("typed")) == (422, "Type the number, 3. Nothing was done.")
    assert sent(browser, look, to, **filled, typed=" 3 ").status == 200
    assert Replay.objects.exists() or Decision.objects.exists()


def test_a_replay_shows_what_became_of_each(
    browser: Browser, job: Job, runs: list[Run], where: str
) -> None:
    page = begun(browser, where)
    of = Replay.objects.get()
    browser.post(f"/runs/{runs[1].id}/discard/", note="Of no use.")
    replaying.advance_all()
    Replay.objects.update(next_at=F("next_at") - timedelta(minutes=1))
    replaying.advance_all()
    page = browser.get(page.url)
    assert "passed over" in page.words
    assert "It is CLOSED by now: operator decided “discard”." in page.words
    assert page.all("div", id="progress")[0].attrs["hx-get"] == f"/replays/{of.id}/progress/"
    Run.objects.filter(state=State.CLAIMED).update(
        state=State.SUCCEEDED, finished_at=clock.now(), send_at=None
    )
    page = browser.get(page.url)
    assert "Done" in page.words
    assert "hx-get" not in page.all("div", id="progress")[0].attrs
    assert "<html" not in browser.get(f"/replays/{of.id}/progress/").html


def test_a_replay_is_paused_resumed_and_cancelled(browser: Browser, where: str) -> None:
    page = begun(browser, where)
    assert "Nothing more goes" in browser.post(f"{page.url}pause/").words
    assert "Paused by operator." in browser.get(page.url).words
    region = browser.get(f"{page.url}progress/")
    assert region.all("form", action=f"{page.url}resume/"), "its buttons are as live as its state"
    assert not region.all("form", action=f"{page.url}pause/")
    assert "It goes on." in browser.post(f"{page.url}resume/").words
    assert "Cancelled." in browser.post(f"{page.url}cancel/").words
    assert "This replay is cancelled already." in browser.post(f"{page.url}pause/").words
    assert not browser.get(page.url).all("form", action=f"{page.url}pause/")


def test_a_second_replay_of_a_group_leads_to_the_first(browser: Browser, where: str) -> None:
    look = browser.get(f"{where}replay/")
    first = begun(browser, where)
    page = sent(browser, look, f"{where}replay/", per_minute="60")
    assert page.url == first.url
    assert "Nothing was begun." in page.words
    assert "Another may begin once it is over" in browser.get(f"{where}replay/").words
    assert "Replay 3…" not in browser.get(where).words


def test_a_list_says_which_group_is_being_replayed(browser: Browser, where: str) -> None:
    page = begun(browser, where)
    listed = browser.get("/dead-letters/")
    assert "A replay is open, 3 to go" in listed.words
    assert listed.all("a", href=page.url)


def test_a_group_leads_to_all_that_died_like_it(
    browser: Browser, job: Job, runs: list[Run], where: str
) -> None:
    Run.objects.filter(id=runs[0].id).update(state=State.CLOSED, finished_at=clock.now())
    other = died(job, "Another thing")
    (link,) = [one.attrs["href"] for one in browser.get(where).all("a") if "?group=" in str(one)]
    page = browser.get(link)
    assert all(page.all("tr", id=f"run-{run.id}") for run in runs)
    assert not page.all("tr", id=f"run-{other.id}")
    assert page.all("a", href=where)


def test_the_items_are_paged(browser: Browser, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.letters.views.SIZE", 2)
    page = begun(browser, where)
    further = browser.get(page.all("a", rel="next")[0].attrs["href"])
    assert further.all("tr", id="item-3") and not further.all("tr", id="item-2")
    assert "after=2" in further.all("div", id="progress")[0].attrs["hx-get"]


def test_a_group_is_paged(
    browser: Browser, runs: list[Run], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.letters.views.SIZE", 2)
    page = browser.get(where)
    assert not page.all("tr", id=f"run-{runs[2].id}")
    newer = browser.get(where + page.all("a", rel="next")[0].attrs["href"])
    assert newer.all("tr", id=f"run-{runs[2].id}")
    assert browser.get(f"{where}?after=x").all("tr", id=f"run-{runs[0].id}")


def test_a_dead_run_leads_to_those_that_died_alike(
    browser: Browser, runs: list[Run], where: str
) -> None:
    assert browser.get(f"/runs/{runs[0].id}/").all("a", href=where)


def test_a_deleted_job_is_not_replayed(
    browser: Browser, job: Job, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = browser.get(f"{where}replay/")
    Job.objects.filter(id=job.id).update(deleted_at=clock.now())
    page = sent(browser, look, f"{where}replay/", per_minute="60")
    assert "Somebody deleted settle. Nothing was begun." in page.words


def test_a_page_of_a_group_takes_few_statements(
    browser: Browser, runs: list[Run], where: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(22):
        browser.get(where)
    with django_assert_max_num_queries(19):
        browser.get("/dead-letters/")


def begun(browser: Browser, where: str) -> Page:
    look = browser.get(f"{where}replay/")
    return sent(browser, look, f"{where}replay/", per_minute="60")


def test_a_cancel_says_how_many_stay_dead(browser: Browser, where: str, operator: User) -> None:
    page = begun(browser, where)
    assert "The 3 that have not gone stay dead letters." in page.words
    replay_batch.cancel(Replay.objects.get().id, by=operator)
    assert "which it does not replay" in browser.get(page.url).words


def test_a_second_person_approves_on_the_page(
    browser: Browser, team: Team, runs: list[Run], where: str
) -> None:
    team.two_pairs_of_eyes = True
    team.save()
    look = browser.get(f"{where}replay/")
    assert "A second person approves it." in look.words and "Ask to replay 3" in look.words
    page = sent(browser, look, f"{where}replay/", per_minute="60")
    assert "It waits for a second person." in page.words
    assert not page.all("form", action=f"{page.url}approve/"), "not one's own"
    assert "This is your own request" in browser.post(f"{page.url}approve/").words
    other = Browser(make.operator(team, "second"))
    assert "operator has asked to replay 3 of settle" in other.get("/dead-letters/").words
    assert other.get(page.url).all("form", action=f"{page.url}approve/")
    assert "Approved" in other.post(f"{page.url}approve/").words
    assert "approved by second" in browser.get(page.url).words
    assert Replay.objects.get().state == "open"
