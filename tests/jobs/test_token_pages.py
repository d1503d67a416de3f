"""API tokens on a page: made for oneself, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import clock
from jobs.models import AuditEvent, Team, Token, User
from jobs.tokens import tokens
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db
HERE = "/settings/tokens/"


@pytest.fixture
def admin(team: Team) -> User:
    return make.admin(team)


def test_an_admin_makes_a_token_that_works_and_is_shown_once(team: Team, admin: User) -> None:
    browser = Browser(admin)
    page = browser.post(HERE, team=team.slug, name="pipeline", lasts="30")
    assert page.status == 201
    (shown,) = page.all("code", id="issued")
    assert Api(shown.text).get("jobs/").status == 200
    token = Token.objects.get()
    assert (token.user, token.team, token.name) == (admin, team, "pipeline")
    assert token.expires_at is not None
    assert timedelta(days=29) < token.expires_at - clock.now() <= timedelta(days=30)
    again = browser.get(HERE)
    assert shown.text not in again.html
    assert again.all("tr", id=f"token-{token.id}")
    act = AuditEvent.objects.get(verb="token.issued")
    assert (act.who, act.door) == (admin.get_username(), "page")


def test_a_token_lasts_until_it_is_revoked_where_that_is_chosen(team: Team, admin: User) -> None:
    Browser(admin).post(HERE, team=team.slug, name="pipeline", lasts="")
    assert Token.objects.get().expires_at is None


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"name": "  "}, "name", "Say what it is for."),
        ({"name": "x" * 121}, "name", "120"),
        ({"name": "a\u202eb"}, "name", "U+202E"),
        ({"team": "elsewhere"}, "team", "elsewhere is no team that you administer."),
        ({"lasts": "1000000"}, "lasts", "1000000"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    team: Team, admin: User, changed: dict[str, str], field: str, said: str
) -> None:
    make.team("elsewhere")
    fields = {"team": team.slug, "name": "pipeline", "lasts": "90", **changed}
    page = Browser(admin).send(HERE, fields)
    assert page.status == 422
    assert said in page.error(field)
    assert not Token.objects.exists()


def test_who_administers_no_team_is_told_who_makes_tokens(team: Team) -> None:
    editor = make.editor(team)
    page = Browser(editor).get(HERE)
    assert "The admins of a team make tokens in it" in page.words
    assert not page.all("input", name="name")


def test_a_revoked_token_opens_nothing(team: Team, admin: User) -> None:
    secret = make.token(team, admin)
    token = Token.objects.get()
    page = Browser(admin).post(f"{HERE}{token.id}/revoke/")
    assert "is revoked: it opens nothing any more." in page.words
    assert not page.all("tr", id=f"token-{token.id}")
    assert Api(secret).get("jobs/").status == 401
    assert "was revoked before." in Browser(admin).post(f"{HERE}{token.id}/revoke/").words


def test_a_person_sees_and_revokes_their_own_and_an_admin_those_of_the_team(
    team: Team, admin: User
) -> None:
    viewer, other = make.viewer(team), make.operator(team)
    make.token(team, viewer)
    make.token(team, other)
    theirs = Token.objects.get(user=viewer)
    rows = [tr for tr in Browser(viewer).get(HERE).all("tr") if "id" in tr.attrs]
    assert [tr.attrs["id"] for tr in rows] == [f"token-{theirs.id}"]
    assert "is revoked" in Browser(viewer).post(f"{HERE}{theirs.id}/revoke/").words
    assert list(tokens.revocable(admin)) == list(Token.objects.filter(user=other))
    assert not tokens.revocable(make.outsider())
