"""Stars: the jobs that a person wants at hand, theirs alone, and how each of them stands."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing, holds
from jobs.models import Due, Job, Team, User
from runs.dashboard.stances import job_stances
from runs.dashboard.stances.stances import LOOKS, Stance
from runs.dashboard.stars import stars
from runs.models import Run, Star
from runs.states import Origin, State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db


def names(browser: Browser, path: str) -> list[str]:
    return [a.text for a in browser.get(path).all("a", class_="name")]


def test_page_and_api_star_and_list_alike(
    browser: Browser, api: Api, team: Team, operator: User
) -> None:
    one, other = make.job(team, name="one"), make.job(team, name="other")
    assert browser.post(f"/jobs/{one.id}/star/", on="yes").url == f"/jobs/{one.id}/"
    assert api.put(f"jobs/{other.id}/star/", {}).body == {"starred": True}
    assert names(browser, "/jobs/?starred=yes") == ["one", "other"]
    browser.post(f"/jobs/{other.id}/star/", on="no", next="/jobs/?starred=yes")
    assert names(browser, "/jobs/?starred=yes") == ["one"]
    assert names(browser, "/jobs/?starred=no") == ["other"]
    assert [job["name"] for job in api.get("jobs/?starred=no").body["results"]] == ["other"]
    assert [job["name"] for job in api.get("jobs/?starred=yes").body["results"]] == ["one"]
    assert api.get(f"jobs/{other.id}/star/").body == {"starred": False}
    assert api.call("DELETE", f"jobs/{one.id}/star/").status == 204
    assert names(browser, "/jobs/?starred=yes") == []
    assert api.get("jobs/?starred=maybe").fields == ["starred"]
    assert not Star.objects.filter(user=operator).exists()


def test_the_button_says_what_is_and_leads_back_where_it_was(browser: Browser, team: Team) -> None:
    job = make.job(team, name="one")
    for path in ("/jobs/?q=one", f"/jobs/{job.id}/"):
        for pressed, on in (("false", "yes"), ("true", "no")):
            page = browser.get(path)
            (button,) = page.all("button", id=f"star-{job.id}")
            assert (button.attrs["aria-pressed"], button.attrs["value"]) == (pressed, on)
            assert button.text == "Star one"
            back = page.all("input", name="next")[0].attrs["value"]
            assert back == path
            found = browser.post(button.attrs["formaction"], on=on, next=back)
            assert found.status == 200
    elsewhere = browser.post(f"/jobs/{job.id}/star/", next="https://elsewhere.example/")
    assert elsewhere.url == f"/jobs/{job.id}/"


def test_htmx_gets_the_button_as_it_is_now(team: Team, operator: User) -> None:
    job, client = make.job(team), Client(headers={"HX-Request": "true"})
    client.force_login(operator)
    for on, pressed in (("yes", "true"), ("yes", "true"), ("no", "false")):
        html = client.post(f"/jobs/{job.id}/star/", {"on": on}).content.decode()
        assert html.startswith("<button")
        assert f'aria-pressed="{pressed}"' in html


def test_a_star_is_its_persons_alone_and_shows_nothing_that_they_may_not_read(team: Team) -> None:
    mine, theirs = make.operator(team, "mine"), make.operator(team, "theirs")
    job = make.job(team, name="one")
    stars.put(job, by=mine)
    assert names(Browser(theirs), "/jobs/?starred=yes") == []
    assert "Your starred jobs" not in Browser(theirs).get("/").words
    assert "Your starred jobs" in Browser(mine).get("/").words
    mine.membership_set.all().delete()
    browser = Browser(mine)
    assert names(browser, "/jobs/?starred=yes") == []
    assert "Your starred jobs" not in browser.get("/").words
    assert browser.get("/overview/starred/").status == 200
    assert "one" not in browser.get("/overview/starred/").words


def test_a_job_is_starred_once_by_a_person(team: Team, operator: User) -> None:
    job = make.job(team)
    assert [stars.put(job, by=operator), stars.put(job, by=operator)] == [True, False]
    with pytest.raises(IntegrityError, match="one_star_of_a_person"), transaction.atomic():
        Star.objects.create(user=operator, job=job)
    assert [stars.take(job, by=operator), stars.take(job, by=operator)] == [True, False]


def test_the_overview_shows_ten_of_them_by_name(
    browser: Browser, team: Team, operator: User
) -> None:
    jobs = [make.job(team, name=f"job {chr(ord('l') - n)}") for n in range(11)]
    for job in jobs:
        stars.put(job, by=operator)
    editing.delete(jobs[-1].id, by=operator)
    make.run(jobs[0], State.DEAD)
    page = browser.get("/overview/starred/")
    assert [a.text for a in page.all("a", class_="name")] == [f"job {one}" for one in "cdefghijkl"]
    assert "Failing" in page.words
    stars.put(make.job(team, name="job a"), by=operator)
    page = browser.get("/")
    assert len(page.all("li", id=f"starred-{jobs[0].id}")) == 0, "the eleventh by name"
    assert "All of them" in page.words


def test_a_poll_of_it_costs_the_same_however_many_are_starred(team: Team, operator: User) -> None:
    client, asked = Client(), []
    client.force_login(operator)
    for count in (1, 8):
        for number in range(count):
            stars.put(make.job(team, name=f"job {number} of {count}"), by=operator)
        client.get("/overview/starred/")
        with CaptureQueriesContext(connection) as queries:
            assert (
                f"job {count - 1} of {count}" in client.get("/overview/starred/").content.decode()
            )
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_how_a_job_stands_is_told_by_the_worst(team: Team) -> None:
    late = make.job(team, name="late")
    Due.objects.filter(job=late).update(at=clock.now() - timedelta(minutes=1))
    wanted = {
        Stance.REVIEW: _with(make.job(team, name="review"), State.REVIEW, State.SUCCEEDED),
        Stance.FAILING: _with(make.job(team, name="failing"), State.SUCCEEDED, State.DEAD),
        Stance.LATE: late,
        Stance.DEAD: _with(make.job(team, name="dead"), State.DEAD, State.SUCCEEDED),
        Stance.RETRYING: _with(make.job(team, name="again"), State.RETRYING),
        Stance.PAUSED: make.job(team, name="paused", paused=True),
        Stance.NEW: make.job(team, name="new"),
        Stance.ENDED: make.job(team, name="ended"),
        Stance.FINE: _with(make.job(team, name="fine"), State.SUCCEEDED),
        Stance.HELD: make.job(make.team("other"), name="held"),
    }
    Due.objects.filter(job=wanted[Stance.ENDED]).delete()
    holds.begin(make.team("other"), "A move.", by=None)
    found = job_stances.of(job.id for job in wanted.values())
    assert {job_id: one.stance for job_id, one in found.items()} == {
        job.id: stance for stance, job in wanted.items()
    }
    assert set(LOOKS) == set(Stance) == set(wanted)
    review = Run.objects.get(job=wanted[Stance.REVIEW], state=State.REVIEW)
    assert found[wanted[Stance.REVIEW].id].since == review.review_at
    assert found[wanted[Stance.FINE].id].since is None


def test_a_job_that_is_fine_here_is_one_of_the_fine_of_the_overview(
    browser: Browser, team: Team
) -> None:
    """One rule: the Overview's number and the words of single jobs."""
    jobs = [_with(make.job(team, name=f"job {state}"), state) for state in State]
    stands = job_stances.of(job.id for job in jobs)
    fine = sum(one.stance is Stance.FINE for one in stands.values())
    assert f"{fine} of {len(jobs)} jobs" in browser.get("/").words


def _with(job: Job, *states: State) -> Job:
    for state in states:
        due = {"due_at": clock.now() - timedelta(seconds=1), "origin": Origin.SCHEDULE}
        make.run(job, state, **(due if state is State.RETRYING else {}))
    return job
