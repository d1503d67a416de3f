"""A poll that would change nothing is 304, writes nothing, and keeps nobody signed in."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.test import Client, RequestFactory

from jobs import clock, holds
from jobs.models import Job, User
from runs.dashboard.live import polling
from runs.dashboard.overview.overview import REGIONS
from runs.dashboard.stars import stars
from runs.models import Beat, Run
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    return make.job(make.team())


@pytest.fixture
def reader(job: Job) -> User:
    return make.viewer(job.team)


def asked(reader: User | AnonymousUser, **headers: str) -> HttpRequest:
    request = RequestFactory().get("/", headers=headers)
    request.user = reader
    return request


def test_every_column_that_was_read_counts_and_those_of_related_rows(
    reader: User, job: Job
) -> None:
    run = make.run(job)

    def seen() -> str:
        rows = Run.objects.select_related("job__team").only(
            "state", "reason", "job__name", "job__team"
        )
        return polling.tag_of(asked(reader), {"rows": rows, "more": None})

    before = seen()
    assert seen() == before
    Run.objects.filter(id=run.id).update(reason="It is slow.")
    after = seen()
    assert after != before
    Job.objects.filter(id=job.id).update(name="another")
    assert seen() != after


def test_another_reader_and_another_zone_have_another_tag(reader: User, job: Job) -> None:
    request = asked(reader)
    request.COOKIES["browser_zone"] = "Asia/Tokyo"
    tags = {
        polling.tag_of(asked(reader), "same"),
        polling.tag_of(request, "same"),
        polling.tag_of(asked(make.operator(job.team)), "same"),
    }
    assert len(tags) == 3


def test_nobody_has_no_tag() -> None:
    with pytest.raises(PermissionDenied):
        polling.tag_of(asked(AnonymousUser()), [])


def ends(client: Client) -> Any:
    """When the session of this client will have ended."""
    return Session.objects.get(session_key=client.cookies["sessionid"].value).expire_date


def tag_of(answer: Any) -> str:
    """The tag of the region that stands in an answer."""
    found = re.search('data-tag="([0-9a-f]{32})"', answer.content.decode())
    assert found
    return found[1]


def is_read(statement: str) -> bool:
    return statement.split(None, 1)[0].lower() == "select"


@pytest.mark.parametrize(
    "path",
    [
        *("/review/live/", "/dead-letters/live/", "/holds/live/", "/dead-letters/{group}/live/"),
        "/jobs/{job}/runs/",
    ],
)
def test_a_poll_keeps_no_session_alive_and_writes_nothing(
    reader: User, job: Job, path: str, django_assert_max_num_queries: Any
) -> None:
    make.run(job, State.REVIEW)
    where = path.format(group=make.dead(job).error_group, job=job.id)
    client = Client()
    client.force_login(reader)
    before = ends(client)
    answer = client.get(where, headers={"HX-PTag": "of before"})
    tag = answer.headers["HX-PTag"]
    assert tag == tag_of(answer)
    with django_assert_max_num_queries(12) as asked_for:
        again = client.get(where, headers={"HX-PTag": tag, "HX-Request": "true"})
    assert (answer.status_code, again.status_code, again.content) == (200, 304, b"")
    counted, *rest = (q["sql"].split() for q in asked_for if not is_read(q["sql"]))
    assert not rest
    assert counted[:3] == ["insert", "into", "runs_pollcount"]  # the one write, and not logged
    assert ends(client) == before
    client.get("/review/")
    assert ends(client) > before


@pytest.mark.parametrize("path", ["/review/", "/dead-letters/", "/holds/"])
def test_a_page_carries_the_tag_of_its_region(reader: User, job: Job, path: str) -> None:
    make.run(job, State.REVIEW)
    make.dead(job)
    client = Client()
    client.force_login(reader)
    opened = client.get(path)
    tag = tag_of(opened)
    assert tag == tag_of(client.get(f"{path}live/"))
    assert "HX-PTag" not in opened.headers, "a person has opened it: it is no poll"
    make.run(job, State.REVIEW)
    make.run(job, State.DEAD, reason="Another one.")
    holds.begin(job.team, "A move.", by=None)
    assert client.get(f"{path}live/", headers={"HX-PTag": tag}).status_code == 200


@pytest.mark.parametrize(("state", "polls"), [(State.RUNNING, True), (State.SUCCEEDED, False)])
def test_the_page_of_a_run_polls_until_the_run_rests(
    reader: User, job: Job, state: State, polls: bool
) -> None:
    run = make.run(job, state)
    client = Client()
    client.force_login(reader)
    page = client.get(f"/runs/{run.id}/")
    where = f"/runs/{run.id}/live/"
    assert (where in page.content.decode()) is polls
    if polls:
        headers = {"HX-PTag": tag_of(page)}
        assert client.get(where, headers=headers).status_code == 304
        Run.objects.filter(id=run.id).update(reason="It says so.")
        again = client.get(where, headers=headers)
        html = again.content.decode()
        assert again.status_code == 200 and "It says so." in html and "<html" not in html


@pytest.mark.parametrize("name", REGIONS)
def test_each_region_of_the_overview_is_304_until_it_changes(
    reader: User, job: Job, name: str
) -> None:
    client = Client()
    client.force_login(reader)
    stars.put(job, by=reader)  # without any there is no such region
    where = f"/overview/{name}/"
    tag = tag_of(client.get(where))
    assert tag in client.get("/").content.decode()
    assert client.get(where, headers={"HX-PTag": tag}).status_code == 304
    make.run(job, State.REVIEW, due_at=clock.now(), origin="schedule")
    Beat.objects.create(
        name="b", host="h", pid=1, tzdata="2026.1", started_at=clock.now(), seen_at=clock.now()
    )
    make.job(job.team, name="another", schedule={"cron": "* * * * *"})
    assert client.get(where, headers={"HX-PTag": tag}).status_code == 200


def live_url(answer: Any, region: str) -> str:
    """Where a region of a page asks for itself."""
    found = re.search(f'id="{region}" hx-get="([^"]+)"', answer.content.decode())
    assert found
    return found[1].replace("&amp;", "&")


def test_new_runs_are_counted_and_put_in_under_nobodys_pointer(reader: User, job: Job) -> None:
    runs = [make.run(job, State.RUNNING) for _ in range(3)]
    client = Client()
    client.force_login(reader)
    page = client.get("/runs/?state=RUNNING")
    where = live_url(page, "run-rows")
    headers = {"HX-PTag": tag_of(page)}
    assert client.get(where, headers=headers).status_code == 304
    new = [make.run(job, State.RUNNING), make.run(job, State.RUNNING)]
    make.run(job, State.WAITING)  # of another filter
    Run.objects.filter(id=runs[0].id).update(reason="It is slow.")
    html = client.get(where, headers=headers).content.decode()
    assert "2 new runs" in html and 'href="?state=RUNNING"' in html
    assert "It is slow." in html
    for run in runs:
        assert f'id="run-{run.id}"' in html
    for run in new:
        assert f'id="run-{run.id}"' not in html
    assert live_url(client.get(where), "run-rows") == where


@pytest.mark.parametrize("top", ["", "x", "f" * 32, "0" * 32])
def test_a_top_that_is_none_is_no_error(reader: User, job: Job, top: str) -> None:
    make.run(job, State.RUNNING)
    client = Client()
    client.force_login(reader)
    assert client.get(f"/runs/live/?top={top}").status_code == 200


@pytest.mark.parametrize(
    ("path", "region"),
    [
        ("/runs/?state=RUNNING", "run-rows"),
        ("/dead-letters/", "dead-letters"),
        ("/review/", "review-rows"),
    ],
)
def test_a_list_of_several_pages_is_304_too(
    reader: User, job: Job, path: str, region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("runs.dashboard.lists.views", "runs.letters.views", "runs.review.shown"):
        monkeypatch.setattr(f"{module}.SIZE", 1)
    cursors = count()  # as they are: signed with the time, no two alike
    monkeypatch.setattr("jobs.paging.cursor", lambda *_: f"cursor-{next(cursors)}")
    for state in (State.RUNNING, State.REVIEW):
        make.run(job, state)
        make.run(job, state)
    for reason in ("The one.", "Another."):
        make.run(job, State.DEAD, reason=reason)
    client = Client()
    client.force_login(reader)
    page = client.get(path)
    assert 'rel="next"' in page.content.decode()
    where = live_url(page, region)
    assert client.get(where, headers={"HX-PTag": tag_of(page)}).status_code == 304
