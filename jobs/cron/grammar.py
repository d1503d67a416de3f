"""The grammar of cron expressions. PURE.

Five fields of numbers, names, lists, ranges and steps, after crontab(5); beyond it the words
`L`, `L-3`, `LW`, `15W`, `3B`, `LB`, `L-2B` for dates and `5#2`, `5L`, `L5` for weekdays. What is
not in it is refused
with the field and a remedy: an expression is never stretched to a meaning that it does not state.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from jobs.calendars.days import Calendar, Rule
from jobs.cron.days import (
    DateWord,
    DayRule,
    LastDay,
    LastWeekday,
    LastWorkday,
    LastWorkingDay,
    NearestWorkday,
    NthWeekday,
    NthWorkingDay,
    WeekdayWord,
)
from jobs.schedules.errors import REQUIRED, ScheduleError, short

MAX_LENGTH = 255
MACROS: Mapping[str, str] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIVE = "Write five fields, minute hour day-of-month month day-of-week, as 30 9 * * 1-5."
_RANGE = re.compile(r"(\*|[a-z]+|[0-9]+)(?:-([a-z]+|[0-9]+))?(?:/([0-9]+))?")
_DATE_WORD = re.compile(
    r"l(?:-(?P<before>[0-9]+))?(?P<working>b?)|(?P<last>lw)|(?P<near>[0-9]+)w|(?P<nth>[0-9]+)b"
)
_MOST_WORKING_DAYS = 23  # that a month of working weekdays has
_WEEKDAY_WORD = re.compile(
    r"(?P<day>[a-z]{3}|[0-9]+)#(?P<nth>[0-9]+)|l(?P<l_day>[0-9]+)|(?P<day_l>[a-z]{3}|[0-9]+)l"
)


@dataclass(frozen=True)
class Field:
    """One of the five: the numbers it takes, where `*` and `n/step` end, its names."""

    label: str
    low: int
    high: int
    end: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int | None:
        """The value of a number or a name; None where it has none here."""
        if text in self.names:
            return self.low + self.names.index(text)
        value = int(text) if text.isdigit() else -1
        return value if self.low <= value <= self.high else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MINUTE = Field("minute", 0, 59, 59)
HOUR = Field("hour", 0, 23, 23)
DATE = Field("day of month", 1, 31, 31)
MONTH = Field("month", 1, 12, 12, _names("jan feb mar apr may jun jul aug sep oct nov dec"))
WEEKDAY = Field("day of week", 0, 7, 6, _names("sun mon tue wed thu fri sat"))
_SUNDAY = 7  # besides 0


@dataclass(frozen=True)
class Pattern:
    """What an expression means on a wall clock, every value spelled out and ascending.

    With a calendar, a day that it has off is skipped or rolled by the rule, and working days
    are counted by it."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    starred: bool  # minute or hour begins with a star: the job follows the wall clock
    calendar: Calendar | None = None
    rule: Rule = "skip"


def normalise(expression: object) -> str:
    """Trimmed, one blank between the fields. Raises ScheduleError (field `cron`)."""
    if not isinstance(expression, str):
        raise ScheduleError("cron", expression, "is not text", _FIVE)
    if len(expression) > MAX_LENGTH:
        hint = "Shorten its lists with ranges and steps, or give several schedules."
        raise ScheduleError("cron", expression, f"is longer than {MAX_LENGTH} characters", hint)
    _refuse_odd_characters(expression)
    return " ".join(expression.split())


@lru_cache(maxsize=16_384)
def parse(expression: str) -> Pattern:
    """The pattern of an expression. Raises ScheduleError (field `cron`)."""
    return _Reader(expression).pattern(fields(expression))


def fields(expression: str) -> list[str]:
    """Its five fields in lower case, those of a macro written out. Raises ScheduleError."""
    text = normalise(expression).lower()
    return _five(expression, MACROS.get(text, text))


def _refuse_odd_characters(expression: str) -> None:
    for character in expression:
        if character not in " \t" and not "!" <= character <= "~":
            name = unicodedata.name(character, f"U+{ord(character):04X}")
            hint = "Use ASCII and plain blanks only."
            raise ScheduleError("cron", expression, f"contains the character {name}", hint)


def _five(expression: str, text: str) -> list[str]:
    """The five fields of `text`; refuses what has more, fewer or something else."""

    def refuse(problem: str, hint: str = _FIVE) -> NoReturn:
        raise ScheduleError("cron", expression, problem, hint)

    parts = text.split()
    if not parts:
        refuse(REQUIRED)
    if text.startswith("@"):
        refuse(*_macro(parts[0]))
    if re.match(r"(cron_)?tz=", text):
        refuse("names a time zone", "Give the zone beside it, as `timezone`.")
    if any(part.startswith("#") for part in parts):
        refuse("holds a comment", "Leave the comment out.")
    if len(parts) > 5:
        refuse(f"has {len(parts)} fields: seconds and years are not supported")
    if len(parts) < 5:
        refuse(f"has {len(parts)} fields instead of five")
    return parts


@dataclass(frozen=True)
class _Reader:
    """Reads the fields of one expression, which its errors quote."""

    expression: str

    def pattern(self, parts: list[str]) -> Pattern:
        minute, hour, date, month, weekday = parts
        return Pattern(
            minutes=self.numbers(MINUTE, minute),
            hours=self.numbers(HOUR, hour),
            days=self.days(date, weekday),
            months=self.numbers(MONTH, month),
            starred=minute.startswith("*") or hour.startswith("*"),
        )

    def days(self, date: str, weekday: str) -> DayRule:
        dates = {item: self.date_word(item) for item in self.items(DATE, date)}
        weekdays = {item: self.weekday_word(item) for item in self.items(WEEKDAY, weekday)}
        return DayRule(
            dates=frozenset(self.plain(DATE, dates)),
            date_words=frozenset(word for word in dates.values() if word),
            weekdays=frozenset(value % _SUNDAY for value in self.plain(WEEKDAY, weekdays)),
            weekday_words=frozenset(word for word in weekdays.values() if word),
            both=date.startswith("*") or weekday.startswith("*"),
        )

    def numbers(self, field: Field, text: str) -> tuple[int, ...]:
        items = self.items(field, text)
        return tuple(sorted({value for item in items for value in self.span(field, item)}))

    def plain(self, field: Field, words: Mapping[str, object]) -> set[int]:
        """The numbers of those items of a day field that are no words."""
        items = [item for item, word in words.items() if word is None]
        return {value for item in items for value in self.span(field, item)}

    def items(self, field: Field, text: str) -> Iterator[str]:
        for item in text.split(","):
            if not item:
                self.refuse(field, text, "has an empty place in its list", "Remove the comma.")
            yield item

    def span(self, field: Field, item: str) -> range:
        """The numbers of one item of a list: `*`, `n`, `n-m`, each with or without `/step`."""
        shape = _RANGE.fullmatch(item)
        if shape is None or (shape[1] == "*" and shape[2]):
            self.refuse(field, item, "is not understood", _hint(field, item))
        first, last, step = shape.groups()
        if first == "*":
            low, high = field.low, field.end
        else:
            low = self.value(field, item, first)
            high = self.upper(field, item, low, last, step)
        return range(low, high + 1, self.step(field, item, step))

    def upper(self, field: Field, item: str, low: int, last: str | None, step: str | None) -> int:
        if last is None:
            return low if step is None else max(low, field.end)
        if last == "sun" and low > 0:
            return _SUNDAY  # fri-sun: by name, too, Sunday ends a week as well as it begins one
        high = self.value(field, item, last)
        if high < low:
            self.refuse(field, item, "runs backwards", _forwards(field, item))
        return high

    def value(self, field: Field, item: str, text: str) -> int:
        value = field.number(text)
        if value is None:
            why = f"is outside {field.low}-{field.high}" if text.isdigit() else "is not known"
            self.refuse(field, item, why, _hint(field, item))
        return value

    def step(self, field: Field, item: str, text: str | None) -> int:
        if text is None:
            return 1
        if not 1 <= int(text) <= field.high:
            hint = f"Use a step from 1 to {field.high}."
            self.refuse(field, item, "has a step that does not fit", hint)
        return int(text)

    def date_word(self, item: str) -> DateWord | None:
        shape = _DATE_WORD.fullmatch(item)
        if shape is None:
            return None
        if shape["last"]:
            return LastWorkday()
        if shape["near"]:
            return NearestWorkday(self.value(DATE, item, shape["near"]))
        if shape["nth"]:
            return NthWorkingDay(self.working_day(item, shape["nth"]))
        before = int(shape["before"] or 0)
        if shape["working"]:
            return LastWorkingDay(before and self.working_day(item, shape["before"]))
        if before > 30:
            self.refuse(DATE, item, "reaches beyond every month", "Use L-1 to L-30.")
        return LastDay(before)

    def working_day(self, item: str, text: str) -> int:
        if not 1 <= int(text) <= _MOST_WORKING_DAYS:
            hint = "Use 1B to 23B, LB for the last one, L-1B for the one before it."
            self.refuse(DATE, item, "counts beyond the working days of a month", hint)
        return int(text)

    def weekday_word(self, item: str) -> WeekdayWord | None:
        shape = _WEEKDAY_WORD.fullmatch(item)
        if shape is None:
            return None
        day = shape["day"] or shape["l_day"] or shape["day_l"]
        weekday = self.value(WEEKDAY, item, day) % _SUNDAY
        if shape["nth"] is None:
            return LastWeekday(weekday)
        if not 1 <= int(shape["nth"]) <= 5:
            self.refuse(WEEKDAY, item, "names a week that no month has", "Use #1 to #5.")
        return NthWeekday(weekday, int(shape["nth"]))

    def refuse(self, field: Field, item: str, why: str, hint: str) -> NoReturn:
        problem = f"has the {field.label} {short(item)}, which {why}"
        raise ScheduleError("cron", self.expression, problem, hint)


def _macro(name: str) -> tuple[str, str]:
    """What is wrong with an expression that begins with this, and the remedy."""
    known = ", ".join(MACROS)
    if name in MACROS:
        return f"has more than the macro {name}", f"Write {name} alone."
    if name == "@reboot":
        return "is no moment: nothing here starts when a host does", "Name a time."
    return f"is no macro known here ({name})", f"Use {known} or an `every` schedule."


_ENDS = {
    ("minute", "60"): "An hour begins with minute 0.",
    ("hour", "24"): "A day begins with hour 0.",
}


def _forwards(field: Field, item: str) -> str:
    """The remedy for a backward range: the two ranges that it probably means."""
    first, last = item.partition("/")[0].split("-")
    bottom, top = str(field.low), str(field.end)
    if field.names and not (first + last).isdigit():
        bottom, top = field.names[0], field.names[-1]
    if field is WEEKDAY and first == str(_SUNDAY):  # where a week begins as well as ends
        return f"Write {bottom}-{last}."
    return f"Write {first}-{top},{bottom}-{last} to go over the end."


def _hint(field: Field, item: str) -> str:
    if "?" in item:
        return "Write * for any."
    if item.startswith(("+", "-")):
        return f"Write numbers without a sign, {field.low}-{field.high}."
    if item.startswith("0x"):
        return "Write numbers in decimal."
    if (field.label, item) in _ENDS:
        return _ENDS[field.label, item]
    if len(item) > 3 and item.isalpha() and item[:3] in field.names:
        return f"Write {item[:3]}: a name has three letters."
    if item[0] in "hr" and not item[1:2].isalpha():
        return "H and R are not supported: write the number itself."
    if item == "l" and field is WEEKDAY:
        return "Name the weekday: 5L is the last Friday of the month."
    names = f" or names, {field.names[0]} to {field.names[-1]}" if field.names else ""
    return f"Use the numbers {field.low}-{field.high}{names}, as n, n-m, *, n-m/step, in lists."
