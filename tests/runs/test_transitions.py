"""The one way from one state to another: by an edge of the picture, under the token."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks
from structlog.testing import capture_logs

from jobs import clock
from runs import transitions
from runs.models import Run
from runs.states import EDGES, FINAL, STARTABLE, State
from tests import make

pytestmark = pytest.mark.django_db

_MORE: dict[State, dict[str, Any]] = {
    State.DEAD: {"error_group": uuid4()},
    State.REVIEW: {"review_class": "unknown", "reason": "No answer came."},
    State.WAITING: {"reason": "Waits for another run to end."},
}
_PAIRS = [(a, b) for a in State for b in State if b is not State.RUNNING and b is not State.SKIPPED]


@pytest.mark.parametrize(("was", "to"), _PAIRS)
def test_a_run_moves_along_the_edges_and_nowhere_else(was: State, to: State) -> None:
    run = make.run(make.job(make.team()), was)
    moved = transitions.move(run.id, to, token=run.attempt, send_in=60, **_MORE.get(to, {}))
    assert moved is (to in EDGES[was])
    assert Run.objects.get(id=run.id).state == (to if moved else was)


@pytest.mark.parametrize("to", [State.SUCCEEDED, State.RETRYING, State.DEAD, State.CANCELLED])
def test_another_token_moves_nothing(to: State) -> None:
    run = make.run(make.job(make.team()), State.RUNNING, attempt=2)
    assert not transitions.move(run.id, to, token=1)
    assert not transitions.move(run.id, to, token=3)
    assert transitions.move(run.id, to, token=2, **_MORE.get(to, {}))


def test_who_comes_second_is_told_no() -> None:
    run = make.run(make.job(make.team()), State.RUNNING)
    assert transitions.move(run.id, State.SUCCEEDED, token=1)
    assert not transitions.move(run.id, State.DEAD, token=1)
    assert Run.objects.get(id=run.id).state == State.SUCCEEDED


@pytest.mark.parametrize(
    ("to", "level"),
    [
        (State.RETRYING, "info"),
        (State.SUCCEEDED, "info"),
        (State.DEAD, "warning"),
        (State.REVIEW, "warning"),
    ],
)
def test_the_log_says_why_and_what_waits_for_a_person_stands_out_of_it(
    to: State,
    level: str,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    run = make.run(make.job(make.team()), State.RUNNING)
    more = {**_MORE.get(to, {}), "reason": "It answered 503."}
    with capture_logs() as logs, django_capture_on_commit_callbacks(execute=True):
        assert transitions.move(run.id, to, token=1, **more)
    (line,) = [line for line in logs if line.get("run") == str(run.id)]
    assert (line["event"], line["log_level"]) == (f"run.{to.lower()}", level)
    assert line.get("reason") == (None if to is State.SUCCEEDED else "It answered 503.")


@pytest.mark.parametrize("to", [State.RETRYING, State.SUCCEEDED, State.DEAD])
def test_the_columns_that_the_state_dictates_go_with_it(to: State) -> None:
    run = make.run(make.job(make.team()), State.RUNNING)
    before = clock.now()
    assert transitions.move(run.id, to, token=1, send_in=60, failures=1, **_MORE.get(to, {}))
    moved = Run.objects.get(id=run.id)
    assert moved.lease_until is None
    assert (moved.finished_at is not None) is (to in FINAL)
    assert (moved.died_at is not None) is (to is State.DEAD)
    assert (moved.send_at is not None) is (to in STARTABLE)
    if moved.send_at is not None:
        assert 59 < (moved.send_at - before).total_seconds() < 70
    assert moved.failures == 1
