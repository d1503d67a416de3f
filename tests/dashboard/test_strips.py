"""Strips of outcomes: their shapes tell as much as their colours, and words tell it all."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Team
from runs.dashboard.stances import outcomes, strips
from runs.dashboard.stances.strips import Kind
from runs.states import State
from tests import make


def test_every_state_has_a_mark_and_each_kind_a_shape_of_its_own() -> None:
    drawn = [re.sub(r"^M\d+", "M", bar.d) for bar in strips.bars(list(State))]
    by_kind = {strips.kind(state): d for state, d in zip(State, drawn, strict=True)}
    assert len(set(by_kind.values())) == len(by_kind) == len(Kind)


def test_marks_stand_side_by_side_inside_the_strip() -> None:
    drawn = strips.strip([State.SUCCEEDED] * 20)
    assert drawn.width == 138
    assert [bar.x for bar in strips.bars([State.DEAD] * 3)] == [0, 7, 14]
    assert strips.strip([]).width == 0


def test_it_is_said_in_words() -> None:
    states = [State.SUCCEEDED, State.SUCCEEDED, State.DEAD, State.SKIPPED]
    said = "The last 4 runs, oldest first: 2 succeeded, 1 dead, 1 not carried out"
    assert strips.label(states) == said
    assert strips.label([State.RUNNING]) == "The last run: 1 under way"
    assert strips.label([]) == "No run yet"


@pytest.mark.django_db
def test_the_past_of_many_jobs_is_one_statement(team: Team) -> None:
    jobs = [make.job(team, name=str(number)) for number in range(5)]
    for job in jobs[1:]:
        for state in (State.DEAD, State.REVIEW, State.SUCCEEDED):
            make.run(job, state)
    with CaptureQueriesContext(connection) as queries:
        past = outcomes.past((job.id for job in jobs), 2)
    assert len(queries) == 1
    assert past[jobs[0].id].last is None
    for job in jobs[1:]:
        assert [one.state for one in past[job.id].runs] == ["REVIEW", "SUCCEEDED"]
