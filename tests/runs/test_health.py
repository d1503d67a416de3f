"""What supervisors, load balancers and Prometheus are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from jobs import clock
from jobs.models import Due, User
from runs.models import Beat
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


def test_a_process_that_answers_is_healthy_whatever_the_database_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "cursor", _down)
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_migrated_database_is_ready() -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


def test_a_missing_migration_is_named() -> None:
    MigrationRecorder.Migration.objects.filter(app="runs", name="0001_records").delete()
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert "runs.0001_records" in answer.json()["reason"]


def test_a_database_that_does_not_answer_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "cursor", _down)
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "the database does not answer"


def test_nothing_is_probed_by_post() -> None:
    assert [Client().post(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [
        405
    ] * 3


def test_metrics_tell_how_the_database_stands(settings: Any) -> None:
    settings.METRICS_OPEN = True
    job, now = make.job(make.team()), clock.now()
    for state in (State.DEAD, State.DEAD, State.CLAIMED, State.RUNNING, State.SUCCEEDED):
        make.run(job, state)
    Due.objects.update(at=now - timedelta(seconds=90))
    row = {"host": "h", "pid": 1, "tzdata": "t", "started_at": now}
    Beat.objects.create(name="live", seen_at=now, **row)
    Beat.objects.create(name="gone", seen_at=now - timedelta(minutes=1), **row)
    lines = Client().get("/metrics").content.decode().splitlines()
    facts = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert facts['onebeat_runs{state="DEAD"}'] == "2.0"
    assert facts['onebeat_runs{state="RUNNING"}'] == "1.0"
    assert facts['onebeat_runs{state="REVIEW"}'] == "0.0"
    assert 'onebeat_runs{state="SUCCEEDED"}' not in facts
    assert facts["onebeat_due_overdue"] == "1.0"
    assert float(facts["onebeat_due_lag_seconds"]) >= 90
    assert facts["onebeat_live_beats"] == "1.0"


def test_metrics_are_for_staff_and_their_tokens_unless_opened(settings: Any) -> None:
    team = make.team()
    secret, of_staff = make.token(team, make.viewer(team)), make.viewer(team, "staff")
    User.objects.filter(id=of_staff.id).update(is_staff=True)
    secret_of_staff = make.token(team, of_staff)
    staff, member = Client(), Client()
    staff.force_login(of_staff)
    member.force_login(make.operator(team))
    assert staff.get("/metrics").status_code == 200
    assert by_token(secret_of_staff) == 200
    assert by_token(secret) == 401, "the numbers are of every team"
    assert by_token("x") == 401
    assert member.get("/metrics").status_code == 401
    assert Client().get("/metrics").status_code == 401


def by_token(secret: str) -> int:
    client = Client(headers={"Authorization": f"Token {secret}"})
    return client.get("/metrics").status_code


def _down(*args: Any, **named: Any) -> None:
    raise OperationalError("no route to host")
