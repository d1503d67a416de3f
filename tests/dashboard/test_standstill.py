"""A beat or a worker that is away is told at the head of every page, and by the poll of each."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from jobs import clock
from jobs.models import Due, Team, User
from runs import standstill
from runs.models import Attempt, Beat
from runs.standstill import Kind
from runs.states import State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db

LONG = timedelta(seconds=90)
PAGES = ("/", "/jobs/", "/runs/", "/review/", "/dead-letters/", "/settings/", "/audit/")


def beat(seen: timedelta = timedelta()) -> None:
    """A beat that was seen so long ago."""
    at = clock.now() - seen
    row = {"host": "here", "pid": 1, "tzdata": "", "started_at": at, "seen_at": at}
    Beat.objects.update_or_create(name="here-1", defaults=row)


def kind() -> Kind | None:
    found = standstill.look()
    return found.kind if found else None


def test_without_a_beat_every_page_says_that_nothing_is_claimed(browser: Browser) -> None:
    for path in PAGES:
        words = browser.get(path).words
        assert "Nothing is claimed: no beat is at work" in words, path
        assert "Tell the platform’s staff" in words, path


def test_no_page_says_so_where_all_is_well(browser: Browser, team: Team) -> None:
    beat(-LONG)  # it stays live for as long as this test takes
    make.run(make.job(team), State.ENQUEUED, sent_at=clock.now())
    for path in PAGES:
        assert not browser.get(path).all("p", class_="notice hold still"), path


def test_a_beat_that_is_started_anew_is_waited_for() -> None:
    beat(timedelta(seconds=5))
    assert kind() is None
    beat(timedelta(seconds=30))
    assert kind() is Kind.BEATS


def test_a_moment_that_no_beat_comes_to_is_told(browser: Browser, team: Team) -> None:
    beat(-LONG)
    job = make.job(team)
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=30))
    assert kind() is None
    Due.objects.filter(job=job).update(at=clock.now() - LONG)
    assert kind() is Kind.CLAIMS
    assert "Moments that are due lie unclaimed" in browser.get("/runs/").words


def test_a_queue_without_a_worker_is_told_and_a_long_one_is_not(
    browser: Browser, team: Team
) -> None:
    beat(-LONG)
    waits = make.run(make.job(team), State.ENQUEUED, sent_at=clock.now() - LONG)
    assert kind() is Kind.QUEUES
    assert "No worker takes from the queue default" in browser.get("/runs/").words
    other = make.run(waits.job, State.RUNNING)
    row = {"number": 1, "worker": "w", "lease_id": other.lease_id, "started_at": clock.now()}
    Attempt.objects.create(run=other, **row)
    assert kind() is None


def test_staff_are_told_what_to_start(team: Team, operator: User) -> None:
    operator.is_staff = True
    operator.save()
    assert "celery -A config beat" in Browser(operator).get("/runs/").words
    beat(-LONG)
    make.run(make.job(team), State.ENQUEUED, sent_at=clock.now() - LONG)
    assert "celery -A config worker -Q default" in Browser(operator).get("/runs/").words


def test_the_poll_of_every_page_brings_it_and_takes_it_away(operator: User) -> None:
    client = Client()
    client.force_login(operator)
    away = client.get("/counts/", headers={"HX-PTag": "//"})
    assert "no beat is at work" in away.content.decode()
    assert client.get("/counts/", headers={"HX-PTag": "//beats"}).status_code == 304
    beat(-LONG)
    back = client.get("/counts/", headers={"HX-PTag": "//beats"})
    assert back.status_code == 200
    assert "no beat is at work" not in back.content.decode()
    assert client.get("/counts/", headers={"HX-PTag": "//"}).status_code == 304
