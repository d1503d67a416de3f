"""The API by example: what its page shows can be carried out as it stands."""

from __future__ import annotations

import json
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest

from jobs.models import Job, Team, User
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser, Page

pytestmark = pytest.mark.django_db

PAGE = "/settings/api/"


def commands(page: Page) -> list[str]:
    return [pre.text for pre in page.all("pre") if pre.text.startswith("curl ")]


def carried_out(api: Api, command: str) -> Any:
    """What the API answers to a command of curl, read as a shell reads it."""
    words = shlex.split(command)
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
    place = urlsplit(words[-1])
    path = place.path.removeprefix("/api/v1/") + (f"?{place.query}" if place.query else "")
    return api.call(method, path, body)


def test_each_command_does_what_it_says(team: Team) -> None:
    editor = make.editor(team)
    job = make.job(team, name="a-job")
    make.run(job, State.SUCCEEDED)
    api, page = Api.of(team, editor), Browser(editor).get(PAGE)
    assert f"The ids are those of {job.name} and its newest run." in page.words
    found = commands(page)
    assert len(found) >= 14
    for command in found:
        assert '"Authorization: Token $ONEBEAT_TOKEN"' in command
        assert carried_out(api, command).status < 300, command
    assert Job.objects.filter(name="nightly-report").exists()


def test_without_a_job_it_says_what_to_fill_in(browser: Browser) -> None:
    page = browser.get(PAGE)
    assert "You see no job yet" in page.words
    assert any("JOB_ID" in command for command in commands(page))


def test_a_job_is_registered_elsewhere_by_the_command_on_its_page(team: Team) -> None:
    editor = make.editor(team)
    job = make.job(team, name="it's “mine”", tags=["prod"], runbook="Ask $HOME `whoami`.")
    page = Browser(editor).get(f"/jobs/{job.id}/?tab=settings")
    (command,) = [one for one in commands(page) if one.endswith("/jobs/")]
    other = make.team("other")
    answer = carried_out(Api.of(other, make.editor(other, "theirs")), command)
    assert answer.status == 201, answer.body
    made = Job.objects.get(id=answer.body["id"])
    assert (made.name, made.tags, made.runbook) == (job.name, job.tags, job.runbook)
    assert (made.schedule, made.target) == (job.schedule, job.target)


def test_the_command_shows_no_secret_and_the_mask_is_refused(team: Team, editor: User) -> None:
    target = {**make.shape()["target"], "headers": {"Authorization": "Bearer very-secret"}}
    job = make.job(team, target=target)
    page = Browser(editor).get(f"/jobs/{job.id}/?tab=settings")
    assert "very-secret" not in page.html
    (command,) = [one for one in commands(page) if one.endswith("/jobs/")]
    other = make.team("other")
    answer = carried_out(Api.of(other, make.editor(other, "theirs")), command)
    assert answer.status == 400
    assert answer.fields == ["target.headers.Authorization"]
