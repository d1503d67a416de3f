"""Saved views: a filter under a name, one's own or a team's, as a tab with a count, or as home."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from jobs import editing
from jobs.models import Team, User
from runs.dashboard.saved_views import saved_views
from runs.dashboard.saved_views.saved_views import NotYours, Refused
from runs.models import SavedView
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db


def saved(by: User, name: str = "dead ones", team: Team | None = None) -> SavedView:
    content = saved_views.read("runs", name, {"state": ["DEAD"]}, team)
    return saved_views.save(content, by=by)


def test_a_filter_is_kept_in_one_form_whatever_it_was_written_like() -> None:
    kept = saved_views.canonical("runs", {"state": ["REVIEW,DEAD", "DEAD"], "q": " a "})
    assert kept == {"q": ["a"], "state": ["DEAD", "REVIEW"]}
    assert saved_views.canonical("jobs", {"sort": "last_run", "team": ""}) == {"sort": ["last_run"]}
    plain = saved_views.canonical("jobs", {"idempotent": True, "due_within": 3600})
    assert plain == {"due_within": ["3600"], "idempotent": ["true"]}


@pytest.mark.parametrize(
    ("page", "name", "query", "field"),
    [
        ("review", "n", {}, "page"),
        ("jobs", " ", {}, "name"),
        ("jobs", "n" * 61, {}, "name"),
        ("jobs", "a\x00b", {}, "name"),
        ("jobs", "n", {"cursor": "x"}, "query.cursor"),
        ("jobs", "n", {"state": "DEAD"}, "query.state"),
        ("jobs", "n", {"q": None}, "query.q"),
        ("jobs", "n", {"q": {"a": 1}}, "query.q"),
        ("jobs", "n", {"tag": [["a"]]}, "query.tag"),
        ("jobs", "n", {"due_within": 1.5}, "query.due_within"),
        ("runs", "n", {"since": "soon"}, "query.since"),
    ],
)
def test_what_is_no_view_is_refused_by_its_field(
    page: str, name: str, query: dict[str, object], field: str
) -> None:
    with pytest.raises(Refused) as refused:
        saved_views.read(page, name, query)
    assert [one.field for one in refused.value.problems] == [field]


def test_a_name_is_taken_once_by_a_person_and_once_in_a_team(team: Team, operator: User) -> None:
    saved(operator)
    saved(operator, team=team)
    saved(make.operator(team, "another"))
    for of in (None, team):
        with pytest.raises(Refused, match="the name of another view"):
            saved(operator, team=of)


def test_who_sees_and_who_changes_a_view(team: Team, operator: User) -> None:
    own, shared = saved(operator), saved(operator, "ours", team)
    viewer, editor = make.viewer(team), make.editor(team)
    seen = {user: {*SavedView.objects.where(user.id)} for user in (operator, viewer, editor)}
    assert seen == {operator: {own, shared}, viewer: {shared}, editor: {shared}}
    assert not SavedView.objects.where(make.outsider().id)
    content = saved_views.read("runs", "renamed", {}, team)
    with pytest.raises(NotYours):
        saved_views.change(shared, content, by=viewer)
    with pytest.raises(NotYours):  # a viewer shares nothing with the team
        saved(viewer, "mine", team)
    saved_views.change(shared, content, by=editor)
    with pytest.raises(NotYours):
        saved_views.delete(own, by=editor)
    operator.membership_set.all().delete()
    with pytest.raises(NotYours):  # its owner has left the team
        saved_views.delete(shared, by=operator)


def test_a_person_keeps_twenty_of_them(operator: User) -> None:
    for number in range(saved_views.MOST):
        saved(operator, str(number))
    with pytest.raises(Refused, match="one more than 20"):
        saved(operator, "one more")


def test_each_change_is_in_the_log(operator: User) -> None:
    with capture_logs() as lines:
        view = saved(operator)
        saved_views.begin_with(view, by=operator)
        saved_views.change(view, saved_views.read("runs", "other", {}), by=operator)
        saved_views.delete(view, by=operator)
    told = [(line["event"], line["by"]) for line in lines]
    words = ("saved", "begun_with", "changed", "deleted")
    assert told == [(f"view.{word}", "operator") for word in words]


def test_a_list_is_saved_opened_as_a_tab_changed_and_deleted(
    browser: Browser, team: Team, operator: User
) -> None:
    job = make.job(team)
    editing.pause(make.job(team, name="off").id, editing.Pause("why"), by=None)
    make.run(job, State.DEAD)
    listed = browser.get("/jobs/?state=paused")
    link = next(a.attrs["href"] for a in listed.all("a", class_="act"))
    shown = browser.send(link, {"name": "Off", "team": "payments", "home": "on"})
    tab = next(a for a in shown.all("a", aria_current="page") if "Off" in a.text)
    assert tab.text.endswith(" 1")
    assert tab.attrs["href"] == "/jobs/?state=paused"
    assert browser.get("/start/").url == "/jobs/?state=paused"
    change = next(a.attrs["href"] for a in shown.all("a", class_="act"))
    renamed = browser.send(change, {"name": "Paused", "team": ""})
    assert "The view “Paused” is changed" in renamed.words
    view = SavedView.objects.get()
    assert (view.name, view.team) == ("Paused", None)
    assert browser.get("/start/").url != "/jobs/?state=paused"
    browser.send(f"/views/{view.id}/delete/", {})
    assert not SavedView.objects.exists()


def test_a_view_that_is_none_any_more_has_no_count(browser: Browser, operator: User) -> None:
    SavedView.objects.create(owner=operator, page="runs", name="old", query={"state": ["GONE"]})
    page = browser.get("/runs/")
    tab = next(a for a in page.all("a") if a.text.startswith("old"))
    assert tab.text == "old"


def test_the_api_saves_shares_and_deletes(api: Api, team: Team, operator: User) -> None:
    made = api.post("views/", {"page": "runs", "name": "dead", "query": {"state": "DEAD"}})
    assert (made.status, made.body["query"], made.body["shared"]) == (
        201,
        {"state": ["DEAD"]},
        False,
    )
    path = f"views/{made.body['id']}/"
    changed = api.patch(path, {"shared": True, "home": True, "name": "the dead"}).body
    assert (changed["shared"], changed["home"], changed["name"]) == (True, True, "the dead")
    assert [one["name"] for one in api.get("views/?page=runs").body["results"]] == ["the dead"]
    assert api.get("views/?page=jobs").body["results"] == []
    assert api.patch(path, {"query": {"stat": "x"}}).fields == ["query.stat"]
    assert api.patch(path, {"query": "x"}).fields == ["query"]
    assert api.post("views/", {"page": "runs", "name": "", "query": {}}).fields == ["name"]
    assert api.delete(path).status == 204
    assert api.get(path).status == 404
