"""The demo that `manage.py up` seeds: complete at the first start, left alone at the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs import clock, editing, offer, stored
from jobs.definitions import definitions
from jobs.models import Due, Job, JobVersion, Membership, Token, User
from jobs.schedules import schedules
from jobs.task_registry import RunContext, running
from jobs.tokens import tokens
from runs import demo
from runs.demo import Demo

pytestmark = pytest.mark.django_db

DEMO = Demo("operator", "a password", "a-token-of-the-demo", "http://127.0.0.1:9000/")


@pytest.fixture(autouse=True)
def _target_is_allowed(settings: Any) -> None:
    settings.EGRESS_ALLOW = "127.0.0.1/32"


def job(name: str) -> Job:
    return Job.objects.get(team__slug="demo", name=name)


def test_four_jobs_a_person_and_a_token_stand_ready() -> None:
    demo.seed(DEMO)
    user = User.objects.get(username="operator")
    assert user.check_password("a password") and user.is_staff
    assert Membership.objects.get(user=user, team__slug="demo").role == "admin"
    held = tokens.holding(DEMO.token)
    assert held is not None and held.team.slug == "demo"
    assert set(Job.objects.values_list("name", "idempotent", "paused")) == {
        ("hello", True, False),
        ("rotate-certificate", True, False),
        ("settle-accounts", False, False),
        ("close-the-year", False, True),
    }
    assert job("settle-accounts").target["url"] == "http://127.0.0.1:9000/drop"
    assert Due.objects.count() == 3


@pytest.mark.parametrize("second", [0, 30, 44, 45, 59])
def test_the_job_for_the_review_fires_within_the_next_minute_or_so(second: int) -> None:
    for minute in range(60):
        now = datetime(2026, 11, 29, 23, minute, second, tzinfo=UTC)
        (cron,) = schedules.parse({"cron": demo._every_five_minutes_from(now)}, now=now)
        first, following = schedules.moments((cron,), now, 2)
        assert timedelta(seconds=15) <= first - now <= timedelta(seconds=75)
        assert following - first <= timedelta(minutes=5)


def test_a_second_start_changes_nothing() -> None:
    demo.seed(DEMO)
    before = list(JobVersion.objects.values_list("id", "definition"))
    demo.seed(DEMO)
    assert list(JobVersion.objects.values_list("id", "definition")) == before
    assert (User.objects.count(), Token.objects.count()) == (1, 1)


def test_what_a_person_has_changed_stays() -> None:
    demo.seed(DEMO)
    user = User.objects.get()
    user.set_password("another")
    user.save()
    tokens.revoke(Token.objects.get().id)
    editing.delete(job("hello").id, by=user)
    editing.resume(job("close-the-year").id, by=user)
    edited = job("rotate-certificate")
    shape = {**stored.shape(edited), "description": "mine"}
    for field in ("finished", "deleted"):
        del shape[field]
    definition = definitions.read(shape, now=clock.now(), known=offer.offered())
    editing.edit(edited.id, definition, by=user)
    demo.seed(Demo("operator", "a password", DEMO.token, "http://127.0.0.1:9999/"))
    user.refresh_from_db()
    assert user.check_password("another")
    assert tokens.holding(DEMO.token) is None
    assert not Job.objects.filter(name="hello", deleted_at=None).exists()
    assert not job("close-the-year").paused
    assert job("rotate-certificate").description == "mine"
    assert job("rotate-certificate").target["url"] == "http://127.0.0.1:9000/"


def test_the_address_of_the_target_is_kept_up_with_and_nothing_else_moves() -> None:
    demo.seed(DEMO)
    before = job("settle-accounts").schedule
    demo.seed(Demo("operator", "a password", DEMO.token, "http://127.0.0.1:9999/"))
    assert job("settle-accounts").target["url"] == "http://127.0.0.1:9999/drop"
    assert job("settle-accounts").schedule == before
    assert job("close-the-year").paused and job("close-the-year").paused_reason


def test_the_task_greets_and_names_its_key() -> None:
    with running(RunContext("a-key", "run", "job", None, 1)):
        assert demo.hello("you") == {"said": "Hello, you!", "key": "a-key"}


def test_the_command_takes_its_secrets_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("seed_demo", "--username", "operator", "--target-url", DEMO.target_url)
    monkeypatch.delenv("ONEBEAT_DEMO_PASSWORD", raising=False)
    with pytest.raises(CommandError, match="ONEBEAT_DEMO_PASSWORD") as refused:
        call_command(*words)
    assert refused.value.returncode == 2 and not User.objects.exists()
    monkeypatch.setenv("ONEBEAT_DEMO_PASSWORD", "a password")
    monkeypatch.setenv("ONEBEAT_DEMO_TOKEN", DEMO.token)
    call_command(*words)
    assert User.objects.get().username == "operator"


def test_a_target_that_is_no_address_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONEBEAT_DEMO_PASSWORD", "a password")
    monkeypatch.setenv("ONEBEAT_DEMO_TOKEN", DEMO.token)
    with pytest.raises(CommandError, match="url"):
        call_command("seed_demo", "--username", "operator", "--target-url", "nowhere")
    assert not User.objects.exists()


def test_secrets_are_not_in_the_repr() -> None:
    assert "a password" not in repr(DEMO) and DEMO.token not in repr(DEMO)
