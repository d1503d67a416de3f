"""Who is in a team: added, given another role and taken out by its admins, on a page."""

from __future__ import annotations

import pytest

from jobs import membership
from jobs.membership import Refused
from jobs.models import AuditEvent, Membership, Team, User
from jobs.roles import Role
from jobs.tokens import tokens
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db

PAGE = "/settings/members/"


@pytest.fixture
def admin(team: Team) -> User:
    return make.admin(team)


@pytest.fixture
def pages(admin: User) -> Browser:
    return Browser(admin)


def role_of(user: User, team: Team) -> str | None:
    found = Membership.objects.filter(user=user, team=team).first()
    return found.role if found else None


def of(user: User) -> Membership:
    return Membership.objects.get(user=user)


def test_an_admin_adds_changes_and_takes_out_a_member(
    pages: Browser, team: Team, admin: User
) -> None:
    new = make.person("ada")
    done = pages.post(PAGE, team=team.slug, username="ada", role="operator")
    assert "ada is in Payments from now on, as operator." in done.words
    assert role_of(new, team) == "operator"
    assert Browser(new).get(PAGE).all("tr", id=f"member-{of(new).pk}"), "they see it at once"
    done = pages.post(f"{PAGE}{of(new).pk}/role/", role="editor")
    assert "ada is editor of Payments" in done.words and role_of(new, team) == "editor"
    done = pages.post(f"{PAGE}{of(new).pk}/remove/")
    assert "ada is out of Payments" in done.words and role_of(new, team) is None
    told = AuditEvent.objects.filter(kind="membership").order_by("id")
    assert [(event.verb, event.name, event.team_id) for event in told] == [
        ("member.added", "ada", team.id),
        ("member.changed", "ada", team.id),
        ("member.removed", "ada", team.id),
    ]
    assert [event.lines[0]["to"] for event in told] == ["operator", "editor", None]


def test_the_tokens_of_who_is_taken_out_end_in_that_team_alone(pages: Browser, team: Team) -> None:
    ada, elsewhere = make.editor(team, "ada"), make.team("elsewhere")
    Membership.objects.create(team=elsewhere, user=ada, role=Role.VIEWER)
    here, there = make.token(team, ada), make.token(elsewhere, ada)
    pages.post(f"{PAGE}{Membership.objects.get(user=ada, team=team).pk}/remove/")
    Membership.objects.create(team=team, user=ada, role=Role.VIEWER)
    assert tokens.holding(here) is None, "nor do they come to life when the person comes back"
    assert tokens.holding(there) is not None


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"username": ""}, "username", "Say who"),
        ({"username": "nobody"}, "username", "ask the platform’s staff to add the person"),
        ({"username": "gone"}, "username", "Nobody who may sign in"),
        ({"username": "mate"}, "username", "in the team as viewer. Change it below"),
        ({"role": "emperor"}, "role", "emperor"),
        ({"team": "elsewhere"}, "team", "no team that you administer"),
    ],
)
def test_who_cannot_be_added_is_said_at_the_field(
    pages: Browser, team: Team, typed: dict[str, str], field: str, said: str
) -> None:
    make.viewer(team, "mate")
    make.team("elsewhere")
    make.person("gone", is_active=False)
    make.person("ada")
    before = Membership.objects.count()
    page = pages.post(PAGE, **{"team": team.slug, "username": "ada", "role": "viewer", **typed})
    assert page.status == 422 and said in page.error(field)
    assert Membership.objects.count() == before


def test_a_team_keeps_an_admin(pages: Browser, team: Team, admin: User) -> None:
    for done in (
        pages.post(f"{PAGE}{of(admin).pk}/role/", role="viewer"),
        pages.post(f"{PAGE}{of(admin).pk}/remove/"),
    ):
        assert "is the last admin of Payments. Make somebody else an admin first." in done.words
        assert role_of(admin, team) == "admin"
    make.admin(team, "second")
    pages.post(f"{PAGE}{of(admin).pk}/role/", role="viewer")
    assert role_of(admin, team) == "viewer"


def test_an_admin_who_may_not_sign_in_keeps_no_team(
    pages: Browser, team: Team, admin: User
) -> None:
    gone = make.admin(team, "gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    assert "the last admin" in pages.post(f"{PAGE}{of(admin).pk}/remove/").words


def test_no_admin_makes_another_where_two_pairs_of_eyes_are_asked_for(
    pages: Browser, team: Team
) -> None:
    Team.objects.filter(id=team.id).update(two_pairs_of_eyes=True)
    mate, ada = make.viewer(team, "mate"), make.person("ada")
    page = pages.post(PAGE, team=team.slug, username="ada", role="admin")
    assert page.status == 422 and "Ask the platform’s staff" in page.error("role")
    done = pages.post(f"{PAGE}{of(mate).pk}/role/", role="admin")
    assert "Ask the platform’s staff" in done.words
    assert (role_of(mate, team), role_of(ada, team)) == ("viewer", None)
    pages.post(PAGE, team=team.slug, username="ada", role="editor")
    assert role_of(ada, team) == "editor"


def test_a_role_that_is_none_changes_nothing(pages: Browser, team: Team) -> None:
    mate = make.viewer(team, "mate")
    assert "Choose a role" in pages.post(f"{PAGE}{of(mate).pk}/role/", role="emperor").words
    assert role_of(mate, team) == "viewer"


def test_who_is_gone_by_then_is_told(team: Team, admin: User) -> None:
    member = make.viewer(team, "mate").membership_set.get()
    Membership.objects.filter(pk=member.pk).delete()
    with pytest.raises(Refused, match="meanwhile"):
        membership.change(member, Role.EDITOR, by=admin)
    with pytest.raises(Refused, match="meanwhile"):
        membership.remove(member, by=admin)


def test_members_see_each_other_and_no_button_that_would_be_refused(
    browser: Browser, team: Team
) -> None:
    mate = make.viewer(team, "mate")
    make.viewer(make.team("elsewhere"), "stranger")
    page = browser.get(PAGE)
    assert "mate" in page.words and "stranger" not in page.words
    assert not page.all("form", method="post", class_="panel stack")
    assert browser.post(f"{PAGE}{of(mate).pk}/remove/").status == 403


def test_who_is_in_no_team_is_told_who_adds_them() -> None:
    words = Browser(make.person("new")).get(PAGE).words
    assert "You are in no team yet." in words


def test_the_edge_of_every_page_leads_to_the_settings(browser: Browser) -> None:
    for path, current in (("/jobs/", ""), ("/settings/", "page"), (PAGE, "true")):
        (link,) = browser.get(path).all("a", class_="item only-wide", href="/settings/")
        assert link.attrs.get("aria-current", "") == current
