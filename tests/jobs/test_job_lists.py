"""The list of jobs over the API: paged along its order, filtered, never counted."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import editing
from jobs.models import Due, Team
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(team: Team) -> Api:
    return Api.of(team, make.editor(team))


def test_a_list_pages_by_name_and_counts_nothing(api: Api, team: Team) -> None:
    names = ["a", "B", "c c", "d%", "é"]
    for name in names:
        make.job(team, name=name)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = api.get("jobs/?page_size=2")
    assert "count(" not in str(queries.captured_queries).lower()
    seen = [job["name"] for job in page.body["results"]]
    while page.body["next"]:
        page = api.get(page.body["next"])
        assert len(page.body["results"]) <= 2
        seen += [job["name"] for job in page.body["results"]]
    assert sorted(seen) == sorted(names)
    assert seen == [job["name"] for job in api.get("jobs/").body["results"]]


def test_a_list_costs_the_same_queries_for_one_job_and_for_many(api: Api, team: Team) -> None:
    costs = []
    for names in (["a"], ["b", "c", "d"]):
        for name in names:
            make.job(team, name=name)
        with CaptureQueriesContext(connection) as queries:
            assert api.get("jobs/").status == 200
        costs.append(len(queries))
    assert costs[0] == costs[1]


def test_a_list_is_filtered(api: Api, team: Team) -> None:
    make.job(team, name="active")
    editing.pause(make.job(team, name="paused").id, editing.Pause(), by=None)
    finished = make.job(team, name="finished")
    Due.objects.filter(job=finished).delete()

    def names(query: str) -> list[str]:
        return [job["name"] for job in api.get(f"jobs/?{query}").body["results"]]

    assert names("") == ["active", "finished", "paused"]
    for state in ("active", "finished", "paused"):
        assert names(f"state={state}") == [state]
    assert names("state=paused&state=active") == ["active", "paused"]
    assert names("team=payments") == ["active", "finished", "paused"]
    assert names("team=elsewhere") == []


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("state=DEAD", "state"),
        ("team=a%00b", "team"),
        ("team=", "team"),
        ("page_size=0", "page_size"),
        ("page_size=201", "page_size"),
        ("page_size=x", "page_size"),
        ("cursor=x", "cursor"),
        ("cursor=WyJhIl0:1wPZ:x", "cursor"),
        ("stat=paused", "stat"),
    ],
)
def test_a_bad_parameter_is_refused_by_its_name(api: Api, query: str, parameter: str) -> None:
    answer = api.get(f"jobs/?{query}")
    assert (answer.status, answer.fields) == (400, [parameter])


def test_a_cursor_of_another_list_is_refused(api: Api, team: Team) -> None:
    job = make.job(team)
    api.patch(f"jobs/{job.id}/", {"timeout": 7})
    following = api.get(f"jobs/{job.id}/versions/?page_size=1").body["next"]
    assert api.get(following).status == 200
    cursor = following.partition("cursor=")[2]
    assert api.get(f"jobs/?cursor={cursor}").fields == ["cursor"]
