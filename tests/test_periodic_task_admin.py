"""PeriodicTask rows in the Django admin: staff are told what will not run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import (
    ClockedSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from jobs import clock
from jobs.models import User
from jobs.task_registry import job_task
from tests import make

pytestmark = pytest.mark.django_db


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


# ── rows of django-celery-beat ───────────────────────────────────────────────────────────


@job_task("tests.admin")
def _admin() -> None:
    """What the rows of these tests call."""


def save_row(client: Client, **fields: str) -> str:
    interval = IntervalSchedule.objects.create(every=10, period="minutes")
    form = {"name": "row", "enabled": "on", "interval": str(interval.pk), "args": "[]"}
    form |= {"kwargs": "{}", "headers": "{}", "regtask": "tests.admin", **fields}
    answer = client.post(url(PeriodicTask, "add"), form, follow=True)
    assert PeriodicTask.objects.filter(name="row").exists(), answer.context["errors"]
    return " ".join(answer.content.decode().split())


def test_a_row_names_a_task_out_of_those_that_may_run(client: Client, settings: Any) -> None:
    settings.BEAT_TASKS = ["reports.*"]
    current_app.task(name="reports.daily")(_admin)
    html = client.get(url(PeriodicTask, "add")).content.decode()
    assert '<option value="tests.admin">' in html
    assert '<option value="reports.daily">' in html
    assert '<option value="celery.' not in html
    assert "is paused" not in save_row(client)
    assert PeriodicTask.objects.get(name="row").task == "tests.admin"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"regtask": "", "task": "os.remove"}, "The task os.remove is not allowed"),
        ({"args": "{}"}, "target.args"),
    ],
)
def test_a_row_whose_job_will_not_run_is_saved_with_the_reason_why(
    client: Client, fields: dict[str, str], reason: str
) -> None:
    text = save_row(client, **fields)
    assert "The job of this row is paused." in text
    assert reason in text


def test_a_row_that_is_disabled_is_not_warned_of(client: Client) -> None:
    assert "is paused" not in save_row(client, regtask="", task="os.remove", enabled="")


def test_a_solar_row_is_saved_with_the_reason_why(client: Client) -> None:
    solar = SolarSchedule.objects.create(event="sunset", latitude=52, longitude=13)
    assert "a solar event" in save_row(
        client, interval="", solar=str(solar.pk), regtask="tests.admin"
    )


def test_the_form_of_a_row_holds_none_of_the_schedules_there_are(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    """K138: with a million one-off schedules a drop-down of them would not come back."""
    soon = clock.now() + timedelta(days=1)
    ClockedSchedule.objects.bulk_create(
        [ClockedSchedule(clocked_time=soon + timedelta(minutes=n)) for n in range(2_000)]
    )
    with django_assert_max_num_queries(8):
        page = client.get(url(PeriodicTask, "add"))
    assert len(page.content) < 50_000
    assert page.content.decode().count("<option") < 60
