"""A token opens its person's role in its one team, and nothing once that has ended."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from jobs import clock
from jobs.models import Membership, Team, Token, User
from jobs.tokens import tokens
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db


def test_what_is_stored_opens_nothing(team: Team, operator: User) -> None:
    token, secret = tokens.issue(team, operator, "deploy")
    assert secret.startswith(token.prefix)
    assert len(token.prefix) == len("ob_") + 8
    assert len(secret.removeprefix(token.prefix).lstrip("_")) >= 42  # 256 bits in base64
    row = Token.objects.values().get()
    assert row["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    assert secret not in map(str, row.values())
    assert Api(row["digest"]).get("jobs/").status == 401
    assert Api(token.prefix).get("jobs/").status == 401
    assert Api(secret).get("jobs/").status == 200


def test_two_tokens_differ(team: Team, operator: User) -> None:
    assert make.token(team, operator) != make.token(team, operator)


@pytest.mark.parametrize(
    "header",
    [
        "Token",
        "Token ",
        "Token ob_wrong",
        "Token é",
        "Bearer {}",
        "Basic {}",
        "{}",
        "Token {}x",
        "Token {} {}",
    ],
)
def test_no_other_header_signs_in(team: Team, operator: User, header: str) -> None:
    secret = make.token(team, operator)
    api = Api()
    api.client.defaults["HTTP_AUTHORIZATION"] = header.format(secret, secret)
    answer = api.get("jobs/")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Token")


def test_neither_address_nor_session_signs_in(team: Team, operator: User) -> None:
    secret = make.token(team, operator)
    api = Api()
    assert api.get(f"jobs/?token={secret}").status == 401
    api.client.force_login(operator)
    assert api.get("jobs/").status == 401


def test_a_token_ends_with_its_expiry(team: Team, operator: User) -> None:
    now = clock.now()
    _, ended = tokens.issue(team, operator, "ended", now - timedelta(seconds=1))
    _, open_still = tokens.issue(team, operator, "open", now + timedelta(hours=1))
    assert Api(ended).get("jobs/").status == 401
    assert Api(open_still).get("jobs/").status == 200


def test_a_token_ends_with_its_revocation(team: Team, operator: User) -> None:
    token, secret = tokens.issue(team, operator, "deploy")
    assert tokens.revoke(token.id)
    assert not tokens.revoke(token.id)
    assert Api(secret).get("jobs/").status == 401


def test_a_token_ends_with_its_person(team: Team, operator: User) -> None:
    api = Api.of(team, operator)
    User.objects.filter(id=operator.id).update(is_active=False)
    assert api.get("jobs/").status == 401


def test_a_token_ends_with_the_membership_one_request_later(team: Team, operator: User) -> None:
    api = Api.of(team, operator)
    assert api.get("jobs/").status == 200
    Membership.objects.filter(user=operator).delete()
    assert api.get("jobs/").status == 401


def test_a_token_follows_the_role_one_request_later(team: Team, operator: User) -> None:
    api, job = Api.of(team, operator), make.job(team)
    assert api.post(f"jobs/{job.id}/pause/").status == 200
    Membership.objects.filter(user=operator).update(role="viewer")
    assert api.post(f"jobs/{job.id}/resume/").status == 403


def test_a_token_does_not_reach_its_persons_other_teams(team: Team, operator: User) -> None:
    other = make.team("other")
    Membership.objects.create(team=other, user=operator, role="admin")
    job = make.job(other)
    api = Api.of(team, operator)
    assert api.get("jobs/").body["results"] == []
    assert api.get(f"jobs/{job.id}/").status == 404
    assert Api.of(other, operator).get(f"jobs/{job.id}/").status == 200


def test_its_use_is_noted_once_a_minute(team: Team, operator: User) -> None:
    token, secret = tokens.issue(team, operator, "deploy")
    Api(secret).get("jobs/")
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    Api(secret).get("jobs/")
    token.refresh_from_db()
    assert token.last_used_at == first
    Token.objects.update(last_used_at=first - timedelta(minutes=2))
    Api(secret).get("jobs/")
    token.refresh_from_db()
    assert token.last_used_at is not None
    assert token.last_used_at >= first


def test_a_token_chosen_elsewhere_is_adopted_once(team: Team, operator: User) -> None:
    first = tokens.adopt(team, operator, "demo", "chosen-elsewhere-0123456789")
    tokens.revoke(first.id)
    assert tokens.adopt(team, operator, "demo", "chosen-elsewhere-0123456789").id == first.id
    assert Api("chosen-elsewhere-0123456789").get("jobs/").status == 200
