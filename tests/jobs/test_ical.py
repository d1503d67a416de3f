"""iCalendar files: which days they name, and what is refused at which line."""

from __future__ import annotations

import time
from datetime import date

import pytest

from jobs.calendars import ical
from jobs.calendars.ical import IcalError

FIRST, LAST = date(2025, 1, 1), date(2036, 12, 31)


def file(*events: list[str]) -> str:
    """Events in a file of CRLF lines; the first event's first line of its own is line 4."""
    parts = [line for event in events for line in ("BEGIN:VEVENT", *event, "END:VEVENT")]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *parts, "END:VCALENDAR", ""])


def days(*events: list[str]) -> dict[str, str]:
    found = ical.days_off(file(*events), FIRST, LAST).days
    return {str(day): name for day, name in found.items()}


def refused(text: str) -> IcalError:
    with pytest.raises(IcalError) as error:
        ical.days_off(text, FIRST, LAST)
    assert error.value.hint
    return error.value


def test_all_day_and_timed_events_cover_their_days() -> None:
    assert days(
        ["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261227", "SUMMARY:Christmas\\, closed"],
        ["DTSTART;TZID=W. Europe Standard Time:20260501T220000", "DTEND:20260502T020000"],
        ["DTSTART:20260601T090000", "DURATION:PT48H"],
        ["DTSTART:20260701T090000"],
        ["DTSTART;VALUE=DATE:20260801", "STATUS:CANCELLED"],
        ["DTSTART;VALUE=DATE:20240801"],
    ) == {
        "2026-05-01": "",
        "2026-05-02": "",
        "2026-06-01": "",
        "2026-06-02": "",
        "2026-06-03": "",
        "2026-07-01": "",
        **dict.fromkeys(("2026-12-24", "2026-12-25", "2026-12-26"), "Christmas, closed"),
    }


def test_yearly_rules_go_on_to_the_horizon() -> None:
    text = file(["UID:1", "DTSTART;VALUE=DATE:20201126", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"])
    found = ical.days_off(text, FIRST, LAST)
    assert (len(found.days), found.endless) == (12, True)
    assert [day for day in found.days if day.year == 2026] == [date(2026, 11, 26)]


def test_exceptions_moves_and_dates_of_a_rule() -> None:
    found = days(
        [
            *("UID:1", "DTSTART;VALUE=DATE:20250101", "RRULE:FREQ=YEARLY;UNTIL=20280101T000000Z"),
            *("EXDATE;VALUE=DATE:20260101", "SUMMARY:New Year"),
        ],
        ["UID:1", "RECURRENCE-ID;VALUE=DATE:20270101", "DTSTART;VALUE=DATE:20270104"],
        ["UID:2", "DTSTART;VALUE=DATE:20250301", "RDATE;VALUE=DATE:20250401,20250501"],
    )
    assert list(found) == [
        *("2025-01-01", "2025-03-01", "2025-04-01", "2025-05-01", "2027-01-04", "2028-01-01"),
    ]


def test_folded_lines_are_one_and_count_as_many() -> None:
    text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DA\n TE:20260101\nSUMMARY:Ne\n w\n"
    assert refused(text + "RRULE:FREQ=DAILY\nEND:VEVENT\nEND:VCALENDAR").line == 7
    found = ical.days_off(text + "END:VEVENT\nEND:VCALENDAR", FIRST, LAST)
    assert found.days == {date(2026, 1, 1): "New"}


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (["DTSTART:20261332"], 4, "does not exist"),
        (["DTSTART:20260230T000000Z"], 4, "does not exist"),
        (["DTSTART:tomorrow"], 4, "does not exist"),
        (["DTSTART:00010101"], 4, "too far away"),
        (["SUMMARY:x"], 3, "has no DTSTART"),
        (["DTSTART:20260101", "DTSTART:20260102"], 5, "second DTSTART"),
        (["DTSTART:20260101", "DTEND:20251231"], 5, "before the event's beginning"),
        (["DTSTART:20260101", "DTEND:20990101"], 5, "days"),
        (["DTSTART:20260101", "DURATION:soon"], 5, "is no duration"),
        (["DTSTART:20260101", "EXDATE:20260101,20261301"], 5, "does not exist"),
        (["DTSTART:20260101", "RRULE:FREQ=DAILY"], 5, "DAILY without an end"),
        (["DTSTART:20260101", "RRULE:FREQ=WEEKLY;UNTIL=99991231"], 5, "too far away"),
        (["DTSTART:20260101", "RRULE:FREQ=WEEKLY;UNTIL=21500101"], 5, "WEEKLY without an end"),
        (["DTSTART:20260101", "RRULE:FREQ=HOURLY;COUNT=3"], 5, "repeats HOURLY"),
        (["DTSTART:20260101", "RRULE:FREQ=SECONDLY"], 5, "repeats SECONDLY"),
        (["DTSTART:20260101", "RRULE:FREQ=YEARLY;BYMINUTE=1,2,3"], 5, "repeats BYMINUTE"),
        (["DTSTART:20260101", "RRULE:FREQ=SOMETIMES"], 5, "is no rule"),
        (["DTSTART:20260101", "RRULE:nonsense"], 5, "is no rule"),
        (["DTSTART:20260101", "RRULE:FREQ=YEARLY;INTERVAL=0"], 5, "INTERVAL outside 1 to 1000"),
        (["DTSTART:20260101", "RRULE:FREQ=YEARLY;BYMONTH=13"], 5, "BYMONTH outside 1 to 12"),
        (["DTSTART:20260101", "RRULE:FREQ=YEARLY;UNTIL=20261332"], 5, ""),
        (
            ["DTSTART:20260101", "RRULE:FREQ=DAILY;COUNT=3;BYMONTH=2;BYMONTHDAY=30"],
            *(5, "days that may never come"),
        ),
        (["DTSTART:20260101", "no line"], 5, "is no line of iCalendar"),
        (["DTSTART:20260101", "END:VCALENDAR"], 5, "does not end the VEVENT of line 3"),
    ],
)
def test_what_is_wrong_is_refused_at_its_line(lines: list[str], line: int, said: str) -> None:
    error = refused(file(lines))
    assert (error.line, said in error.message) == (line, True), error.message


def test_what_is_no_calendar_is_refused() -> None:
    assert refused("hello").line == 1
    assert refused("NAME:value").line == 1
    assert "no event" in refused("BEGIN:VCALENDAR\nEND:VCALENDAR").message
    assert "has no END" in refused("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101").message
    assert refused("BEGIN:VCALENDAR\nX:\0").line == 2
    with pytest.raises(IcalError) as error:
        ical.read(b"BEGIN:VCALENDAR\r\nX:\xff")
    assert error.value.line == 2


def test_ten_megabytes_are_refused_at_once() -> None:
    began = time.process_time()
    with pytest.raises(IcalError, match="10,485,760 bytes"):
        ical.read(b"x" * (10 * 1024 * 1024))
    assert time.process_time() - began < 5


def test_too_many_days_are_refused_at_the_event_that_brings_them() -> None:
    long = [[f"UID:{n}", f"DTSTART:{2025 + n}0101", "DURATION:P1000D"] for n in range(5)]
    assert not ical.days_off(file(*long[:4]), FIRST, LAST).endless
    wide = ["DTSTART:20250101", "DTEND:20361231"]
    many = [["DTSTART:20250101", "RRULE:FREQ=DAILY;UNTIL=20361201", f"UID:{n}"] for n in range(600)]
    assert "at most 500" in refused(file(*many)).message
    assert len(ical.days_off(file(wide), FIRST, LAST).days) == (LAST - FIRST).days


def test_rules_that_take_too_long_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ical, "WITHIN", -1.0)
    error = refused(file(["DTSTART:20260101"]))
    assert (error.line, "working out rules" in error.message) == (3, True)
