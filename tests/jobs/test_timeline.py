from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Every
from jobs.schedules.timeline import Timeline, Version

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


LINE = Timeline(
    [
        Version(1, at(-100), Plan((Every(10, START),))),
        Version(2, at(25), None),
        Version(3, at(45), Plan((Every(20, START),))),
    ]
)


def test_each_moment_comes_from_the_version_in_force() -> None:
    assert LINE.moments(at(0), at(100), 99) == [at(10), at(20), at(60), at(80), at(100)]


def test_a_moment_at_the_very_beginning_of_a_version_belongs_to_the_one_before() -> None:
    line = Timeline([Version(1, at(-1), Plan((Every(10, START),))), Version(2, at(20), None)])
    assert line.moments(at(0), at(99), 9) == [at(10), at(20)]
    assert (line.version_at(at(20)), line.version_at(at(21))) == (1, 2)


def test_count_and_newest_agree_with_the_moments() -> None:
    for after in range(-5, 100, 7):
        for until in range(after, 110, 11):
            moments = LINE.moments(at(after), at(until), 99)
            assert LINE.count(at(after), at(until)) == len(moments)
            assert LINE.newest(at(after), at(until)) == (moments[-1] if moments else None)


def test_a_limit_cuts_off_the_newest() -> None:
    assert LINE.moments(at(0), at(100), 3) == [at(10), at(20), at(60)]
