"""What people say of a calendar, read and checked, and the days off that follow from it.

{"description": "", "weekdays": ["mon", …], "days_off": [{"date": "2026-12-24", "label": ""}],
 "holidays": {"country": "US", "subdivision": "NY"}, "ical": text}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from jobs.calendars import days as calendars
from jobs.calendars import ical, public_holidays
from jobs.calendars.days import LONGEST_BREAK, WEEKDAY_NAMES
from jobs.definitions.errors import DefinitionError, Problem
from jobs.json_values import check_text
from jobs.schedules.errors import short
from jobs.targets.errors import TargetError

NAME_LENGTH = 60
FIELDS = ("description", "weekdays", "days_off", "holidays", "ical")
YEARS_AHEAD = 10
_OLDEST, _LATEST = 1970, 2199
_TEXT_LENGTH = 2_000
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
_ADDRESSES = ("new", "subdivisions")  # of pages
_USUAL = list(WEEKDAY_NAMES[:5])


@dataclass(frozen=True)
class Content:
    """What was said. `days_off` are the typed ones; `place` a country and its subdivision or ""."""

    description: str
    weekdays: tuple[str, ...]
    days_off: tuple[tuple[date, str], ...]
    place: tuple[str, str] | None
    ical: str | None


@dataclass(frozen=True)
class Expanded:
    """All days off with their names, ascending. `known_until`: after it none is known; None
    without any. `goes_on`: working them out anew in a later year would bring more."""

    days: dict[date, str]
    known_until: date | None
    goes_on: bool


def name(given: object) -> str:
    """The name of a calendar. Raises DefinitionError."""
    if isinstance(given, str) and _NAME.fullmatch(given) and given not in _ADDRESSES:
        return given
    what = "is required." if given in (None, "") else f"{short(given)} is no name."
    hint = f"Use small letters, digits and hyphens, at most {NAME_LENGTH}, as us-banking."
    raise DefinitionError([Problem("name", what, hint)])


def read(data: object, *, beside: Collection[str] = ()) -> Content:
    """The content in its API shape. Raises DefinitionError with every problem."""
    if not isinstance(data, Mapping):
        raise DefinitionError([Problem("body", "must be a JSON object.")])
    reader = _Reader()
    content = reader.content(data)
    for field in data:
        if field not in FIELDS and field not in beside:
            known = ", ".join((*beside, *FIELDS))
            reader.refuse(str(field)[:80], "is unknown.", f"Known: {known}.")
    if reader.problems:
        raise DefinitionError(reader.problems)
    return content


def shape(content: Content) -> dict[str, Any]:
    """What `read` takes."""
    place = content.place
    return {
        "description": content.description,
        "weekdays": list(content.weekdays),
        "days_off": [{"date": str(day), "label": label} for day, label in content.days_off],
        "holidays": {"country": place[0], "subdivision": place[1] or None} if place else None,
        "ical": content.ical,
    }


def expand(content: Content, today: date) -> Expanded:
    """All days off, holidays and repeated events from last year to ten years ahead. Raises
    DefinitionError where the iCal text is refused, or no week is left to work in."""
    first, last = date(today.year - 1, 1, 1), date(today.year + YEARS_AHEAD, 12, 31)
    days: dict[date, str] = {}
    horizons: list[date] = []
    if content.ical is not None:
        found = _of_ical(content.ical, first, last)
        days |= found.days
        horizons += [last] if found.endless else []
    if content.place is not None:
        days |= public_holidays.days_of(*content.place, first.year, last.year)
        known = public_holidays.last_known_year(content.place[0])
        horizons.append(min(last, date(known, 12, 31)))
    days |= {day: label or days.get(day, "") for day, label in content.days_off}
    days = dict(sorted(days.items()))
    _refuse_too_much(content.weekdays, days)
    return Expanded(days, max([*days, *horizons], default=None), bool(horizons))


def _of_ical(text: str, first: date, last: date) -> ical.Found:
    try:
        found = ical.days_off(text, first, last)
    except ical.IcalError as error:
        raise DefinitionError([Problem("ical", error.message, error.hint)]) from None
    if not found.days:
        what = f"names no day from {first.year} to {last.year}."
        raise DefinitionError([Problem("ical", what, "Give a newer file, or leave it out.")])
    return found


def _refuse_too_much(weekdays: Collection[str], days: dict[date, str]) -> None:
    if len(days) > ical.MOST_DAYS:
        what = f"{len(days):,} days off are too many."
        raise DefinitionError([Problem("days_off", what, f"Keep at most {ical.MOST_DAYS:,}.")])
    longest = calendars.longest_break([WEEKDAY_NAMES.index(day) for day in weekdays], days)
    if longest is not None and longest[1] > LONGEST_BREAK:
        what = f"From {longest[0]} on {longest[1]} days in a row are off."
        hint = f"Leave a working day in any {LONGEST_BREAK} days; pause jobs for longer."
        raise DefinitionError([Problem("days_off", what, hint)])


class _Reader:
    """Reads field by field and gathers the problems on the way."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def refuse(self, field: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(field, message, hint))

    def content(self, data: Mapping[str, Any]) -> Content:
        return Content(
            description=self.text(data.get("description", ""), "description", _TEXT_LENGTH),
            weekdays=self.weekdays(data.get("weekdays", _USUAL)),
            days_off=self.days_off(data.get("days_off", [])),
            place=self.place(data.get("holidays")),
            ical=self.ical(data.get("ical")),
        )

    def text(self, given: object, field: str, most: int) -> str:
        if not isinstance(given, str):
            self.refuse(field, "must be text.", "Write it in double quotes.")
            return ""
        if len(given) > most:
            self.refuse(
                field, f"has {len(given)} characters; at most {most} are kept.", "Shorten it."
            )
        try:
            check_text(given, field)
        except TargetError as error:
            self.refuse(field, error.message, error.hint)
        return given.strip()

    def weekdays(self, given: object) -> tuple[str, ...]:
        known = ", ".join(WEEKDAY_NAMES)
        if not isinstance(given, list) or not given:
            self.refuse("weekdays", "names no working weekday.", f"List some of {known}.")
            return ("mon",)
        for day in given:
            if day not in WEEKDAY_NAMES:
                self.refuse("weekdays", f"{short(day)} is no weekday.", f"Use {known}.")
        return tuple(day for day in WEEKDAY_NAMES if day in given)

    def days_off(self, given: object) -> tuple[tuple[date, str], ...]:
        if not isinstance(given, list) or len(given) > ical.MOST_DAYS:
            hint = 'Write [{"date": "2026-12-24", "label": "Christmas Eve"}].'
            self.refuse("days_off", f"must be a list of at most {ical.MOST_DAYS:,} days.", hint)
            return ()
        found: dict[date, str] = {}
        for place, item in enumerate(given):
            path = f"days_off[{place}]"
            if not isinstance(item, Mapping) or not {"date"} <= item.keys() <= {"date", "label"}:
                self.refuse(path, "must be an object.", "It holds `date` and `label`.")
            elif (day := self.date(item["date"], f"{path}.date")) in found:
                self.refuse(f"{path}.date", f"{day} is named twice.", "Leave one of them.")
            elif day is not None:
                label = item.get("label", "")
                found[day] = self.text(label, f"{path}.label", ical.LABEL_LENGTH)
        return tuple(sorted(found.items()))

    def date(self, given: object, path: str) -> date | None:
        try:
            if not isinstance(given, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", given):
                raise ValueError
            day = date.fromisoformat(given)
        except ValueError:
            self.refuse(path, f"{short(given)} is no date.", "Write it as 2026-12-24.")
            return None
        if not _OLDEST <= day.year <= _LATEST:
            self.refuse(path, f"{day} is too far away.", f"Use {_OLDEST} to {_LATEST}.")
            return None
        return day

    def place(self, given: object) -> tuple[str, str] | None:
        if given is None:
            return None
        if not isinstance(given, Mapping) or not given.keys() <= {"country", "subdivision"}:
            hint = 'Say null, or {"country": "US", "subdivision": "NY"}.'
            self.refuse("holidays", "must be an object.", hint)
            return None
        country, part = given.get("country"), given.get("subdivision") or ""
        if not isinstance(country, str) or country not in public_holidays.countries():
            hint = "Use a code of two letters, as US or DE."
            self.refuse("holidays.country", f"{short(country)} is no country known here.", hint)
            return None
        parts = public_holidays.subdivisions(country)
        if part and (not isinstance(part, str) or part not in parts):
            hint = f"Known of {country}: {', '.join(parts) or 'none'}."
            self.refuse("holidays.subdivision", f"{short(part)} is no part of {country}.", hint)
            return None
        return country, part

    def ical(self, given: object) -> str | None:
        if given is None or given == "":
            return None
        if not isinstance(given, str):
            self.refuse("ical", "must be text.", "Give the text of an .ics file, or null.")
            return None
        try:
            return ical.read(given.encode(errors="replace"))
        except ical.IcalError as error:
            self.refuse("ical", error.message, error.hint)
            return None
