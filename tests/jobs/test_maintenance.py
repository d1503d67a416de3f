"""Maintenance windows begin by themselves, once, a little early, and leave their trace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from jobs import clock, holds, maintenance
from jobs.models import AuditEvent, Hold, MaintenanceWindow
from tests import make

HOUR = timedelta(hours=1)
pytestmark = pytest.mark.django_db


def events() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("verb", flat=True))


def again(window: MaintenanceWindow) -> MaintenanceWindow:
    return MaintenanceWindow.objects.select_related("hold", "team").get(id=window.id)


# ── planning ─────────────────────────────────────────────────────────────────────────────


def test_a_window_is_planned_by_somebody_and_on_record() -> None:
    team = make.team()
    operator, now = make.operator(team), clock.now()
    window = maintenance.plan(team, " The ledger\nmoves. ", now + HOUR, now + 2 * HOUR, by=operator)
    assert (window.reason, window.state, window.by) == ("The ledger moves.", "planned", operator)
    (event,) = AuditEvent.objects.all()
    assert (event.verb, event.who, event.name) == ("window.planned", "operator", "team payments")
    assert [line["part"] for line in event.lines] == ["reason", "from", "until"]
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("begins", "ends", "field"),
    [
        (timedelta(0), HOUR, "from"),
        (-HOUR, HOUR, "from"),
        (HOUR, HOUR, "until"),
        (2 * HOUR, HOUR, "until"),
        (timedelta(days=367), timedelta(days=368), "from"),
        (HOUR, timedelta(days=32), "until"),
    ],
)
def test_times_that_make_no_window_are_refused(
    begins: timedelta, ends: timedelta, field: str
) -> None:
    now = clock.now()
    with pytest.raises(holds.HoldError) as found:
        maintenance.plan(None, "A move.", now + begins, now + ends, by=None)
    assert found.value.field == field
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize("reason", ["", " \n", "x" * 501])
def test_a_window_needs_a_reason_that_can_be_kept(reason: str) -> None:
    now = clock.now()
    with pytest.raises(holds.HoldError) as found:
        maintenance.plan(None, reason, now + HOUR, now + 2 * HOUR, by=None)
    assert found.value.field == "reason"


@pytest.mark.parametrize("whole", [False, True])
def test_the_same_window_is_planned_once_and_anew_once_it_is_cancelled(whole: bool) -> None:
    team = None if whole else make.team()
    times = clock.now() + HOUR, clock.now() + 2 * HOUR
    first = maintenance.plan(team, "A move.", *times, by=None)
    with pytest.raises(holds.HoldError, match="same length is planned"):
        maintenance.plan(team, "Another.", *times, by=None)
    maintenance.plan(make.team("elsewhere"), "Theirs.", *times, by=None)
    maintenance.cancel(first.id, by=None)
    maintenance.plan(team, "Another.", *times, by=None)


def test_so_many_windows_are_planned_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "MOST", 2)
    team, now = make.team(), clock.now()
    for hours in (1, 2):
        maintenance.plan(team, "A move.", now + hours * HOUR, now + 3 * HOUR, by=None)
    with pytest.raises(holds.HoldError, match="2 windows are planned already"):
        maintenance.plan(team, "A move.", now + 3 * HOUR, now + 4 * HOUR, by=None)
    maintenance.plan(None, "Of all.", now + HOUR, now + 2 * HOUR, by=None)


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"reason": ""}, "a_window_has_a_reason"),
        ({"ends": -1}, "a_window_ends_after_it_begins"),
        ({"passed_at": 1, "cancelled_at": 1}, "a_window_comes_to_one_end"),
    ],
)
def test_the_database_itself_refuses_what_is_no_window(columns: dict[str, Any], name: str) -> None:
    now = clock.now()
    ends = now + columns.pop("ends", 1) * HOUR
    given = {field: now if value == 1 else value for field, value in columns.items()}
    row = {"reason": "A move.", "begins_at": now, "ends_at": ends, "created_at": now, **given}
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        MaintenanceWindow.objects.create(**row)


def test_a_window_is_changed_and_says_from_what_to_what() -> None:
    window = make.window(make.team())
    later = window.ends_at + HOUR
    changed = maintenance.change(window.id, "A longer move.", window.begins_at, later, by=None)
    assert (changed.reason, changed.ends_at) == ("A longer move.", later)
    lines = AuditEvent.objects.get(verb="window.changed").lines
    assert [line["part"] for line in lines] == ["reason", "until"]
    maintenance.change(window.id, "A longer move.", window.begins_at, later, by=None)
    assert events().count("window.changed") == 1


def test_of_a_window_whose_time_has_come_the_end_may_still_be_changed() -> None:
    window = make.window(None, begins=-1, ends=30)
    later = window.ends_at + HOUR
    maintenance.change(window.id, window.reason, window.begins_at, later, by=None)
    with pytest.raises(holds.HoldError):
        past = window.begins_at - HOUR
        maintenance.change(window.id, window.reason, past, later, by=None)


def test_what_is_cancelled_begins_never_and_is_neither_changed_nor_cancelled_again() -> None:
    team = make.team()
    window, operator = make.window(team, begins=-1), make.operator(team)
    maintenance.cancel(window.id, by=operator)
    assert maintenance.begin_due() == 0
    with pytest.raises(maintenance.NotPlanned, match="cancelled by operator"):
        maintenance.cancel(window.id, by=None)
    with pytest.raises(maintenance.NotPlanned):
        times = window.begins_at, window.ends_at
        maintenance.change(window.id, "A move.", *times, by=None)
    assert again(window).state == "cancelled"
    assert not Hold.objects.exists()


# ── beginning ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("whole", [False, True])
def test_a_window_whose_time_has_come_is_a_hold_until_its_end(whole: bool) -> None:
    team = None if whole else make.team()
    planner = make.person("planner")
    window = make.window(team, begins=-1, by=planner)
    assert maintenance.begin_due() == 1
    hold = Hold.objects.get()
    assert (hold.team, hold.reason, hold.until) == (team, window.reason, window.ends_at)
    assert (hold.by, hold.ended_at) == (planner, None)
    assert (again(window).state, again(window).hold) == ("began", hold)
    assert events() == ["window.planned", "hold.began", "window.began"]
    assert maintenance.begin_due() == 0
    with pytest.raises(maintenance.NotPlanned, match="it is a hold"):
        maintenance.cancel(window.id, by=None)


def test_a_window_begins_a_little_early_and_not_before() -> None:
    near = make.window(make.team())
    soon = clock.now() + maintenance.EARLY
    rows = MaintenanceWindow.objects.filter(id=near.id)
    rows.update(begins_at=soon + timedelta(minutes=5))
    assert maintenance.begin_due() == 0
    rows.update(begins_at=soon)
    assert maintenance.begin_due() == 1


def test_a_hold_that_a_window_began_may_be_ended_sooner_and_stays_ended() -> None:
    make.window(make.team(), begins=-1)
    maintenance.begin_due()
    holds.end(Hold.objects.get().id, by=None)
    assert maintenance.begin_due() == 0
    assert not Hold.objects.filter(ended_at=None).exists()


def test_the_hold_of_a_window_ends_with_it() -> None:
    make.window(make.team(), begins=-1)
    maintenance.begin_due()
    past = clock.now() - timedelta(seconds=1)
    Hold.objects.update(until=past, began_at=past)
    assert holds.end_due() == 1


@pytest.mark.parametrize(
    ("until", "expected"), [(10, "window"), (600, "hold"), (None, "open")], ids=str
)
def test_a_window_joins_the_hold_that_is_on(until: int | None, expected: str) -> None:
    team = make.team()
    end = None if until is None else clock.now() + timedelta(minutes=until)
    hold = holds.begin(team, "An incident.", by=None, until=end)
    window = make.window(team, begins=-1)
    assert maintenance.begin_due() == 1
    joined = Hold.objects.get()
    wanted = {"window": window.ends_at, "hold": end, "open": None}
    assert (joined.id, joined.until) == (hold.id, wanted[expected])
    event = AuditEvent.objects.get(verb="window.began")
    assert event.reason == "It joined the hold that is on: An incident."
    assert [line["part"] for line in event.lines] == (["until"] if expected == "window" else [])


def test_two_windows_that_overlap_are_one_hold_until_the_later_end() -> None:
    team = make.team()
    make.window(team, begins=-2, ends=10)
    longer = make.window(team, begins=-1, ends=20)
    assert maintenance.begin_due() == 2
    assert Hold.objects.get().until == longer.ends_at


def test_a_hold_of_another_scope_is_not_joined() -> None:
    holds.begin(None, "An incident.", by=None)
    make.window(make.team(), begins=-1)
    assert maintenance.begin_due() == 1
    assert Hold.objects.filter(ended_at=None).count() == 2


def test_a_window_that_went_by_while_all_beats_were_away_is_closed_unopened() -> None:
    window = make.window(make.team(), begins=-120, ends=-60)
    assert maintenance.begin_due() == 1
    assert again(window).state == "passed"
    assert not Hold.objects.exists()
    assert events()[-1] == "window.passed"
    assert maintenance.begin_due() == 0


def test_one_that_is_half_over_begins_late_and_ends_as_planned() -> None:
    window = make.window(make.team(), begins=-60, ends=30)
    maintenance.begin_due()
    assert Hold.objects.get().until == window.ends_at


def test_while_nothing_is_planned_the_beats_ask_one_question(
    django_assert_num_queries: Any,
) -> None:
    make.window(make.team())
    with django_assert_num_queries(1):
        assert maintenance.begin_due() == 0


# ── what waits ───────────────────────────────────────────────────────────────────────────


def test_a_moment_waits_for_the_window_that_ends_last() -> None:
    team, other = make.team(), make.team("elsewhere")
    own, whole = make.window(team), make.window(None, begins=90, ends=180)
    ahead = list(MaintenanceWindow.objects.ahead())
    middle = whole.begins_at + timedelta(minutes=1)
    assert maintenance.over(ahead, team.id, own.begins_at) == own
    assert maintenance.over(ahead, other.id, own.begins_at) is None
    assert maintenance.over(ahead, team.id, middle) == whole
    assert maintenance.over(ahead, team.id, whole.ends_at) is None


def test_one_that_has_begun_lasts_as_long_as_its_hold() -> None:
    team = make.team()
    window = make.window(team, begins=-1, ends=60)
    maintenance.begin_due()
    ahead = MaintenanceWindow.objects.ahead
    at = window.ends_at - timedelta(minutes=1)
    assert maintenance.over(ahead(), team.id, at) == window
    Hold.objects.update(until=at)
    assert maintenance.over(ahead(), team.id, at) is None
    holds.end(Hold.objects.get().id, by=None)
    assert list(ahead()) == []
