"""Zones: names, where their data come from, and every change of the clock."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import pairwise
from random import Random

import pytest

from jobs.schedules import zones
from jobs.schedules.schedules import ScheduleError


@pytest.mark.parametrize(
    "name",
    [
        "UTC+3",
        "Local",
        "../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "Europe/",
        "US/Pacific-New",
        "",
        "Factory",
        "posixrules",
        "Europe/Berlin\x00",
        "x" * 100_000,
        None,
        7,
        ["UTC"],
    ],
    ids=lambda name: repr(name)[:30],
)
def test_what_is_no_zone_is_refused(name: object) -> None:
    with pytest.raises(ScheduleError) as refused:
        zones.check(name)
    assert refused.value.field == "timezone"
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("given", ["america/new_york", "America/New_York ", "\tAMERICA/NEW_YORK"])
def test_another_case_gets_the_right_spelling_as_a_hint(given: str) -> None:
    with pytest.raises(ScheduleError, match=r"Write America/New_York\."):
        zones.check(given)


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("Asia/Singapore", ""),
        ("UTC", ""),
        ("Etc/GMT+3", "is UTC-3"),
        ("Etc/GMT-14", "is UTC+14"),
        ("Etc/GMT", ""),
        ("EST", "not a place"),
        ("PST8PDT", "not a place"),
    ],
)
def test_a_zone_that_may_mislead_gets_a_remark(name: str, remark: str) -> None:
    assert zones.check(name) == name
    said = zones.remark(name)
    assert remark in said
    assert bool(said) == bool(remark)


def test_the_data_are_those_of_the_package() -> None:
    nine = datetime(2026, 11, 2, 16, tzinfo=UTC).astimezone(zones.zone("America/Vancouver"))
    assert nine.hour == 9  # British Columbia stays on summer time from 2026 on
    assert zones.version() >= "2026"


def changes_in_file(name: str) -> list[tuple[int, int, int]]:
    """(second, offset before, offset after) of each change that the zone's own file lists."""
    place = resources.files("tzdata") / "zoneinfo"
    for part in name.split("/"):
        place /= part
    data = place.read_bytes()

    def counts(at: int) -> tuple[int, ...]:
        return struct.unpack(">6l", data[at + 20 : at + 44])

    utc, standard, leap, times, types, letters = counts(0)
    start = 44 + times * 5 + types * 6 + letters + leap * 8 + standard + utc
    *_, times, types, _ = counts(start)
    start += 44
    seconds = struct.unpack(f">{times}q", data[start : start + 8 * times])
    kinds = data[start + 8 * times : start + 9 * times]
    at = start + 9 * times
    offsets = [struct.unpack(">l", data[at + 6 * n : at + 6 * n + 4])[0] for n in range(types)]
    steps = pairwise(zip(seconds, [offsets[kind] for kind in kinds], strict=True))
    return [(when, old, new) for (_, old), (when, new) in steps if old != new]


@pytest.mark.parametrize("seed", range(12))
def test_finds_every_change_that_the_files_list(seed: int) -> None:
    name = Random(seed).choice(sorted(zones.names()))
    listed = [
        (datetime.fromtimestamp(when, UTC), timedelta(seconds=old), timedelta(seconds=new))
        for when, old, new in changes_in_file(name)
        if when > 0
    ]
    last = listed[-1][0] if listed else datetime(1970, 1, 1, tzinfo=UTC)
    found = [
        (change.at, change.before, change.after)
        for year in range(1970, last.year + 1)
        for change in zones.changes(name, year)
        if change.at <= last  # from there on the file has a rule instead
    ]
    assert found == listed


def test_two_changes_within_a_week_are_both_found() -> None:
    days = [f"{change.at:%m-%d}" for change in zones.changes("Asia/Gaza", 2040)]
    assert days == ["03-24", "08-31", "10-20", "10-26"]


@pytest.mark.parametrize("name", ["Europe/Berlin", "Pacific/Apia", "UTC", "Africa/Casablanca"])
def test_segments_join_and_each_has_one_offset(name: str) -> None:
    start = datetime(2010, 6, 1, tzinfo=UTC)
    found = []
    for segment in zones.segments(name, start):
        if segment.start.year > 2013:
            break
        found.append(segment)
    assert found[0].start <= start < found[0].end
    assert all(one.end == other.start for one, other in pairwise(found))
    place = zones.zone(name)
    for segment in found:
        for moment in (segment.start, segment.end - timedelta(seconds=1)):
            assert moment.astimezone(place).utcoffset() == segment.offset


EDGES = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@pytest.mark.parametrize("edge", EDGES)
def test_every_clock_shows_the_ends_of_the_calendar(edge: datetime) -> None:
    """As UTC does where its own year would not exist."""
    for name in zones.names():
        assert zones.on_clock(edge, name) == edge
