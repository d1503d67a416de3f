"""The crash matrix: a strike at each point, by every action that applies, for both kinds of job;
then everything heals, and what is left is right.

A beat that stands still holds what it has locked while another claims (C29); a worker that does
wakes past its lease (C22); a database that is cut off is lost at each step (C32)."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from jobs import clock
from jobs.models import Due, Job
from runs import faults
from runs.faults import Action
from runs.models import Run
from tests.crash import stage
from tests.crash.cast import due_now
from tests.crash.stage import QUEUES, Played
from tests.crash.table import POINTS, Case, cases
from tests.story.processes import ExampleTarget

OF_THE_OUTBOX = ("tell.", "dead.before_notify")  # C26: tests/runs/test_notify.py
_A_WHILE = {"intent.commit_unknown", "intent.after_commit"}  # before the effect: fenced by time


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_what_is_left_after_a_strike_is_right(
    stage_url: str, target: ExampleTarget, case: Case
) -> None:
    play(case, stage_url, target)


def test_every_point_of_the_code_is_in_the_matrix() -> None:
    elsewhere = {point for point in faults.POINTS if point.startswith(OF_THE_OUTBOX)}
    assert set(POINTS) == faults.POINTS - elsewhere


def play(case: Case, url: str, target: ExampleTarget) -> None:
    """Strike, heal, and look; raises AssertionError for what is not right."""
    jobs = _cast(case, target)
    heal = partial(stage.heal, url, [job.id for job in jobs])
    with _struck(case, url, jobs) as struck:
        assert _as_meant(case.action, struck.wait()), "the point was not reached"
        if case.action is Action.HANG:
            if case.point in _A_WHILE:
                stage.past_the_lease(clock.now())
            assert stage.forked(heal).wait() == 0
            before = _left(jobs, target)
            assert struck.go_on() == 0
            assert _left(jobs, target) == before, "it woke up and did harm"
    assert stage.forked(heal).wait() == 0
    for job in jobs:
        check(case, job, target)


# ── the cast ─────────────────────────────────────────────────────────────────────────────


def _cast(case: Case, target: ExampleTarget) -> list[Job]:
    """The case's job, due now; where a batch is cut in the middle, one on each queue."""
    queues = QUEUES if case.point == "send.midway" else QUEUES[:1]
    url = f"{target.url}/drop" if case.point == "retry.after_commit" else f"{target.url}/"
    return due_now(*({"idempotent": case.idempotent, "queue": queue} for queue in queues), url=url)


# ── the strike ───────────────────────────────────────────────────────────────────────────


def _struck(case: Case, url: str, jobs: list[Job]) -> Played:
    hit = 2 if case.point == "send.midway" else 1
    strikes = [f"{case.point}:{case.action}:{hit}"]
    beat = partial(stage.beat, url)
    if case.who == "beat" and case.point != "rescue.before_mark":
        return stage.forked(beat, strikes)
    stage.send(url, [job.id for job in jobs])
    if case.who == "worker":
        return stage.forked(stage.work, strikes)
    stage.lose_messages()
    stage.time_passes()
    return stage.forked(beat, strikes)


def _as_meant(action: Action, status: int) -> bool:
    """Whether the process ended, or stands still, as this action makes it; one in which the
    point was not passed ends with an error."""
    match action:
        case Action.KILL:
            return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        case Action.HANG:
            return os.WIFSTOPPED(status)
        case _:
            return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


# ── what is left ─────────────────────────────────────────────────────────────────────────


def _left(jobs: list[Job], target: ExampleTarget) -> list[Any]:
    columns = ("id", "state", "attempt", "failures", "effect", "review_class")
    runs = Run.objects.filter(job__in=jobs).order_by("id")
    requests = [(len(target.entries(run.key, "in"))) for run in runs]
    return [*runs.values_list(*columns), requests]


def check(case: Case, job: Job, target: ExampleTarget) -> None:
    """Compare what is left of the job with what is right after this strike."""
    run = Run.objects.get(job=job)  # the moment has this one
    right = case.right
    acted, calls = target.entries(run.key, "acted"), target.entries(run.key, "in")
    assert (run.state, run.review_class) == (right.state, right.review_class), run.reason
    assert run.attempt in right.attempts
    assert len(acted) in right.acted
    attempts = [attempt.number for attempt in run.attempts.all()]
    assert attempts == list(range(1, run.attempt + 1))
    numbers = [int(call["attempt"]) for call in calls]
    assert len(set(numbers)) == len(numbers) and set(numbers) <= set(attempts)
    late = run.attempts.filter(late__isnull=False)
    assert late.exists() == right.late
    assert run.due_at is not None
    assert Due.objects.get(job=job).at == run.due_at + timedelta(days=1)
