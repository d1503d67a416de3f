"""A database that was restored from a copy holds everything before anything is claimed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs import clock, holds
from jobs.models import Hold
from runs.models import Installation
from runs.witness import Witness

pytestmark = pytest.mark.django_db


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    """Of a host whose beat has been at work."""
    found = Witness(tmp_path)
    found.look()
    found.beat()
    return found


def stored(**changes: Any) -> Installation:
    Installation.objects.update(**changes)
    return Installation.objects.get()


def reasons() -> list[str]:
    return [hold.reason for hold in Hold.objects.filter(team=None, ended_at=None)]


def test_a_first_start_and_a_work_day_hold_nothing(witness: Witness, tmp_path: Path) -> None:
    for _ in range(3):
        witness.beat()
        witness.look()
        Witness(tmp_path).look()  # a restart
    assert reasons() == []
    assert stored().pulse == 4


@pytest.mark.parametrize("days", [1, 2])
def test_a_short_outage_needs_no_person(witness: Witness, days: int) -> None:
    stored(seen_at=clock.now() - timedelta(days=days))
    witness.look()
    assert reasons() == []


def test_no_beat_for_long_is_a_sign(witness: Witness) -> None:
    stored(seen_at=clock.now() - timedelta(days=11))
    witness.look()
    (reason,) = reasons()
    assert "no beat was at work in it for 11 days" in reason


def test_another_database_is_a_sign(witness: Witness) -> None:
    stored(identity="7000000000000000000/16384")
    witness.look()
    assert ["copied into another database" in reason for reason in reasons()] == [True]


@pytest.mark.parametrize("restarted", [False, True])
def test_heartbeats_that_are_gone_are_a_sign(
    witness: Witness, tmp_path: Path, restarted: bool
) -> None:
    for _ in range(9):
        witness.beat()
    stored(pulse=4)
    (Witness(tmp_path) if restarted else witness).look()
    assert ["forgotten 6 heartbeats" in reason for reason in reasons()] == [True]


def test_a_new_timeline_is_a_sign_where_no_file_tells_that_nothing_is_missing(
    witness: Witness, tmp_path: Path
) -> None:
    now = stored().timeline
    stored(timeline=now - 1)
    witness.look()
    assert reasons() == []
    assert stored().timeline == now
    stored(timeline=now - 1)
    Witness(tmp_path / "another host").look()
    assert ["timeline" in reason for reason in reasons()] == [True]


def test_it_holds_once_and_once_it_is_ended_no_host_holds_again(
    witness: Witness, tmp_path: Path
) -> None:
    other = Witness(tmp_path / "another host")
    other.look()
    for _ in range(9):
        witness.beat()
        other.beat()
    stored(pulse=4, seen_at=clock.now() - timedelta(days=11))
    witness.look()
    witness.look()
    other.look()
    assert len(reasons()) == 1
    holds.end(Hold.objects.get().id, by=None)
    for each in (witness, other):
        each.look()
        each.beat()
    assert reasons() == []


def test_a_hold_that_is_on_already_gets_the_reason_and_no_end(witness: Witness) -> None:
    holds.begin(None, "A move.", by=None, until=clock.now() + timedelta(hours=1))
    stored(identity="elsewhere")
    witness.look()
    (hold,) = Hold.objects.all()
    assert hold.until is None
    assert hold.reason.startswith("The database seems to be restored")
    assert hold.reason.endswith("Also: A move.")


def test_a_host_that_can_write_no_file_remembers_while_it_lives() -> None:
    witness = Witness(Path("/proc/nowhere"))
    witness.look()
    for _ in range(3):
        witness.beat()
    stored(pulse=1)
    witness.look()
    assert len(reasons()) == 1
