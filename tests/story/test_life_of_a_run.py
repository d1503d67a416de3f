"""A job is registered; a beat finds it due, a worker carries it out: one run, one effect."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from config import brokers
from jobs import clock
from jobs.models import Team
from jobs.schedules.instants import canonical_instant
from runs.models import IdempotencyKey, Run
from tests import servers
from tests.story.conftest import register
from tests.story.processes import Product, wait_for

pytestmark = pytest.mark.story


@pytest.fixture(params=["pgmq", "rabbitmq", "redis"])
def broker_url(request: pytest.FixtureRequest, product_url: str) -> str:
    if request.param == "pgmq":
        return brokers.pgmq_url(product_url)
    server: servers.Server = request.getfixturevalue(request.param)
    return server.url


@pytest.mark.timeout(120)
def test_a_job_due_in_three_seconds_succeeds_within_five_of_its_moment(
    product: Product, team: Team
) -> None:
    target = product.target()
    product.beat(), product.worker()
    product.up()
    due = clock.now() + timedelta(seconds=3)
    body = {"of": "the day"}
    http = {"type": "http", "url": f"{target.url}/", "headers": {"X-Own": "yes"}, "body": body}
    job = register(team, "settle", {"at": canonical_instant(due)}, http, idempotent=False)

    run = wait_for(lambda: Run.objects.filter(job=job).first(), "SUCCEEDED", seconds=8)

    assert clock.now() <= due + timedelta(seconds=5)
    assert run.due_at == due  # to the microsecond
    assert run.created_at >= due
    assert run.key == f"{job.id}:{canonical_instant(due)}"
    assert (run.attempt, run.failures, run.sends, run.effect) == (1, 0, 1, "done")
    assert len(target.entries(run.key, "in")) == len(target.entries(run.key, "acted")) == 1
    assert [entry["attempt"] for entry in target.entries(run.key, "in")] == ["1"]
    _tells_its_story(run)
    assert Run.objects.count() == 1
    assert product.errors() == []


def _tells_its_story(run: Run) -> None:
    (attempt,) = run.attempts.all()
    assert attempt.outcome == "succeeded"
    assert run.due_at is not None
    times: list[Any] = [
        run.due_at,
        run.created_at,
        run.started_at,
        attempt.intent_at,
        run.finished_at,
    ]
    assert times == sorted(times)
    sent = attempt.sent["headers"]
    assert sent["Idempotency-Key"] == run.key
    assert sent["Onebeat-Job"] == str(run.job_id)
    assert sent["Onebeat-Run"] == str(run.id)
    assert sent["Onebeat-Attempt"] == "1"
    assert sent["Onebeat-Scheduled-For"] == canonical_instant(run.due_at)
    assert sent["X-Own"] == "yes"
    assert sent["webhook-signature"]
    key = IdempotencyKey.objects.get(key=run.key, step="")
    assert (key.state, key.holder) == ("done", 1)


@pytest.mark.timeout(120)
def test_a_job_whose_target_answers_500_is_tried_again_with_the_same_key_until_it_is_dead(
    product: Product, team: Team
) -> None:
    target = product.target()
    product.beat(), product.worker()
    product.up()
    at = canonical_instant(clock.now() + timedelta(seconds=2))
    http = {"type": "http", "url": f"{target.url}/status/500"}
    retries = {"max_attempts": 3, "backoff": 1, "cap": 1}
    job = register(team, "rotate", {"at": at}, http, retries=retries)

    run = wait_for(lambda: Run.objects.filter(job=job).first(), "DEAD", seconds=40)

    assert (run.attempt, run.failures, run.effect) == (3, 3, "maybe")
    assert [entry["attempt"] for entry in target.entries(run.key, "in")] == ["1", "2", "3"]
    assert [attempt.outcome for attempt in run.attempts.all()] == ["failed"] * 3
