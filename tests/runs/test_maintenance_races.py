"""A maintenance window and something else at one instant: it begins once, or it does not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from jobs import holds, maintenance
from jobs.models import AuditEvent, Hold, MaintenanceWindow
from runs import start
from runs.states import State
from tests import make
from tests.races import ROUNDS, at_once

FEW = max(5, ROUNDS // 4)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    for hold in Hold.objects.filter(ended_at=None):
        holds.end(hold.id, by=None)


def began() -> int:
    return AuditEvent.objects.filter(verb="window.began").count()


def on() -> Hold:
    return Hold.objects.get(ended_at=None)


def test_several_beats_begin_a_window_once() -> None:
    team = make.team()
    for round_ in range(FEW):
        window = make.window(team, begins=-1)
        assert sum(at_once(*[maintenance.begin_due] * 3)) == 1
        assert began() == round_ + 1
        window.refresh_from_db()
        assert window.hold_id == on().id
        holds.end(on().id, by=None)


def test_a_window_cancelled_as_it_begins_is_one_or_the_other() -> None:
    team = make.team()
    for _ in range(FEW):
        window = make.window(team, begins=-1)
        cancel = partial(maintenance.cancel, window.id, by=None)
        begun, cancelled = at_once(maintenance.begin_due, cancel)
        window.refresh_from_db()
        if isinstance(cancelled, maintenance.NotPlanned):
            assert (begun, window.state) == (1, "began")
            holds.end(on().id, by=None)
        else:
            assert isinstance(cancelled, MaintenanceWindow)
            assert (begun, window.state) == (0, "cancelled")
            assert not Hold.objects.filter(ended_at=None).exists()


def test_a_start_as_a_window_begins_lies_before_it_or_waits() -> None:
    team = make.team()
    job = make.job(team)
    for _ in range(FEW):
        run = make.run(job, State.ENQUEUED)
        make.window(team, begins=-1)
        begun, grant = at_once(maintenance.begin_due, partial(start.run, run.id, worker="w"))
        assert begun == 1
        run.refresh_from_db()
        if grant is None:
            assert (run.state, run.hold_id) == ("WAITING", on().id)
        else:
            assert run.started_at is not None
            assert run.started_at < on().began_at
        holds.end(on().id, by=None)


def test_a_person_who_holds_as_a_window_begins_shares_one_hold_with_it() -> None:
    team = make.team()
    for _ in range(FEW):
        make.window(team, begins=-1)
        begun, held = at_once(maintenance.begin_due, partial(holds.begin, team, "Now.", by=None))
        assert begun == 1
        if isinstance(held, holds.HeldAlready):
            assert on().reason == "The ledger moves."
        else:
            assert on() == held
        holds.end(on().id, by=None)
