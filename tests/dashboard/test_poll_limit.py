"""Who asks for news too often is told when to come back, and is not kept signed in by it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.db.models import F
from django.test import Client

from jobs import clock
from jobs.models import Team
from runs.dashboard.live import poll_limit
from runs.models import PollCount
from tests import make
from tests.races import at_once

pytestmark = pytest.mark.django_db
POLL = {"HX-PTag": "of before", "HX-Request": "true"}
MINUTE = timedelta(minutes=1)


@pytest.fixture
def client(team: Team, settings: Any) -> Client:
    settings.POLLS = 2
    client = Client()
    client.force_login(make.viewer(team))
    return client


def test_a_poll_too_many_is_429_and_says_when_to_come_back(client: Client) -> None:
    """All regions count together; a page that a person opens counts for nothing."""
    ends = Session.objects.get().expire_date
    for where in ("/runs/live/", "/counts/"):
        assert client.get(where, headers=POLL).status_code == 200
    refused = client.get("/review/live/", headers=POLL)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert f"Ask again in {refused.headers['Retry-After']} s." in refused.content.decode()
    assert refused.headers["HX-PTag"] == "of before"
    assert Session.objects.get().expire_date == ends
    assert client.get("/review/").status_code == 200


def test_what_is_refused_looks_nothing_up(client: Client, django_assert_num_queries: Any) -> None:
    PollCount.objects.create(user_id=client.session["_auth_user_id"], since=clock.now(), polls=2)
    with django_assert_num_queries(3):  # session, person, count
        assert client.get("/runs/live/", headers=POLL).status_code == 429


def test_the_next_minute_begins_anew_and_others_poll_on(client: Client, team: Team) -> None:
    statuses = [client.get("/counts/", headers=POLL).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    other = Client()
    other.force_login(make.operator(team))
    assert other.get("/counts/", headers=POLL).status_code == 200
    PollCount.objects.update(since=F("since") - MINUTE)
    assert client.get("/counts/", headers=POLL).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_all_processes_count_together(team: Team) -> None:
    person = make.viewer(team)
    for _ in range(5):
        at_once(*[partial(poll_limit.wait, person.id)] * 4)
    assert PollCount.objects.get().polls == 20


def test_the_count_writes_no_write_ahead_log() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select relpersistence from pg_class where relname = 'runs_pollcount'")
        assert cursor.fetchone() == ("u",)
