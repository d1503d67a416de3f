"""Instants as people type them, on the clock of a zone."""

from __future__ import annotations

import pytest

from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant
from jobs.schedules.local_instants import first_instant, last_instant

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "zone", "first", "last"),
    [
        ("2026-11-29 18:00", BERLIN, "2026-11-29T17:00:00Z", "2026-11-29T17:00:00Z"),
        ("2026-07-01T18:00:05", BERLIN, "2026-07-01T16:00:05Z", "2026-07-01T16:00:05Z"),
        ("2026-11-29 18:00", "UTC", "2026-11-29T18:00:00Z", "2026-11-29T18:00:00Z"),
        ("2026-11-29T18:00:00+05:30", BERLIN, "2026-11-29T12:30:00Z", "2026-11-29T12:30:00Z"),
        ("2026-11-29T18:00:00Z", BERLIN, "2026-11-29T18:00:00Z", "2026-11-29T18:00:00Z"),
        # a day, from its beginning to its end
        ("2026-11-29", BERLIN, "2026-11-28T23:00:00Z", "2026-11-29T22:59:59.999999Z"),
        # 02:30 comes twice
        ("2026-10-25 02:30", BERLIN, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        # 02:30 does not come: the widest range that may be meant
        ("2026-03-29 02:30", BERLIN, "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"),
        # a day that began an hour late
        ("2026-04-24", "Africa/Cairo", "2026-04-23T21:00:00Z", "2026-04-24T20:59:59.999999Z"),
    ],
)
def test_what_the_clock_shows_is_the_widest_that_may_be_meant(
    text: str, zone: str, first: str, last: str
) -> None:
    assert canonical_instant(first_instant(text, zone, "from")) == first
    assert canonical_instant(last_instant(text, zone, "to")) == last


@pytest.mark.parametrize(
    "text",
    [
        *("soon", "2026-02-30", "2026-02-30 10:00", "2026-11-29 25:00", "29.11.2026", ""),
        *("2026-11-29 24:00", "2026-11-29T24:00Z", "2026-11-29T18:00:00+23:59"),
        *("٢٠٢٦-11-29", "2026-11-29 18", "2026-11-29T18:00:00+25:00"),
    ],
)
def test_what_is_none_is_refused_with_its_field(text: str) -> None:
    for read in (first_instant, last_instant):
        with pytest.raises(ScheduleError) as refused:
            read(text, BERLIN, "from")
        assert refused.value.field == "from" and refused.value.hint


@pytest.mark.parametrize(
    ("text", "zone"), [("0001-01-01", BERLIN), ("9999-12-31 23:00", "America/New_York")]
)
def test_what_leaves_the_calendar_is_refused(text: str, zone: str) -> None:
    with pytest.raises(ScheduleError, match="calendar"):
        first_instant(text, zone, "from")


def test_a_zone_that_is_none_is_refused() -> None:
    with pytest.raises(ScheduleError, match="timezone"):
        first_instant("2026-11-29", "Mars/Olympus", "from")
