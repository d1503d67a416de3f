"""Pause and resume many jobs at once: by ticks, or by what the filter finds as of then."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

import pytest

from jobs import bulk, clock, editing
from jobs.bulk import Do
from jobs.editing import Pause
from jobs.models import Job, Team, User
from tests import make
from tests.api import Api
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db
WHY = Pause("The ledger moves.")


@pytest.fixture
def jobs(team: Team) -> list[Job]:
    return [make.job(team, name=f"job {number}") for number in range(4)]


def paused(jobs: list[Job]) -> list[bool]:
    return [Job.objects.get(id=job.id).paused for job in jobs]


def sent(browser: Browser, address: str, page: Page, **more: str) -> Page:
    """The form of the page, sent with what was typed."""
    hidden = {
        one.attrs["name"]: one.attrs.get("value", "") for one in page.all("input", type="hidden")
    }
    kept = {name: hidden.get(name, "") for name in ("jobs", "expected", "as_of")}
    return browser.send(address, {**kept, **more})


# ── the rule ─────────────────────────────────────────────────────────────────────────────


def test_each_has_its_result(team: Team, operator: User, jobs: list[Job]) -> None:
    editing.pause(jobs[0].id, Pause("Another reason."), by=None)
    editing.delete(jobs[1].id, by=None)
    theirs = make.job(make.team("elsewhere"), name="theirs")
    results = bulk.pause([job.id for job in (*jobs, theirs, jobs[3])], WHY, by=operator)
    assert [one.done for one in results] == [False, False, True, True, False]
    assert "paused already" in results[0].said
    assert "not yours" in results[4].said
    assert Job.objects.get(id=jobs[0].id).paused_reason == "Another reason."
    assert not Job.objects.get(id=theirs.id).paused


def test_a_viewer_pauses_nothing(team: Team, jobs: list[Job]) -> None:
    results = bulk.pause([job.id for job in jobs], WHY, by=make.viewer(team))
    assert not any(one.done for one in results)
    assert not any(paused(jobs))


def test_an_undo_leaves_alone_what_was_changed_since(operator: User, jobs: list[Job]) -> None:
    results = bulk.pause([job.id for job in jobs[:2]], WHY, by=operator)
    seen = {one.job_id: one.version for one in results if one.version}
    editing.pause(jobs[0].id, Pause("For another reason now."), by=operator)
    undone = bulk.resume(list(seen), by=operator, seen=seen)
    assert [one.done for one in undone] == [False, True]
    assert paused(jobs[:2]) == [True, False]


def test_what_was_edited_or_registered_since_is_not_meant(team: Team, jobs: list[Job]) -> None:
    as_of = clock.now()
    assert len(bulk.found(Job.objects.all(), Do.PAUSE, as_of, 4)) == 4
    make.job(team, name="new")
    assert len(bulk.found(Job.objects.all(), Do.PAUSE, as_of, 4)) == 4
    editing.pause(jobs[0].id, WHY, by=None)
    with pytest.raises(bulk.Differs, match="finds 3 jobs by now"):
        bulk.found(Job.objects.all(), Do.PAUSE, as_of, 4)


# ── the page ─────────────────────────────────────────────────────────────────────────────


def test_ticked_jobs_are_paused_and_the_pause_is_undone(browser: Browser, jobs: list[Job]) -> None:
    ticks = urlencode([("ticked", "pause"), *(("job", str(job.id)) for job in jobs[:2])])
    address = f"/jobs/many/?{ticks}"
    page = browser.get(address)
    assert "Pause 2 jobs" in [one.text for one in page.all("button")]
    refused = sent(browser, address, page)
    assert refused.status == 422
    assert "needs a reason" in refused.error("reason")
    assert not any(paused(jobs))
    done = sent(browser, address, page, reason="The ledger moves.")
    assert "2 of 2 paused" in done.words
    assert paused(jobs) == [True, True, False, False]
    undo = next(one.attrs["value"] for one in done.all("input", name="undo"))
    assert "2 of 2 resumed" in browser.send("/jobs/many/", {"undo": undo}).words
    assert not any(paused(jobs))


def test_what_the_filter_finds_is_paused_unless_it_finds_another_number(
    browser: Browser, team: Team, jobs: list[Job]
) -> None:
    address = "/jobs/many/?do=pause&q=job"
    page = browser.get(address)
    assert "Pause 4 jobs" in page.words
    editing.pause(jobs[0].id, WHY, by=None)
    told = sent(browser, address, page, reason="why")
    assert "finds 3 jobs by now" in told.words
    assert paused(jobs) == [True, False, False, False]
    done = sent(browser, address, told, reason="why")
    assert "3 of 3 paused" in done.words
    resumed = browser.get("/jobs/many/?do=resume&q=job")
    assert "4 of 4 resumed" in sent(browser, "/jobs/many/?do=resume&q=job", resumed).words


def test_above_fifty_the_number_is_typed(
    browser: Browser, team: Team, monkeypatch: pytest.MonkeyPatch, jobs: list[Job]
) -> None:
    monkeypatch.setattr("runs.dashboard.many.forms.TYPED_ABOVE", 3)
    address = "/jobs/many/?do=pause"
    page = browser.get(address)
    wrong = sent(browser, address, page, reason="why", typed="3")
    assert "Type the number, 4" in wrong.error("typed")
    assert not any(paused(jobs))
    assert "4 of 4 paused" in sent(browser, address, page, reason="why", typed="4").words


@pytest.mark.parametrize("query", ["ticked=pause", "ticked=pause&job=x", "do=pause&state=NOPE"])
def test_what_means_nothing_does_nothing(browser: Browser, jobs: list[Job], query: str) -> None:
    assert browser.get(f"/jobs/many/?{query}").status == 200
    answer = browser.send(f"/jobs/many/?{query}", {"jobs": "x", "reason": "why"})
    assert answer.status == 200
    assert not any(paused(jobs))


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_what_a_tag_is_stands_beside_its_field(team: Team, jobs: list[Job]) -> None:
    page = Browser(make.editor(team)).get("/jobs/many/?do=tag")
    assert "Several are parted by commas or blanks. A tag has 1 to 40 letters" in page.words


def test_the_api_pauses_what_a_dry_run_has_shown(api: Api, team: Team, jobs: list[Job]) -> None:
    ask = {"do": "pause", "filter": {"q": "job"}, "reason": "The ledger moves."}
    seen = api.post("jobs/bulk/", {**ask, "dry_run": True}).body
    assert seen["expected"] == 4
    editing.pause(jobs[0].id, WHY, by=None)
    differs = api.post("jobs/bulk/", {**ask, **seen})
    assert (differs.status, differs.body["found"]) == (409, 3)
    done = api.post("jobs/bulk/", {**ask, **seen, "expected": 3})
    assert [one["done"] for one in done.body["results"]] == [True] * 3
    ids = [str(job.id) for job in jobs]
    back = api.post("jobs/bulk/", {"do": "resume", "jobs": ids})
    assert [one["done"] for one in back.body["results"]] == [True] * 4


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"do": "delete"}, "do"),
        ({"reason": " "}, "reason"),
        ({"jobs": ["x"]}, "jobs"),
        ({"jobs": ["00000000-0000-0000-0000-000000000000"]}, "jobs"),
        ({"jobs": "all"}, "jobs"),
        ({"filter": {"stat": "paused"}}, "filter.stat"),
        ({"filter": {"state": ["NOPE"]}}, "filter.state"),
        ({"filter": ["q"]}, "filter"),
        ({"expected": None}, "jobs"),
        ({"until": "2001-01-01T00:00:00Z"}, "until"),
    ],
)
def test_the_api_names_what_is_wrong(
    api: Api, jobs: list[Job], changes: dict[str, object], field: str
) -> None:
    as_of = (clock.now() + timedelta(0)).isoformat()
    ask = {"do": "pause", "reason": "why", "as_of": as_of, "expected": 4, **changes}
    answer = api.post("jobs/bulk/", ask)
    assert (answer.status, answer.fields) == (400, [field]), answer.body
    assert not any(paused(jobs))
