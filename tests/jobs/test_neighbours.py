"""How many other jobs are due in the same minute: a number across all teams."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from jobs import clock, editing
from jobs.foresight import neighbours
from jobs.models import Due, Job
from jobs.schedules.schedules import canonical_instant
from tests import make

pytestmark = pytest.mark.django_db


def at(moment: datetime, name: str, team: str = "payments") -> Job:
    return make.job(make.team(team), name=name, schedule={"at": canonical_instant(moment)})


def minute() -> datetime:
    return (clock.now() + timedelta(days=2)).replace(second=0, microsecond=0)


def test_jobs_of_every_team_in_the_minute_are_counted_and_itself_is_not() -> None:
    here = minute()
    mine = at(here + timedelta(seconds=10), "mine")
    at(here, "first second")
    at(here + timedelta(seconds=59, microseconds=999_999), "last instant", "elsewhere")
    at(here - timedelta(microseconds=1), "before")
    at(here + timedelta(minutes=1), "after")
    moments = [here + timedelta(seconds=30), here + timedelta(minutes=1), here]
    assert neighbours.due_with(moments, mine.id) == [2, 1, 2]
    assert neighbours.due_with([here]) == [3]


def test_the_end_of_a_pause_is_no_moment() -> None:
    here = minute()
    paused = make.job(make.team(), name="paused")
    editing.pause(paused.id, editing.Pause("a move", here), by=None)
    assert Due.objects.get(job=paused).at == here
    assert neighbours.due_with([here]) == [0]


def test_counting_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    here = minute()
    for number in range(4):
        at(here, f"job {number}")
    monkeypatch.setattr(neighbours, "MOST", 3)
    assert neighbours.due_with([here]) == [3]
