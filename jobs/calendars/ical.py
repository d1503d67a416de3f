"""The days of an iCalendar file (RFC 5545): checked line by line, expanded by a library.

What is refused names its line. A day counts by the wall clock of its event: zones do not matter.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import recurring_ical_events
from icalendar import Calendar
from icalendar.prop import vDuration, vRecur

from jobs.calendars.ical_events import DATES, Event, Line, events
from jobs.calendars.ical_events import MAX_BYTES as MAX_BYTES
from jobs.calendars.ical_events import IcalError as IcalError
from jobs.calendars.ical_events import read as read

MOST_DAYS = 5_000
MOST_RULES = 500
WITHIN = 5.0  # seconds of expanding rules
LABEL_LENGTH = 100
_OLDEST, _LATEST = 1900, 2200
_DAY = timedelta(days=1)
_TICK = timedelta.resolution
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})Z?)?")
_OFTEN = ("SECONDLY", "MINUTELY", "HOURLY")
# Under a COUNT they may name a day that never comes, and the search for it would not end.
_RANGES = {
    "INTERVAL": (1, 1000),
    "COUNT": (1, 100_000),
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYSETPOS": (1, 366),
}
_PICKY = ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYEASTER")


@dataclass(frozen=True)
class Found:
    """Days off with their names. `endless`: a rule goes on beyond them."""

    days: dict[date, str]
    endless: bool


def days_off(text: str, first: date, last: date) -> Found:
    """The days in [first, last] that the events of a file cover. Raises IcalError."""
    read(text.encode())
    found = list(events(text))
    if not found:
        raise IcalError(None, "holds no event (VEVENT).", "Give a calendar of days off.")
    groups: dict[str, list[Event]] = defaultdict(list)
    days: dict[date, str] = {}
    endless = False
    for count, event in enumerate(found):
        endless = _check(event, last) or endless
        groups[event.text("UID") or f"\0{count}"].append(event)
    rules = [event.one("RRULE") for event in found]
    if len(repeated := [rule for rule in rules if rule]) > MOST_RULES:
        why = f"is the rule number {MOST_RULES + 1}; at most {MOST_RULES} are worked out"
        raise repeated[MOST_RULES].refuse(why, "Split the file, or name the days.")
    deadline = time.monotonic() + WITHIN
    for group in groups.values():
        if time.monotonic() > deadline:
            why = "comes after 5 seconds of working out rules"
            raise group[0].begin.refuse(why, "Use fewer or simpler rules.")
        for begin, end, label in _spans(group, first, last):
            for day in _days(max(begin, first), min(end, last)):
                days.setdefault(day, label)
            if len(days) > MOST_DAYS:
                why = f"begins the event with which there are more than {MOST_DAYS:,} days"
                raise group[0].begin.refuse(why, "Leave out what are no days off.")
    return Found(dict(sorted(days.items())), endless)


# ── checks ───────────────────────────────────────────────────────────────────────────────


def _check(event: Event, last: date) -> bool:
    """Refuse what is wrong with an event; whether its rule goes on beyond `last`."""
    start = event.one("DTSTART")
    if start is None:
        raise event.begin.refuse("has no DTSTART", "Say when the event begins.")
    for name in DATES:
        for line in event.lines.get(name, []):
            for value in line.value.split(","):
                _moment(line, value.partition("/")[0])
    _length(event, start)
    for name in ("UID", "SUMMARY", "STATUS"):
        event.one(name)
    rule = event.one("RRULE")
    return rule is not None and _goes_on(rule, last)


def _moment(line: Line, value: str) -> datetime:
    shape = _DATE.fullmatch(value.strip())
    try:
        if shape is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in shape.groups())
        moment = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 – a wall clock's
    except ValueError:
        hint = "Write 20261225, or 20261225T090000."
        raise line.refuse("has a date that does not exist", hint) from None
    if not _OLDEST <= year < _LATEST:
        hint = f"Use the years {_OLDEST} to {_LATEST - 1}."
        raise line.refuse("is too far away", hint)
    return moment


def _length(event: Event, start: Line) -> timedelta:
    """How long an event lasts: at least a moment, a day where it is a date."""
    begin, whole = _moment(start, start.value), "T" not in start.value
    line = event.one("DTEND") or event.one("DURATION")
    if line is None:
        return _DAY if whole else _TICK
    try:
        if line.name == "DTEND":
            length = _moment(line, line.value) - begin
        else:
            length = vDuration.from_ical(line.value)  # type: ignore[no-untyped-call]
    except (ValueError, OverflowError) as error:
        if isinstance(error, IcalError):
            raise
        raise line.refuse("is no duration", "Write P1D for one day.") from None
    if length < timedelta(0):
        raise line.refuse("lies before the event's beginning", "Mend DTSTART or DTEND.")
    if length.days > MOST_DAYS:
        why = f"makes an event of {length.days:,} days"
        raise line.refuse(why, f"At most {MOST_DAYS:,} days are kept.")
    return max(length, _DAY if whole else _TICK)


def _goes_on(line: Line, last: date) -> bool:
    """Whether a rule goes on beyond `last`; refuses one that should not."""
    hint = "Give it an UNTIL, or name the days one by one."
    try:
        rule = vRecur.from_ical(line.value)
        [often] = rule["FREQ"]
        until = [_moment(line, part[6:]) for part in line.value.split(";") if part[:6] == "UNTIL="]
    except (ValueError, KeyError) as error:
        if isinstance(error, IcalError):
            raise
        raise line.refuse("is no rule", "Write RRULE:FREQ=YEARLY, say.") from None
    for part, (low, high) in _RANGES.items():
        if any(not low <= abs(int(value)) <= high for value in rule.get(part, [])):
            raise line.refuse(f"has its {part} outside {low} to {high}", hint)
    timed = [part for part in ("BYHOUR", "BYMINUTE", "BYSECOND") if part in rule]
    if often in _OFTEN or timed:
        raise line.refuse(f"repeats {timed[0] if timed else often}: no days off do", hint)
    endless = "COUNT" not in rule and (not until or until[0].date() > last)
    if endless and often != "YEARLY":
        raise line.refuse(f"repeats {often} without an end", hint)
    if often != "YEARLY" and "COUNT" in rule and any(part in rule for part in _PICKY):
        raise line.refuse("counts days that may never come", hint)
    return endless


# ── days ─────────────────────────────────────────────────────────────────────────────────


def _spans(group: list[Event], first: date, last: date) -> Iterator[tuple[date, date, str]]:
    """First and last day, and the name, of each time that events of one UID happen."""
    if not any(name in event.lines for event in group for name in ("RRULE", "RDATE")):
        for event in group:
            if event.text("STATUS").upper() != "CANCELLED":
                line = event.lines["DTSTART"][0]
                begin = _moment(line, line.value)
                yield _span(begin, begin + _length(event, line), _label(event.text("SUMMARY")))
        return
    try:
        happened = recurring_ical_events.of(_reduced(group)).between(first, last + _DAY)
    except Exception as error:  # the library's: whatever it cannot work out
        rule = next((event.one("RRULE") for event in group if "RRULE" in event.lines), None)
        why = f"cannot be worked out ({' '.join(str(error).split())[:80]})"
        raise (rule or group[0].begin).refuse(why, "Name the days one by one.") from None
    for one in happened:
        if str(one.get("STATUS", "")).upper() != "CANCELLED":
            yield _span(one.start, one.end, _label(str(one.get("SUMMARY", ""))))


def _reduced(group: list[Event]) -> Calendar:
    """The events with their lines that say when, on a clock without zones."""
    text = ["BEGIN:VCALENDAR"]
    for event in group:
        text.append("BEGIN:VEVENT")
        for lines in event.lines.values():
            text += map(_without_zone, lines)
        text.append("END:VEVENT")
    found = Calendar.from_ical("\r\n".join([*text, "END:VCALENDAR", ""]))
    assert isinstance(found, Calendar)
    return found


def _without_zone(line: Line) -> str:
    if line.name not in (*DATES, "RRULE"):
        return line.raw
    value = re.sub(r"(T[0-9]{6})Z", r"\1", line.value)
    if line.name == "RRULE":
        return f"RRULE:{value}"
    period = ";VALUE=PERIOD" if "/" in value else ""
    return f"{line.name}{period or ('' if 'T' in value else ';VALUE=DATE')}:{value}"


def _span(begin: date, end: date, label: str) -> tuple[date, date, str]:
    if isinstance(begin, datetime) and isinstance(end, datetime):
        return begin.date(), max(begin, end - _TICK).date(), label
    return begin, max(begin, end - _DAY), label


def _days(day: date, end: date) -> Iterator[date]:
    while day <= end:
        yield day
        day += _DAY


def _label(text: str) -> str:
    plain = re.sub(r"\\([,;\\])", r"\1", text.replace("\\n", " ").replace("\\N", " "))
    return "".join(char if char.isprintable() else " " for char in plain).strip()[:LABEL_LENGTH]
