"""Runs in review, made for tests, and what decides about them in one word."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from jobs import clock
from jobs.models import Job, Team, User
from runs.models import Attempt, Run
from runs.outcomes import Kind
from runs.review import deciding
from runs.states import State
from tests import make


def waits(team: Team, *, since: timedelta = timedelta(), job: Job | None = None, **run: Any) -> Run:
    """A run that waits in review since so long ago."""
    job = job or make.job(team, name=f"settle-{uuid4()}", idempotent=False)
    return make.run(job, State.REVIEW, **{"review_at": clock.now() - since, **run})


def job_with(team: Team, **fields: Any) -> Job:
    """A job that is not safe to repeat, with what review goes by as its columns."""
    job = make.job(team, name=f"settle-{uuid4()}", idempotent=False, **fields)
    return job


def attempt(run: Run, *, started: timedelta, **more: Any) -> Attempt:
    """An attempt of which nothing was heard, begun so long ago."""
    began = clock.now() - started
    row = {"intent_at": began, "ended_at": clock.now(), "outcome": Kind.UNKNOWN, "worker": "w"}
    return Attempt.objects.create(
        run=run, number=run.attempt, lease_id=uuid4(), started_at=began, **{**row, **more}
    )


def decide(run: Run, choice: deciding.Choice, by: User, **more: Any) -> Run:
    return deciding.decide(run.id, choice, token=None, note="Looked.", by=by, **more)


def since(moment: datetime | None) -> float:
    assert moment is not None
    return (clock.now() - moment).total_seconds()
