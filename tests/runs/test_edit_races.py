"""An edit, a pause, a resume, and many of them at once, against a claim: each in a process of its
own, around the very instant of the moment. What was due is worked out here from the versions that
came about; each such moment has one run, no other has any, and nobody waits for anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs import clock, editing
from jobs.definitions.definitions import Definition
from jobs.editing import Pause
from jobs.models import Job, JobVersion
from jobs.schedules.instants import canonical_instant, parse_instant
from jobs.shards import COUNT
from runs import claim
from runs.bounds import EVER
from runs.models import Run
from tests import make
from tests.races import ROUNDS, at_once
from tests.servers import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

ALL = list(range(COUNT))
SOON, AROUND, LATER = (timedelta(milliseconds=each) for each in (150, 30, 60))
WHY = Pause("race")


def hourly(at: datetime) -> dict[str, Any]:
    """From this instant on, so that one moment of it lies in the race."""
    return {"every": 3600, "anchor": canonical_instant(at)}


def a_job(at: datetime) -> Job:
    """All that is due of it fires, however late this machine is."""
    all_of_it = {"policy": "all", "window": 86_400}
    return make.job(make.team(), name=str(uuid4()), schedule=hourly(at), catch_up=all_of_it)


def soon() -> datetime:
    return clock.now() + SOON


def claims(until: datetime) -> None:
    """What a beat does, again and again."""
    while (now := clock.now()) < until:
        claim.due_jobs(now, shards=ALL, above=EVER)


def by_person(at: datetime, acts: Sequence[partial[Any]]) -> None:
    """A person's acts one after the other, from this instant on."""
    while clock.now() < at:
        pass
    for act in acts:
        act()


def around(at: datetime, dice: Random) -> datetime:
    return at + dice.uniform(-1, 1) * AROUND


def failures(outcomes: list[Any]) -> list[Any]:
    return [found for found in outcomes if isinstance(found, Exception)]


def due_by_history(job_id: UUID, until: datetime) -> list[datetime]:
    """The moments that the job's versions made due."""
    versions = list(JobVersion.objects.filter(job_id=job_id).order_by("number"))
    ends = [version.began_at for version in versions[1:]]
    found = []
    for version, end in zip(versions, [*ends, until], strict=True):
        moment = parse_instant(version.definition["schedule"][0]["anchor"], "anchor")
        if not version.definition["paused"] and version.began_at < moment <= end:
            found.append(moment)
    return found


def assert_each_moment_once(jobs: Sequence[Job]) -> None:
    now = clock.now()
    claim.due_jobs(now, shards=ALL, above=EVER)
    for job in jobs:
        runs = Run.objects.filter(job=job).values_list("due_at", flat=True)
        assert Counter(runs) == Counter(due_by_history(job.id, now))


def race(at: datetime, jobs: Sequence[Job], *people: Sequence[partial[Any]], dice: Random) -> None:
    outcomes = at_once(
        partial(claims, at + LATER),
        *(partial(by_person, around(at, dice), acts) for acts in people),
    )
    assert failures(outcomes) == []
    wait_until(lambda: clock.now() > at + LATER, seconds=30, what="the moment is over")
    assert_each_moment_once(jobs)


def test_an_edit_against_a_claim() -> None:
    """To a schedule whose moment comes a little earlier or later, by chance before the edit."""
    dice = Random(1)
    for _ in range(ROUNDS):
        at = soon()
        job, other = a_job(at), around(at, dice)
        edit = partial(editing.edit, job.id, _moved(job, other), by=None)
        race(at, [job], [edit], dice=dice)


def _moved(job: Job, at: datetime) -> Definition:
    all_of_it = {"policy": "all", "window": 86_400}
    return make.definition(name=job.name, schedule=hourly(at), catch_up=all_of_it)


def test_a_pause_against_a_claim() -> None:
    dice = Random(2)
    for _ in range(ROUNDS):
        at = soon()
        job = a_job(at)
        race(at, [job], [partial(editing.pause, job.id, WHY, by=None)], dice=dice)


def test_a_resume_against_a_claim() -> None:
    dice = Random(3)
    for _ in range(ROUNDS):
        at = soon()
        job = a_job(at)
        editing.pause(job.id, WHY, by=None)
        race(at, [job], [partial(editing.resume, job.id, by=None)], dice=dice)


def test_a_resume_against_the_end_of_a_pause() -> None:
    """The claim ends a pause as of its end, while a person ends it too, and another pauses."""
    dice = Random(4)
    for _ in range(ROUNDS):
        at = soon()
        job = a_job(at + AROUND / 2)
        editing.pause(job.id, Pause("race", until=at), by=None)
        resume = partial(editing.resume, job.id, by=None)
        pause = partial(editing.pause, job.id, WHY, by=None)
        race(at, [job], [resume], [pause], dice=dice)


def test_many_are_paused_and_resumed_in_different_orders_against_a_claim() -> None:
    dice = Random(5)
    for _ in range(ROUNDS):
        at = soon()
        jobs = [a_job(at) for _ in range(4)]
        pauses = [partial(editing.pause, job.id, WHY, by=None) for job in jobs]
        resumes = [partial(editing.resume, job.id, by=None) for job in jobs]
        dice.shuffle(resumes)
        race(at, jobs, pauses, resumes, list(reversed(pauses)), dice=dice)
