"""The Django admin: platform staff see everything, and write only what has no rule of its own."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import JSONField
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from jobs import editing, holds, maintenance
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Asked, Due, Job, Membership, Preference, Team, Token, User
from jobs.tokens import tokens
from runs.models import (
    Approval,
    Attempt,
    AuditReport,
    Beat,
    Decision,
    Delivery,
    HomeView,
    IdempotencyKey,
    Installation,
    Message,
    PollCount,
    ProbeAnswer,
    ReceiptKey,
    ReviewClaim,
    Run,
    Star,
    Tombstone,
    Tried,
    ZoneData,
)
from runs.states import State
from tests import make
from tests.api import Api

pytestmark = pytest.mark.django_db

OURS = [*apps.get_app_config("jobs").get_models(), *apps.get_app_config("runs").get_models()]
WRITTEN_HERE = (User, Team, Membership)
TAKEN_BACK = (Token, ZoneData)  # staff may
HISTORY = [model for model in OURS if model not in (*WRITTEN_HERE, *TAKEN_BACK)]


@pytest.fixture
def staff() -> User:
    return make.person("staff", is_staff=True, is_superuser=True)


@pytest.fixture
def client(staff: User) -> Client:
    client = Client()
    client.force_login(staff)
    return client


def url(model: Any, page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def one_of_each(team: Team, staff: User) -> None:
    """A row of every model, with secrets where they can stand."""
    headers = {"Authorization": "Bearer top-secret"}
    target = {"type": "http", "url": "https://ledger.example/", "headers": headers}
    job = make.job(team, by=staff, target=target)
    run = make.run(job, State.DEAD)
    now = job.created_at
    Preference.objects.create(user=staff, timezone="Asia/Tokyo")
    by = calendar_editing.Editor(staff, frozenset())
    calendar_editing.create("bank", calendar_content.read({}), by=by)
    make.token(team, make.operator(team))
    Attempt.objects.create(
        run=run, number=1, lease_id=run.id, worker="w", started_at=now, ended_at=now, outcome="x"
    )
    Decision.objects.create(
        run=run, by=staff, at=now, decision="replay", note="n", from_state="DEAD",
        to_state="CLAIMED", attempt=1,
    )  # fmt: skip
    later = now + timedelta(minutes=15)
    ReviewClaim.objects.create(run=run, by=staff, at=now, until=later)
    ProbeAnswer.objects.create(run=run, key=run.key, at=now, answer="did_not", by=staff)
    Approval.objects.create(team=team, run=run, act="run_again", by=staff, at=now, expires_at=later)
    IdempotencyKey.objects.create(
        key=run.key,
        run=run,
        fingerprint="f",
        holder=1,
        state="held",
        created_at=now,
        expires_at=now,
    )
    Beat.objects.create(name="b", host="h", pid=1, tzdata="2026.1", started_at=now, seen_at=now)
    make.backfill(job)
    make.replay(job)
    make.trial(job)
    make.marker(team)
    Tried.objects.create(job=job)
    Star.objects.create(user=staff, job=job)
    make.badge(team)
    PollCount.objects.create(user=staff, since=now, polls=1)
    counts = dict.fromkeys(("jobs", "due", "runs", "skipped", "pruned"), 1)
    AuditReport.objects.create(team=team, made_at=now, since=now, until=now, **counts)
    ReceiptKey.objects.create(public="p", private="sealed:k", created_at=now)
    holds.begin(team, "A move.", by=staff)
    begins_at = now + timedelta(hours=1)
    ends_at = begins_at + timedelta(hours=1)
    maintenance.plan(team, "A move.", begins_at, ends_at, by=staff)
    Installation.objects.create(identity="1/2", timeline=1, pulse=1, seen_at=now)
    Tombstone.objects.create(job=job, due_at=now, ending="SUCCEEDED")
    ZoneData.objects.create(version="2026a", seen_at=now)
    HomeView.objects.create(user=staff, view=make.view(team))
    address = "https://hooks.example/"
    channel = make.channel(team, "dead", by=staff, way="webhook", address=address)
    sending = Delivery.objects.create(channel=channel, created_at=now)
    Message.objects.create(channel=channel, event="dead:1", kind="dead", delivery=sending)
    Asked.objects.create(team=team, key="k", fingerprint="f", status=201, answer="sealed", at=now)


@pytest.mark.parametrize("model", OURS)
def test_every_model_is_listed_and_shown_without_secrets(
    model: Any, client: Client, team: Team, staff: User
) -> None:
    one_of_each(team, staff)
    row = model.objects.first()
    for page in (url(model, "changelist"), url(model, "change", row.pk)):
        answer = client.get(page)
        assert answer.status_code == 200
        text = answer.content.decode()
        assert "top-secret" not in text
        assert "sealed:" not in text
        assert Token.objects.get().digest not in text


@pytest.mark.parametrize("model", HISTORY)
def test_history_is_neither_added_nor_changed_nor_deleted(
    model: Any, client: Client, team: Team, staff: User
) -> None:
    one_of_each(team, staff)
    row = model.objects.first()
    before = list(model.objects.values())
    assert client.get(url(model, "add")).status_code == 403
    for page in (url(model, "add"), url(model, "change", row.pk), url(model, "delete", row.pk)):
        assert client.post(page, {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
    client.post(url(model, "changelist"), chosen)
    assert list(model.objects.values()) == before


def test_periodic_tasks_are_written_in_their_own_admin_and_run_by_no_other_way(
    client: Client,
) -> None:
    page = client.get(url(PeriodicTask, "add"))
    assert page.status_code == 200
    assert not re.search(r"<script(?![^>]*(src=|application/json))", page.content.decode())
    interval = IntervalSchedule.objects.create(every=1, period="minutes")
    PeriodicTask.objects.create(name="a", task="b", interval=interval)
    listed = client.get(url(PeriodicTask, "changelist")).content.decode()
    assert 'value="disable_tasks"' in listed
    assert "run_tasks" not in listed


@pytest.mark.parametrize("model", OURS)
def test_who_is_not_staff_sees_nothing(model: Any, team: Team) -> None:
    client = Client()
    client.force_login(make.member(team, "admin"))  # type: ignore[arg-type]
    assert client.get(url(model, "changelist")).status_code == 302


def test_a_list_of_history_counts_a_bounded_number_of_rows(
    client: Client, team: Team, django_assert_max_num_queries: Any
) -> None:
    """K139."""
    job = make.job(team)
    for _ in range(5):
        make.run(job)
    with django_assert_max_num_queries(8) as queries:
        client.get(url(Run, "changelist"))
    counts = [q["sql"] for q in queries.captured_queries if "COUNT(" in q["sql"]]
    assert counts
    assert all("LIMIT 10000" in sql for sql in counts)


@pytest.mark.parametrize("model", HISTORY)
def test_a_list_reads_no_wide_column(model: Any, client: Client, team: Team, staff: User) -> None:
    """K140: what a run called and what came back may be kilobytes a row, and no list shows it."""
    one_of_each(team, staff)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url(model, "changelist")).status_code == 200
    table, shown = model._meta.db_table, admin.site.get_model_admin(model).list_display
    for field in model._meta.concrete_fields:
        if isinstance(field, JSONField) and field.name not in shown:
            column = f'"{table}"."{field.column}"'
            assert not any(column in query["sql"] for query in queries.captured_queries)


def test_runs_are_filtered_by_state(client: Client, team: Team) -> None:
    job = make.job(team)
    dead, claimed = make.run(job, State.DEAD), make.run(job)
    text = client.get(url(Run, "changelist") + "?state=DEAD").content.decode()
    assert dead.key in text
    assert claimed.key not in text


# ── tokens ───────────────────────────────────────────────────────────────────────────────


def issue(client: Client, team: Team, user: User, **fields: str) -> Any:
    form = {"team": str(team.id), "user": str(user.pk), "name": "deploy", **fields}
    return client.post(url(Token, "add"), form, follow=True)


def test_a_token_is_issued_and_shown_once(client: Client, team: Team) -> None:
    first = issue(client, team, make.operator(team)).content.decode()
    shown = re.findall(r"ob_[0-9a-f]{8}_[\w-]{43}", first)
    assert len(shown) == 1
    assert Api(shown[0]).get("jobs/").status == 200
    again = client.get(url(Token, "changelist")).content.decode()
    assert shown[0] not in again
    assert shown[0] not in client.get(url(Token, "change", Token.objects.get().pk)).content.decode()


def test_a_token_is_never_edited_nor_deleted(client: Client, team: Team) -> None:
    token, _ = tokens.issue(team, make.operator(team), "deploy")
    assert client.post(url(Token, "change", token.id), {"name": "x"}).status_code == 403
    assert client.post(url(Token, "delete", token.id), {"post": "yes"}).status_code == 403
    assert Token.objects.get().name == "deploy"


@pytest.mark.parametrize(
    "ends", [{"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}, {"expires_at_0": "x"}]
)
def test_a_token_that_has_ended_is_not_issued(
    client: Client, team: Team, ends: dict[str, str]
) -> None:
    issue(client, team, make.operator(team), **ends)
    assert not Token.objects.exists()


def test_no_token_for_whoever_is_not_a_member(client: Client, team: Team) -> None:
    text = issue(client, team, make.outsider()).content.decode()
    assert "not a member of payments" in text
    assert not Token.objects.exists()


@pytest.mark.parametrize("wrong", [{"team": "1"}, {"user": "x"}])
def test_what_is_no_id_is_an_error_of_the_form(
    client: Client, team: Team, wrong: dict[str, str]
) -> None:
    form = {"team": str(team.id), "user": str(make.operator(team).pk), "name": "deploy", **wrong}
    answer = client.post(url(Token, "add"), form)
    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == list(wrong)
    assert not Token.objects.exists()
    assert client.get(url(Token, "add"), wrong).status_code == 200


def test_tokens_are_revoked(client: Client, team: Team) -> None:
    token, secret = tokens.issue(team, make.operator(team), "deploy")
    client.post(url(Token, "changelist"), {"action": "revoke", "_selected_action": [str(token.id)]})
    assert Api(secret).get("jobs/").status == 401


# ── jobs ─────────────────────────────────────────────────────────────────────────────────


def act(client: Client, action: str, *jobs: Job) -> str:
    chosen = {"action": action, "_selected_action": [str(job.id) for job in jobs]}
    answer = client.post(url(Job, "changelist"), chosen, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_jobs_are_paused_and_resumed_by_their_rules(
    client: Client, team: Team, staff: User
) -> None:
    job = make.job(team)
    assert "1 paused" in act(client, "pause", job)
    job.refresh_from_db()
    assert (job.paused, job.version) == (True, 2)
    assert not Due.objects.exists()
    assert job.jobversion_set.latest("number").by == staff
    assert "1 resumed" in act(client, "resume", job)
    assert Due.objects.get().job == job


def test_a_mirrored_and_a_deleted_job_are_said_to_be_so(client: Client, team: Team) -> None:
    mirrored, deleted = make.job(team, name="mirrored"), make.job(team, name="gone")
    Job.objects.filter(id=mirrored.id).update(periodic_task_id=1)
    editing.delete(deleted.id, by=None)
    text = act(client, "pause", mirrored, deleted)
    assert "0 paused" in text
    assert "PeriodicTask" in text
    assert "“gone” was deleted" in text


def test_staff_who_may_only_view_jobs_pause_none(team: Team) -> None:
    reader = make.person("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_job"))
    client, job = Client(), make.job(team)
    client.force_login(reader)
    act(client, "pause", job)
    job.refresh_from_db()
    assert not job.paused
