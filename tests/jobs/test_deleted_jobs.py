"""A deleted job: those who could see it are told what became of it, others that none is there."""

from __future__ import annotations

import pytest

from jobs import editing
from jobs.models import Job, Team, User
from jobs.schedules.instants import canonical_instant
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db
SECRET = {"type": "http", "url": "https://a.example/", "headers": {"Authorization": "hush"}}


@pytest.fixture
def job(team: Team, editor: User) -> Job:
    """One that its editor deleted."""
    job = make.job(team, name="settle", timeout=77, tags=["prod"], target=SECRET)
    editing.delete(job.id, by=editor)
    job.refresh_from_db()
    return job


def filled(browser: Browser, like: Job) -> dict[str, str]:
    """The fields of the form as it opens."""
    context = browser.client.get(f"/jobs/new/?like={like.id}").context
    return {name: str(value) for name, value in context["form"].initial.items() if value}


@pytest.mark.parametrize("page", ["", "edit/", "delete/", "run-now/", "backfill/", "test/"])
def test_each_of_its_pages_says_when_and_by_whom(job: Job, editor: User, page: str) -> None:
    shown = Browser(editor).get(f"/jobs/{job.id}/{page}")
    assert shown.status == 410
    assert f"by {editor.get_username()}" in shown.words
    assert shown.all("time")
    for address in (f"/runs/?job={job.id}", f"/audit/?job={job.id}", f"/jobs/new/?like={job.id}"):
        assert shown.all("a", href=address)


def test_a_viewer_is_told_and_offered_what_a_viewer_may(job: Job, team: Team) -> None:
    page = Browser(make.viewer(team)).get(f"/jobs/{job.id}/")
    assert page.status == 410
    assert not page.all("a", href=f"/jobs/new/?like={job.id}")


def test_to_others_nothing_is_there(job: Job, editor: User) -> None:
    other = make.team("other")
    stranger = make.editor(other, "stranger")
    assert Browser(stranger).get(f"/jobs/{job.id}/").status == 404
    assert Api.of(other, stranger).get(f"jobs/{job.id}/").status == 404
    assert Browser(stranger).get(f"/jobs/new/?like={job.id}").value("name") == ""
    assert Browser(editor).get("/jobs/01a22c7e-0000-7000-8000-000000000000/").status == 404


def test_the_api_says_it_is_gone(job: Job, team: Team, editor: User) -> None:
    answer = Api.of(team, editor).get(f"jobs/{job.id}/")
    assert (answer.status, answer.body["title"]) == (410, "Gone")
    assert answer.body["detail"] == "settle was deleted. Its runs stay."
    assert job.deleted_at
    assert answer.body["deleted_at"] == canonical_instant(job.deleted_at)
    assert answer.body["by"] == editor.get_username()


def test_it_is_registered_again_from_what_it_was(job: Job, editor: User) -> None:
    browser = Browser(editor)
    form = browser.get(f"/jobs/new/?like={job.id}")
    assert (form.value("name"), form.value("tags")) == ("settle", "prod")
    assert "hush" not in form.html
    fields = filled(browser, job)
    assert "not there" in browser.send(f"/jobs/new/?like={job.id}", fields).error("headers")
    browser.send("/jobs/new/", {**fields, "headers": "Authorization: new"})
    there = Job.objects.get(deleted_at=None)
    assert (there.name, there.timeout, there.tags) == ("settle", 77, ["prod"])


def test_a_job_that_is_there_is_cloned_under_another_name(team: Team, editor: User) -> None:
    job, browser = make.job(team, name="settle", timeout=77), Browser(editor)
    assert browser.get(f"/jobs/{job.id}/").all("a", href=f"/jobs/new/?like={job.id}")
    fields = filled(browser, job)
    assert "name" not in fields
    browser.send("/jobs/new/", {**fields, "name": "settle too"})
    assert Job.objects.get(name="settle too").timeout == 77


@pytest.mark.parametrize("like", ["", "1", "%00", "01a22c7e-0000-7000-8000-000000000000"])
def test_like_nothing_is_an_empty_form(editor: User, like: str) -> None:
    page = Browser(editor).get(f"/jobs/new/?like={like}")
    assert (page.status, page.value("name")) == (200, "")
