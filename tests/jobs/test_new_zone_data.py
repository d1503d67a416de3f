"""The next moment after the rules of a zone were changed: nothing twice, nothing left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from jobs.schedules import local_times, new_zone_data, schedules, zones
from jobs.schedules.new_zone_data import Fired
from jobs.schedules.plans import Plan
from tests.jobs import expressions
from tests.zone_rules import PLACE, Rules, in_use

MAY = datetime(2030, 5, 1, tzinfo=UTC)
BEGAN = MAY - timedelta(days=100)
FORWARD: tuple[int, int] = (120, 180)  # minutes ahead of UTC as it was thought, and as it is
BACK: tuple[int, int] = (180, 120)


def at(text: str) -> datetime:
    """`1 07:00` is 07:00 UTC on the first of May, `0 07:00` the day before."""
    day, _, time = text.partition(" ")
    hour, minute = map(int, time.split(":"))
    return MAY + timedelta(days=int(day) - 1, hours=hour, minutes=minute)


def local(*expressions: str, dst: str = "once") -> Plan:
    found = [{"cron": text, "timezone": PLACE, "dst": dst} for text in expressions]
    return Plan(schedules.load(found))


def rules(change: tuple[int, int]) -> Rules:
    return [(MAY, change[1])]


@pytest.mark.parametrize(
    ("expression", "change", "last", "due", "anew"),
    [
        # Not fired yet on the day of the change: at its time by the clock that people see.
        ("0 9 * * *", FORWARD, "0 07:00", "1 07:00", "1 06:00"),
        ("0 9 * * *", BACK, "0 06:00", "1 06:00", "1 07:00"),
        # Fired already: not again an hour later, and not left out the day after.
        ("0 9 * * *", BACK, "1 06:00", "2 06:00", "2 07:00"),
        ("0 9 * * *", FORWARD, "1 07:00", "2 07:00", "2 06:00"),
        ("0 9 * * *", BACK, "3 06:00", "4 06:00", "4 07:00"),
        # Several fixed times in the hour that comes again.
        ("0,20,40 9 * * *", BACK, "1 06:20", "1 06:40", "1 07:40"),
        ("0 8-10 * * *", BACK, "1 06:00", "1 07:00", "1 08:00"),
        ("0 8-10 * * *", FORWARD, "1 06:00", "1 07:00", "1 07:00"),
        # A star goes on from the instant: an hour's silence would be worse than both copies.
        ("0 * * * *", BACK, "1 06:00", "1 07:00", "1 07:00"),
        ("0 * * * *", FORWARD, "1 06:00", "1 07:00", "1 07:00"),
        ("*/10 9 * * *", BACK, "1 06:30", "1 06:40", "1 07:00"),
        ("*/10 * * * *", BACK, "1 06:30", "1 06:40", "1 06:40"),
        # A month away: it moves by the hour as well.
        ("0 9 15 * *", FORWARD, "-15 07:00", "15 07:00", "15 06:00"),
        ("0 9 15 * *", BACK, "-15 06:00", "15 06:00", "15 07:00"),
    ],
)
@pytest.mark.parametrize("dst", ["once", "wall"])
def test_the_next_moment_by_the_new_rules(
    expression: str, change: tuple[int, int], last: str, due: str, anew: str, dst: str
) -> None:
    fired = Fired(at(last), change[0])
    with in_use("2030b", change[0], rules(change)):
        found = new_zone_data.next_moment(
            local(expression, dst=dst), due=at(due), began=BEGAN, last=fired
        )
    assert found == at(anew)


def test_a_job_that_never_fired_goes_on_from_its_beginning() -> None:
    with in_use("2030b", 120, rules(FORWARD)):
        for began, anew in (("1 05:00", "1 06:00"), ("1 06:30", "2 06:00")):
            found = new_zone_data.next_moment(
                local("0 9 * * *"), due=at("1 07:00"), began=at(began), last=None
            )
            assert found == at(anew)


def test_a_run_that_is_pruned_long_since_does_not_come_again() -> None:
    with in_use("2030b", 120, rules(FORWARD)):
        yearly = local("0 9 1 5 *")
        long_ago = BEGAN - timedelta(days=4000)
        found = new_zone_data.next_moment(yearly, due=at("1 07:00"), began=long_ago, last=None)
    assert found == at("1 06:00")


def test_where_no_offset_was_kept_it_goes_on_from_the_instant() -> None:
    with in_use("2030b", 180, rules(BACK)):
        found = new_zone_data.next_moment(
            local("0 9 * * *"), due=at("2 06:00"), began=BEGAN, last=Fired(at("1 06:00"), None)
        )
    assert found == at("1 07:00")


def test_what_a_gap_moved_does_not_come_again_without_the_gap() -> None:
    """By the old rules 02:30 did not exist and fired at 03:00; by the new ones it does."""
    gap = [(at("1 00:00"), 180)]
    with in_use("2030a", 120, gap):
        assert local("30 2 * * *").next(at("0 12:00")) == at("1 00:00")
    with in_use("2030b", 120):
        found = new_zone_data.next_moment(
            local("30 2 * * *"), due=at("1 23:30"), began=BEGAN, last=Fired(at("1 00:00"), 180)
        )
    assert found == at("2 00:30")


def test_of_two_zones_only_the_one_with_new_rules_moves() -> None:
    ours, theirs = ({"cron": "0 9 * * *", "timezone": name} for name in (PLACE, "Etc/GMT"))
    both = Plan(schedules.load([ours, theirs]))
    with in_use("2030b", 180, rules(BACK)):
        after_ours = new_zone_data.next_moment(
            both, due=at("1 09:00"), began=BEGAN, last=Fired(at("1 06:00"), 180)
        )
        after_theirs = new_zone_data.next_moment(
            both, due=at("2 06:00"), began=BEGAN, last=Fired(at("1 09:00"), 0)
        )
    assert (after_ours, after_theirs) == (at("1 09:00"), at("2 07:00"))


@pytest.mark.parametrize("seed", range(20))
def test_the_same_rules_move_nothing(seed: int) -> None:
    """From each moment of a random job through a change of the clock, the next one stays."""
    dice = Random(seed)
    name = dice.choice(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut"])
    part = {
        "cron": expressions.some(dice),
        "timezone": name,
        "dst": dice.choice(["once", "wall"]),
    }
    found = schedules.load([part])
    change = dice.choice(zones.changes(name, dice.randrange(2010, 2036)) or [])
    for last in schedules.moments(found, change.at - timedelta(hours=6), 40):
        due = schedules.next_moment(found, last)
        assert due is not None
        fired = Fired(last, local_times.offset_of(found, last))
        anew = new_zone_data.next_moment(
            Plan(found), due=due, began=BEGAN - timedelta(days=9999), last=fired
        )
        assert anew == due, (part, last)


def test_the_window_of_a_job_holds() -> None:
    plan = replace(local("0 9 * * *"), starts_at=at("3 06:30"), ends_at=at("5 06:30"))
    with in_use("2030b", 120, rules(FORWARD)):
        first = new_zone_data.next_moment(plan, due=at("3 07:00"), began=BEGAN, last=None)
        last = Fired(at("4 07:00"), 120)
        final = new_zone_data.next_moment(plan, due=at("5 07:00"), began=BEGAN, last=last)
        none = new_zone_data.next_moment(
            plan, due=at("6 07:00"), began=BEGAN, last=Fired(at("5 06:00"), 180)
        )
    assert (first, final, none) == (at("4 06:00"), at("5 06:00"), None)


def test_versions_are_ordered_by_year_and_letter() -> None:
    versions = ["unknown", "2025b", "2026a", "2026c", "2026z", "2026za", "2027a"]
    assert sorted(versions, key=zones.rank) == versions
    assert zones.rank(zones.version()) > zones.rank("2025z")
