"""Badges: how jobs stand, told to everybody who has the address, and nothing else told."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.test import Client

from jobs import editing
from jobs.definitions.definitions import DefinitionError
from jobs.models import Job, Team, User
from jobs.tokens import tokens
from runs.badges import badge, picture
from runs.dashboard.stances.stances import Stance, counted, worst
from runs.models import Badge
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.test_no_inline import HOSTILE
from tests.test_palette import contrast, linear

pytestmark = pytest.mark.django_db
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    cache.clear()


def key_of(team: Team, by: User, label: str = "Nightly", **of: Any) -> str:
    _, key = badge.make(badge.read(team, label, **of), by=by)
    return key


def told(key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Client().get(f"/badges/{key}.json").content)
    return found


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)  # noqa: S314 (our own)
    return [str(one.text) for one in root.iter(f"{SVG}text")]


def test_everybody_with_the_address_sees_the_name_and_the_state(team: Team, editor: User) -> None:
    job = make.job(team, name="settle-secretly", description="hush")
    run = make.run(job, State.REVIEW, reason="hush")
    key = key_of(team, editor, job=job)
    answer = Client().get(f"/badges/{key}.svg")
    assert (answer.status_code, texts(answer.content)) == (200, ["Nightly", "needs review"])
    shown = {"label": "Nightly", "state": "review", "count": 1}
    assert told(key).items() >= shown.items()
    assert run.review_at is not None and told(key)["since"].startswith(f"{run.review_at:%Y-%m-%dT}")
    for secret in ("settle", "hush", team.slug, str(job.id)):
        assert secret not in answer.content.decode() + json.dumps(told(key))


def test_what_goes_with_it_lets_nothing_be_done_with_it(team: Team, editor: User) -> None:
    key = key_of(team, editor, job=make.job(team))
    for path, kind in ((f"{key}.svg", "image/svg+xml"), (f"{key}.json", "application/json")):
        answer = Client().get(f"/badges/{path}")
        policy = "default-src 'none'; frame-ancestors 'none'; sandbox"
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["Content-Security-Policy"] == policy
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        assert answer.headers["X-Robots-Tag"] == "noindex"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert not answer.cookies
        again = Client(headers={"If-None-Match": answer.headers["ETag"]}).get(f"/badges/{path}")
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == answer.headers["ETag"]
        assert Client().post(f"/badges/{path}").status_code == 405


def test_unknown_revoked_and_deleted_are_one_answer(team: Team, editor: User) -> None:
    job = make.job(team)
    revoked, of_deleted = key_of(team, editor), key_of(team, editor, job=job)
    assert told(of_deleted)["state"] == "new"
    badge.revoke(Badge.objects.get(digest=tokens.digest(revoked)), by=editor)
    editing.delete(job.id, by=editor)
    for shape in ("svg", "json"):
        answers = [
            Client().get(f"/badges/{key}.{shape}")
            for key in ("x" * 43, revoked, of_deleted, "%00", "%ff", "é")
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1
        assert b"unknown" in answers[0].content
        assert {answer.headers["X-Robots-Tag"] for answer in answers} == {"noindex"}


def test_a_tag_and_a_team_tell_the_worst_and_how_many(team: Team, editor: User) -> None:
    of_team, of_tag = key_of(team, editor), key_of(team, editor, tag="Billing")
    assert told(of_team) == {"label": "Nightly", "state": "no_jobs", "count": 0, "since": None}
    fine = make.job(team, name="fine", tags=["billing"])
    make.run(fine, State.SUCCEEDED)
    for number in range(2):
        make.run(make.job(team, name=f"bad {number}"), State.DEAD)
    make.job(make.team("elsewhere"), name="theirs", tags=["billing"])
    cache.clear()
    assert (told(of_team)["state"], told(of_team)["count"]) == ("failing", 2)
    assert (told(of_tag)["state"], told(of_tag)["count"]) == ("fine", 1)
    assert texts(Client().get(f"/badges/{of_team}.svg").content) == ["Nightly", "2 failing"]


def test_however_many_look_the_jobs_are_asked_once_in_a_while(
    team: Team, editor: User, django_assert_num_queries: Any
) -> None:
    key, client = key_of(team, editor), Client()
    client.get(f"/badges/{key}.svg")
    for path in (f"{key}.svg", f"{key}.json", f"{'x' * 43}.svg"):
        with django_assert_num_queries(1):
            client.get(f"/badges/{path}")


def test_only_the_digest_is_kept_and_the_address_is_shown_once(team: Team, editor: User) -> None:
    browser, job = Browser(editor), make.job(team, name="settle")
    page = browser.post(f"/jobs/{job.id}/badge/", label="Nightly")
    (shown,) = page.all("code", id="badge-picture")
    key = shown.text.rpartition("/")[2].removesuffix(".svg")
    assert page.status == 201 and len(key) >= 43
    assert Client().get(f"/badges/{key}.svg").status_code == 200
    kept = Badge.objects.get()
    assert key not in json.dumps(list(Badge.objects.values()), default=str)
    for path in (f"/jobs/{job.id}/badge/", "/settings/badges/"):
        page = browser.get(path)
        assert "Nightly" in page.words and key not in page.html and kept.digest not in page.html
    page = browser.post(f"/settings/badges/{kept.id}/revoke/")
    assert "is revoked" in page.words
    assert "There are no badges" in page.words
    assert Client().get(f"/badges/{key}.svg").status_code == 404
    assert "was revoked before" in browser.post(f"/settings/badges/{kept.id}/revoke/").words


def test_the_api_makes_lists_and_revokes_them(team: Team, editor: User) -> None:
    api, job = Api.of(team, editor), make.job(team)
    made = api.post("badges/", {"label": "Nightly", "job": str(job.id)})
    assert made.status == 201
    assert Client().get(made.body["svg"].partition("testserver")[2]).status_code == 200
    (listed,) = api.get("badges/").body["results"]
    assert listed == {name: made.body[name] for name in listed}
    assert not {"svg", "json", "key", "digest"} & listed.keys()
    theirs = make.job(make.team("elsewhere"))
    for wrong, field in (
        ({"label": ""}, "label"),
        ({"label": "x" * 61}, "label"),
        ({"label": "a\u202eb"}, "label"),
        ({"label": "a", "tag": "no tag!"}, "tag"),
        ({"label": "a", "tag": "billing", "job": str(job.id)}, "tag"),
        ({"label": "a", "job": str(theirs.id)}, "job"),
        ({"label": "a", "job": 7}, "job"),
        ({"label": "a", "of": "x"}, "of"),
    ):
        answer = api.post("badges/", wrong)
        assert (answer.status, answer.fields) == (400, [field]), wrong
    assert api.call("DELETE", f"badges/{listed['id']}/").status == 204
    assert api.call("DELETE", f"badges/{listed['id']}/").status == 404


def test_what_is_wrong_with_a_form_is_said_at_its_field(team: Team, editor: User) -> None:
    browser = Browser(editor)
    page = browser.post("/settings/badges/", team=team.slug, label="", tag="no tag!")
    assert page.status == 422 and "A badge needs a name" in page.error("label")
    page = browser.post("/settings/badges/", team=team.slug, label="a", tag="no tag!")
    assert page.status == 422 and "A tag has 1 to 40" in page.error("tag")
    make.team("elsewhere")
    assert "is no team" in browser.post("/settings/badges/", team="elsewhere", label="a").words
    assert not Badge.objects.exists()


def test_a_team_has_so_many_and_no_more(
    team: Team, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(badge, "MOST", 1)
    key_of(team, editor)
    with pytest.raises(DefinitionError, match="one more than 1"):
        key_of(team, editor)
    badge.revoke(Badge.objects.get(), by=editor)
    key_of(team, editor)


def test_the_database_keeps_no_badge_of_two_things(team: Team, editor: User) -> None:
    job: Job = make.job(team)
    key_of(team, editor, job=job)
    for columns in ({"tag": "billing"}, {"label": ""}):
        with pytest.raises(IntegrityError, match="a_badge_"), transaction.atomic():
            Badge.objects.update(**columns)


# ── the picture ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", [*HOSTILE, "日本語 🚀", "]]>", "a" * 60])
def test_a_name_stays_text(text: str) -> None:
    harmless = ElementTree.fromstring(picture.svg("harmless", "fine", Stance.FINE))  # noqa: S314
    hostile = ElementTree.fromstring(picture.svg(text, "fine", Stance.FINE))  # noqa: S314
    assert [one.tag for one in hostile.iter()] == [one.tag for one in harmless.iter()]
    assert [sorted(one.attrib) for one in hostile.iter()] == [
        sorted(one.attrib) for one in harmless.iter()
    ]
    assert hostile.findtext(f"{SVG}text") == text
    assert hostile.attrib["aria-label"] == f"{text}: fine"


def test_texts_have_the_room_that_they_take() -> None:
    for label in ("a", "a" * 60, "日" * 30):
        root = ElementTree.fromstring(picture.svg(label, "2 failing", Stance.FAILING))  # noqa: S314
        first, second = root.iter(f"{SVG}text")
        whole = float(root.attrib["width"])
        ends = [float(one.attrib["x"]) + float(one.attrib["textLength"]) for one in (first, second)]
        assert ends[0] < float(second.attrib["x"]) < ends[1] < whole


def test_each_state_has_a_glyph_and_can_be_read() -> None:
    glyphs = [picture.GLYPHS[stance] for stance in (*Stance, None)]
    assert len(set(glyphs)) == len(glyphs)
    for stance in (*Stance, None):
        fills = re.findall(r'<rect[^>]* fill="(#\w+)"', picture.svg("a", "b", stance))
        assert len(fills) == 2
        assert all(contrast(linear("#ffffff"), linear(fill)) >= 4.5 for fill in fills), stance


def test_of_many_the_worst_trouble_is_told_else_that_they_are_fine() -> None:
    assert worst({}) is None
    assert worst({Stance.FINE: 9, Stance.PAUSED: 1}) is Stance.FINE
    assert worst({Stance.FINE: 9, Stance.DEAD: 1, Stance.LATE: 1}) is Stance.LATE
    assert worst({Stance.PAUSED: 1, Stance.NEW: 2}) is Stance.PAUSED
    assert counted(Stance.REVIEW, 1) == "1 needs review"
    assert counted(Stance.REVIEW, 2) == "2 need review"
    assert counted(Stance.FINE, 1_200) == "1,200 fine"
