"""Tags and owners: by what jobs are found, and whom to ask about them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import bulk, editing, tagging
from jobs.bulk import Do
from jobs.definitions import tag_words
from jobs.definitions.definitions import DefinitionError
from jobs.models import Job, JobVersion, Team, User
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.wanted import Wanted
from runs.dashboard.lists import exports
from tests import make
from tests.api import Api
from tests.dashboard import history
from tests.pages import Browser, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(team: Team, editor: User) -> Api:
    return Api.of(team, editor)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Billing", "billing"),
        ("team/payments", "team/payments"),
        (" eu-1 ", "eu-1"),
        ("été", "été"),
    ],
)
def test_what_is_a_tag(given: str, kept: str) -> None:
    assert tag_words.read(given) == kept


@pytest.mark.parametrize(
    "given", ["", "-a", "a-", "a b", "a,b", "<b>", "a\x00", "a\u202eb", 7, None]
)
def test_what_is_none(given: object) -> None:
    assert tag_words.read(given) is None


def test_a_job_keeps_each_tag_once_in_order() -> None:
    assert make.definition(tags=["prod", "Billing", "billing"]).tags == ("billing", "prod")
    assert make.definition().tags == ()


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("tags", ["a b"]),
        ("tags", "billing"),
        ("tags", [f"t{n}" for n in range(11)]),
        ("tags", ["x" * 41]),
        ("owner", "a\x00"),
        ("owner", "a\u202eb"),
        ("owner", "x" * 121),
        ("owner", 7),
    ],
)
def test_what_is_wrong_is_named(field: str, given: object) -> None:
    with pytest.raises(DefinitionError) as wrong:
        make.definition(**{field: given})
    assert [problem.field for problem in wrong.value.problems] == [field]


def test_the_api_keeps_filters_and_tells_them(api: Api) -> None:
    api.post("jobs/", make.shape(name="one", tags=["Prod", "billing"], owner="bookkeeping"))
    api.post("jobs/", make.shape(name="two", tags=["prod"], owner="Treasury, on call"))

    def names(query: str) -> list[str]:
        return [job["name"] for job in api.get(f"jobs/?{query}").body["results"]]

    assert names("tag=prod") == ["one", "two"]
    assert names("tag=prod&tag=billing") == names("tag=PROD,billing") == ["one"]
    assert names("owner=treasury") == ["two"]
    assert names("tag=nobody-has-it") == []
    told = api.get("jobs/?tag=billing").body["results"][0]
    assert (told["tags"], told["owner"]) == (["billing", "prod"], "bookkeeping")
    assert api.get("jobs/?tag=-").fields == ["tag"]
    assert api.get("jobs/?tag=%00").fields == ["tag"]


def test_a_version_says_which_tags_came_and_went(api: Api, team: Team) -> None:
    job = make.job(team, tags=["prod"])
    api.patch(f"jobs/{job.id}/", {"tags": ["test"]})
    changes = api.get(f"jobs/{job.id}/versions/").body["results"][0]["changes"]
    assert changes == {"tags": {"from": ["prod"], "to": ["test"]}}


def test_the_form_takes_and_shows_them(editor: User) -> None:
    browser = Browser(editor)
    browser.post("/jobs/new/", **typed(tags="Prod, billing", owner="bookkeeping"))
    job = Job.objects.get()
    assert (job.tags, job.owner) == (["billing", "prod"], "bookkeeping")
    form = browser.get(f"/jobs/{job.id}/edit/")
    assert (form.value("tags"), form.value("owner")) == ("billing, prod", "bookkeeping")
    wrong = browser.post("/jobs/new/", **typed(name="other", tags="<b>"))
    assert "no tag" in wrong.error("tags")


def test_the_list_shows_filters_and_says_that_the_filter_is_at_fault(
    editor: User, team: Team
) -> None:
    make.job(team, name="one", tags=["prod"], owner="bookkeeping")
    browser = Browser(editor)
    page = browser.get("/jobs/?tag=prod")
    assert page.all("a", href="/jobs/?tag=prod")
    assert "bookkeeping" in page.words
    assert "Tags: prod" in page.words
    assert "No job matches this filter" in browser.get("/jobs/?tag=nobody-has-it").words
    wrong = browser.get("/jobs/?tag=%3Cb%3E")
    assert "no tag" in wrong.error("tag")


def test_tags_are_looked_up_along_their_index(team: Team) -> None:
    history.jobs(team, 3_000)
    history.analyzed()
    with connection.cursor() as cursor:
        cursor.execute("explain select id from jobs_job where tags @> '[\"prod\"]'")
        plan = " ".join(row[0] for row in cursor.fetchall())
    assert "jobs_by_a_tag" in plan


# ── many at once ─────────────────────────────────────────────────────────────────────────


def test_many_are_tagged_and_untagged_each_by_itself(team: Team, editor: User) -> None:
    one, two = make.job(team, name="one", tags=["prod"]), make.job(team, name="two")
    full = make.job(team, name="full", tags=[f"t{n}" for n in range(10)])
    theirs = make.job(make.team("elsewhere"))
    due = two.due.at
    results = bulk.tag([one.id, two.id, full.id, theirs.id], ["prod"], by=editor)
    assert [result.done for result in results] == [False, True, False, False]
    assert "already" in results[0].said
    assert "at most 10" in results[2].said
    two.refresh_from_db()
    assert two.tags == ["prod"]
    assert two.due.at == due
    assert JobVersion.objects.get(job=two, number=2).changes == {
        "tags": {"from": [], "to": ["prod"]}
    }
    assert [r.done for r in bulk.untag([one.id, full.id], ["prod"], by=editor)] == [True, False]
    one.refresh_from_db()
    assert one.tags == []


def test_a_secret_survives_a_tag(team: Team) -> None:
    target = {"type": "http", "url": "https://a.example/", "headers": {"Authorization": "hush"}}
    job = make.job(team, target=target)
    before = Job.objects.get(id=job.id).target
    tagging.tag(job.id, ["prod"], by=None)
    assert Job.objects.get(id=job.id).target == before


def test_who_was_faster_is_not_overwritten(team: Team) -> None:
    job = make.job(team)
    editing.edit(job.id, make.definition(timeout=60), by=None)
    with pytest.raises(editing.Changed):
        tagging.tag(job.id, ["prod"], by=None, seen=1)


def test_operators_pause_many_and_tag_none(team: Team) -> None:
    job, operator = make.job(team), make.operator(team)
    api = Api.of(team, operator)
    body: dict[str, Any] = {"do": "tag", "tags": ["prod"], "jobs": [str(job.id)]}
    assert api.post("jobs/bulk/", body).status == 403
    assert Browser(operator).get("/jobs/many/?do=tag").status == 403
    assert not bulk.tag([job.id], ["prod"], by=operator)[0].done


def test_the_api_tags_what_a_filter_finds(api: Api, team: Team) -> None:
    for name in ("one", "two"):
        make.job(team, name=name)
    body: dict[str, Any] = {"do": "tag", "tags": ["Prod"], "filter": {"q": "o"}}
    seen = api.post("jobs/bulk/", {**body, "dry_run": True}).body
    results = api.post("jobs/bulk/", {**body, **seen}).body["results"]
    assert [one["done"] for one in results] == [True, True]
    assert Job.objects.filter(tags=["prod"]).count() == 2
    named = {"do": "tag", "jobs": [results[0]["job"]]}
    assert api.post("jobs/bulk/", {**named, "tags": ["a b"]}).fields == ["tags"]
    assert api.post("jobs/bulk/", named).fields == ["tags"]


def test_the_page_tags_the_ticked(team: Team, editor: User) -> None:
    job, browser = make.job(team), Browser(editor)
    look = browser.get(f"/jobs/many/?ticked=tag&job={job.id}")
    assert "Tag 1 job" in look.words
    done = browser.post("/jobs/many/?ticked=tag", jobs=job.id, tags="Prod billing")
    assert "1 of 1 tagged" in done.words
    assert Job.objects.get().tags == ["billing", "prod"]
    assert "no tag" in browser.post("/jobs/many/?do=untag", jobs=job.id, tags="<").error("tags")
    assert "at least one" in browser.post("/jobs/many/?do=untag", jobs=job.id, tags="").words


def test_the_list_asks_no_more_for_tags(team: Team, editor: User) -> None:
    browser = Browser(editor)
    counts = []
    for number in range(2):
        make.job(team, name=f"job {number}", tags=["prod", f"t{number}"])
        with CaptureQueriesContext(
            connection,
        ) as asked:
            browser.get("/jobs/?tag=prod")
        counts.append(len(asked))
    assert counts[0] == counts[1]
    assert list(Do) == ["pause", "resume", "tag", "untag"]


def test_runs_are_found_by_the_tags_and_owner_of_their_job(
    api: Api, editor: User, team: Team
) -> None:
    run = make.run(make.job(team, name="one", tags=["eu", "prod"], owner="bookkeeping"))
    make.run(make.job(team, name="two", tags=["prod"], owner="treasury"))
    browser = Browser(editor)
    for query in ("tag=PROD,eu", "tag=prod&tag=eu", "owner=Book", f"job={run.job_id}&tag=eu"):
        found = api.get(f"runs/?{query}").body["results"]
        assert [one["id"] for one in found] == [str(run.id)], query
        page = browser.get(f"/runs/?{query}")
        assert [tr.attrs["id"] for tr in page.all("tr") if "id" in tr.attrs] == [f"run-{run.id}"]
    assert api.get(f"runs/?job={run.job_id}&tag=us").body["results"] == []
    assert api.get("runs/?tag=-").fields == ["tag"]
    assert "no tag" in browser.get("/runs/?tag=-").error("tag")
    found = exports.of_runs(Reader(editor.id), Wanted(tags=("eu",)))
    assert [one["id"] for one in found] == [str(run.id)]
