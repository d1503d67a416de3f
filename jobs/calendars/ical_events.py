"""The lines of an iCalendar file (RFC 5545) that say when its events are. What is refused names its
line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from icalendar.parser import Contentline

MAX_BYTES = 1024 * 1024
DATES = ("DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE")
_KEPT = (*DATES, "DURATION", "RRULE", "UID", "SUMMARY", "STATUS")


class IcalError(ValueError):
    """A file that is refused: what is wrong, at which line where there is one, what to do."""

    def __init__(self, line: int | None, problem: str, hint: str) -> None:
        super().__init__(line, problem, hint)
        self.line, self.problem, self.hint = line, problem, hint

    @property
    def message(self) -> str:
        return self.problem if self.line is None else f"Line {self.line}: {self.problem}"


@dataclass(frozen=True)
class Line:
    """A content line, unfolded; `number` is that of its first line in the file."""

    number: int
    raw: str
    name: str = ""
    value: str = ""

    def refuse(self, why: str, hint: str) -> IcalError:
        shown = self.raw if len(self.raw) <= 60 else f"{self.raw[:59]}…"
        return IcalError(self.number, f"“{shown}” {why}.", hint)


@dataclass
class Event:
    """One VEVENT: the lines of it that say when."""

    begin: Line
    lines: dict[str, list[Line]] = field(default_factory=lambda: defaultdict(list))

    def one(self, name: str) -> Line | None:
        found = self.lines.get(name)
        if found and len(found) > 1:
            raise found[1].refuse(f"is a second {name} of its event", "Leave one of them.")
        return found[0] if found else None

    def text(self, name: str) -> str:
        line = self.one(name)
        return line.value.strip() if line else ""


def read(data: bytes) -> str:
    """The text of a file. Raises IcalError for what is too long or is no text in UTF-8."""
    if len(data) > MAX_BYTES:
        hint = "Leave out what are no days off, or past years."
        raise IcalError(None, f"has {len(data):,} bytes; at most {MAX_BYTES:,} are read.", hint)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise IcalError(line, "is not UTF-8.", "Save the file as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise IcalError(line, "holds the character NUL.", "Export the file anew.")
    return text


def _lines(text: str) -> Iterator[Line]:
    raw, number = "", 0
    for count, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if line[:1] in (" ", "\t") and raw:
            raw += line[1:]
            continue
        if raw.strip():
            yield _parsed(Line(number, raw))
        raw, number = line, count
    if raw.strip():
        yield _parsed(Line(number, raw))


def _parsed(line: Line) -> Line:
    try:
        name, _, value = Contentline(line.raw).parts()  # type: ignore[no-untyped-call]
    except ValueError:
        raise line.refuse("is no line of iCalendar", "A line reads NAME:value.") from None
    return Line(line.number, line.raw, name.upper(), value)


def events(text: str) -> Iterator[Event]:
    """The events of a file, in order. Raises IcalError."""
    open_: list[Line] = []
    event: Event | None = None
    for line in _lines(text):
        if not open_ and (line.name, line.value.upper()) != ("BEGIN", "VCALENDAR"):
            why = "stands where BEGIN:VCALENDAR should"
            raise line.refuse(why, "Give an iCalendar file (.ics).")
        if line.name == "BEGIN":
            open_.append(line)
            event = Event(line) if line.value.upper() == "VEVENT" else event
        elif line.name == "END":
            if line.value.upper() != open_[-1].value.upper():
                why = f"does not end the {open_[-1].value} of line {open_[-1].number}"
                raise line.refuse(why, "Export the file anew.")
            if open_.pop().value.upper() == "VEVENT" and event:
                yield event
        elif open_[-1].value.upper() == "VEVENT" and event and line.name in _KEPT:
            event.lines[line.name].append(line)
    if open_:
        raise open_[-1].refuse("has no END", "The file is cut off: export it anew.")
