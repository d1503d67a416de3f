"""Markers: the rule, and the doors that write, list and remove them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from jobs import clock
from jobs.definitions.errors import DefinitionError
from jobs.models import AuditEvent, Job, Membership, Team
from jobs.roles import Role
from jobs.schedules.instants import canonical_instant
from runs.markers import content, kept, marking
from runs.models import Marker
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.races import at_once

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script> 'q' \"d\" {{ x }} ümläut 🚀"


def read(**given: Any) -> content.Content:
    return content.read({"text": "deploy", **given}, clock.now())


# ── what may stand in one ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n "}, "text"),
        ({"text": "x" * 201}, "text"),
        ({"text": "nul \x00"}, "text"),
        ({"text": "right \u202e to left"}, "text"),
        ({"text": "half \ud800"}, "text"),
        ({"text": 7}, "text"),
        ({"text": None}, "text"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"url": "JAVASCRIPT://a.example/%0aalert(1)"}, "url"),
        ({"url": "data:text/html,x"}, "url"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": "//elsewhere.example/"}, "url"),
        ({"url": "https://"}, "url"),
        ({"url": "https://ada:secret@ci.example/"}, "url"),
        ({"url": "https://ci.example/ with blanks"}, "url"),
        ({"url": "https://[::1"}, "url"),
        ({"url": "https://ci.example:99999/"}, "url"),
        ({"url": f"https://ci.example/{'x' * 500}"}, "url"),
        ({"url": ["https://ci.example/"]}, "url"),
        ({"tag": "two words"}, "tag"),
        ({"tag": "x" * 41}, "tag"),
        ({"tag": ["billing"]}, "tag"),
        ({"key": "k" * 201}, "key"),
        ({"key": "k\x00"}, "key"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2026-11-29T18:00:00"}, "at"),
        ({"at": "0001-01-01T00:00:00Z"}, "at"),
        ({"at": "9999-12-31T23:59:59Z"}, "at"),
        ({"at": 7}, "at"),
    ],
)
def test_what_is_no_marker_is_refused_by_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(**given)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_what_is_read_is_as_it_is_kept() -> None:
    found = read(text="  deploy\n of  billing ", tag=" Billing ", url="https://ci.example/7#step-2")
    assert (found.text, found.tag) == ("deploy of billing", "billing")
    assert found.url == "https://ci.example/7#step-2"
    assert read(text=HOSTILE).text == HOSTILE


def test_it_may_lie_a_day_ahead_and_no_further() -> None:
    now = clock.now()
    ahead = canonical_instant(now + content.AHEAD - timedelta(seconds=1))
    assert content.read({"text": "tonight", "at": ahead}, now).at > now
    beyond = canonical_instant(now + content.AHEAD + timedelta(seconds=1))
    with pytest.raises(DefinitionError, match="to a day from now"):
        content.read({"text": "tonight", "at": beyond}, now)
    assert content.read({"text": "now"}, now).at == now


# ── one key, one marker ──────────────────────────────────────────────────────────────────


def test_a_pipeline_that_tries_again_writes_one(api: Api) -> None:
    body = {"text": "deploy of billing 4.2", "key": "deploy-4711"}
    first, again = api.call("POST", "markers/", body), api.call("POST", "markers/", body)
    assert (first.status, again.status) == (201, 200)
    assert first.body == again.body
    assert Marker.objects.count() == 1
    assert AuditEvent.objects.filter(verb="marker.written").count() == 1


def test_one_key_for_two_markers_is_refused(api: Api) -> None:
    api.call("POST", "markers/", {"text": "deploy of billing 4.2", "key": "k"})
    refused = api.call("POST", "markers/", {"text": "deploy of billing 4.3", "key": "k"})
    assert refused.status == 422
    assert refused.body["errors"][0]["field"] == "key"
    assert "deploy of billing 4.2" in refused.body["errors"][0]["message"]
    assert Marker.objects.count() == 1


def test_teams_have_keys_of_their_own_and_without_one_each_counts(api: Api) -> None:
    other = make.team("elsewhere")
    theirs = Api.of(other, make.operator(other, "theirs"))
    for door in (api, theirs):
        assert door.call("POST", "markers/", {"text": "deploy", "key": "k"}).status == 201
    for _ in range(2):
        assert api.call("POST", "markers/", {"text": "deploy"}).status == 201
    assert Marker.objects.count() == 4


def test_the_database_knows_one_key_a_team_and_no_empty_text(team: Team) -> None:
    make.marker(team, key="k")
    for columns in ({"key": "k"}, {"text": ""}):
        with pytest.raises(IntegrityError), transaction.atomic():
            make.marker(team, **columns)


@pytest.mark.django_db(transaction=True)
def test_at_once_with_one_key_there_is_one() -> None:
    team = make.team()
    wanted = read(key="deploy-4711")
    found = at_once(*[partial(marking.write, team, wanted, by=None)] * 3)
    assert sorted(new for _, new in found) == [False, False, True]
    assert len({marker.id for marker, _ in found}) == 1


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_the_api_lists_pages_and_filters(api: Api, team: Team) -> None:
    now = clock.now()
    for hours, tag in ((1, ""), (2, "billing"), (30, "ledger")):
        make.marker(team, f"{hours} hours ago", at=now - timedelta(hours=hours), tag=tag)
    assert _texts(api.get("markers/")) == ["1 hours ago", "2 hours ago", "30 hours ago"]
    assert _texts(api.get("markers/?since=24h")) == ["1 hours ago", "2 hours ago"]
    assert _texts(api.get("markers/?until=24h")) == ["30 hours ago"]
    assert _texts(api.get("markers/?tag=billing&tag=ledger")) == ["2 hours ago", "30 hours ago"]
    first = api.get("markers/?page_size=2")
    assert _texts(api.get(first.body["next"])) == ["30 hours ago"]


@pytest.mark.parametrize(
    "query", ["since=soon", "tag=two%20words%21", "tg=x", "since=", "cursor=x", "since=1h&until=2h"]
)
def test_a_filter_that_is_none_is_told(api: Api, query: str) -> None:
    assert api.get(f"markers/?{query}").status == 400


def test_what_is_wrong_is_told_by_field(api: Api) -> None:
    answer = api.call("POST", "markers/", {"text": "", "url": "ftp://x/", "tag": "!", "at": "x"})
    assert answer.status == 400
    assert {one["field"] for one in answer.body["errors"]} == {"text", "url", "tag", "at"}
    assert api.call("POST", "markers/", {"txt": "deploy"}).status == 400
    assert not Marker.objects.exists()


def test_a_marker_goes_by_the_api_and_is_on_record(api: Api, team: Team) -> None:
    marker = make.marker(team, url="https://ci.example/7", tag="billing")
    told = api.get(f"markers/{marker.id}/").body
    assert (told["text"], told["url"], told["tag"], told["key"]) == (
        *("deploy of billing 4.2", "https://ci.example/7", "billing", None),
    )
    assert api.call("DELETE", f"markers/{marker.id}/").status == 204
    assert api.call("DELETE", f"markers/{marker.id}/").status == 404
    assert not Marker.objects.exists()
    event = AuditEvent.objects.get(verb="marker.removed")
    assert (event.name, event.team_id) == ("deploy of billing 4.2", team.id)


def test_another_teams_is_not_there_even_for_who_is_in_both(team: Team) -> None:
    person, other = make.operator(team, "both"), make.team("other")
    Membership.objects.create(team=other, user=person, role=Role.ADMIN)
    theirs = make.marker(other, "theirs")
    api = Api.of(team, person)
    assert api.get("markers/").body["results"] == []
    assert api.call("DELETE", f"markers/{theirs.id}/").status == 404
    assert Marker.objects.exists()


# ── the page ─────────────────────────────────────────────────────────────────────────────


def _write(browser: Browser, **typed: str) -> Any:
    return browser.post("/markers/", **{"team": "payments", "text": "deploy", **typed})


def test_a_person_writes_one_and_removes_it(browser: Browser) -> None:
    _write(browser, text=HOSTILE, at="15m", tag="billing", url="https://ci.example/7")
    marker = Marker.objects.get()
    assert timedelta(minutes=14) < clock.now() - marker.at
    shown = browser.get("/markers/")
    assert HOSTILE in shown.words
    assert "<script>alert" not in shown.html
    assert shown.all("a", href="https://ci.example/7")[0].attrs["rel"].startswith("noopener")
    browser.post(f"/markers/{marker.id}/remove/")
    assert not Marker.objects.exists()
    assert "There are no markers yet" in browser.get("/markers/").words


def test_what_is_wrong_stands_at_its_field(browser: Browser) -> None:
    answer = _write(browser, text="", at="soon", tag="a b!", url="javascript:alert(1)")
    assert answer.status == 422
    assert "is required" in answer.error("text")
    assert "24h" in answer.error("at")
    assert "is no tag" in answer.error("tag")
    assert "http or https" in answer.error("url")
    assert not Marker.objects.exists()


def test_a_viewer_reads_and_another_team_sees_nothing(team: Team) -> None:
    make.marker(team, "migration of the ledger")
    viewer = Browser(make.viewer(team)).get("/markers/")
    assert "migration of the ledger" in viewer.words
    assert not viewer.all("button", class_="button danger")
    assert "Write a marker" not in viewer.words
    assert "There are no markers yet" in Browser(make.outsider()).get("/markers/").words


def test_a_person_of_two_teams_removes_only_where_they_may(team: Team) -> None:
    person, other = make.operator(team, "both"), make.team("other")
    Membership.objects.create(team=other, user=person, role=Role.VIEWER)
    marker = make.marker(other)
    browser = Browser(person)
    assert not browser.get("/markers/").all("form", action=f"/markers/{marker.id}/remove/")
    assert browser.post(f"/markers/{marker.id}/remove/").status == 403
    assert Marker.objects.exists()


def test_the_page_goes_on_behind_its_last_row(team: Team, browser: Browser) -> None:
    now = clock.now()
    for minutes in range(51):
        make.marker(team, f"number {minutes}", at=now - timedelta(minutes=minutes))
    first = browser.get("/markers/")
    following = first.all("a", rel="next")[0].attrs["href"]
    assert "number 50" in browser.get(f"/markers/{following}").words
    assert "number 50" not in first.words
    assert "This list has not given it" in browser.get("/markers/?cursor=x").words
    assert "does not know it" in browser.get("/markers/?tg=x").words
    assert "No marker matches" in browser.get("/markers/?tag=ledger").words


# ── which concern a job ──────────────────────────────────────────────────────────────────


def test_a_tag_picks_the_jobs_of_its_team_that_have_it_now(team: Team) -> None:
    job = make.job(team, tags=["billing", "nightly"])
    since = clock.now() - timedelta(hours=1)
    for tag in ("", "billing", "ledger"):
        make.marker(team, f"for {tag or 'all'}", tag=tag)
    make.marker(make.team("elsewhere"), "theirs")
    assert {one.text for one in kept.of_job(job, since)} == {"for all", "for billing"}
    Job.objects.filter(id=job.id).update(tags=[])
    job.refresh_from_db()
    assert {one.text for one in kept.of_job(job, since)} == {"for all"}


def test_a_job_asks_once_and_without_a_failure_not_at_all(
    team: Team, django_assert_num_queries: Any
) -> None:
    job = make.job(team, tags=["billing"])
    now, run = clock.now(), make.run(job)
    with django_assert_num_queries(1):
        assert kept.of_job(job, now) == []
    with django_assert_num_queries(0):
        assert kept.before_failure(run.job, []) == []


def _texts(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [one["text"] for one in answer.body["results"]]
