"""Celery's crontab fields as a cron expression of ours. PURE.

Two things differ. Celery lets a range run over the end (`22-2`) and spells names in full. And
where both a day of the month and a day of the week are given, Celery wants both to hold; in a
cron expression either is enough, unless one of the two fields begins with a star.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from jobs.cron import grammar
from jobs.cron.grammar import DATE, HOUR, MINUTE, MONTH, WEEKDAY, Field
from jobs.schedules.errors import ScheduleError


class Crontab(NamedTuple):
    """The five fields, as django-celery-beat keeps them, and the name of a zone."""

    minute: str
    hour: str
    date: str
    month: str
    weekday: str
    timezone: str


_NAME = re.compile(r"[A-Za-z]{3,}")
_RANGE = re.compile(r"([a-z]+|[0-9]+)-([a-z]+|[0-9]+)")
_EVERY_DATE = frozenset(range(1, 32))
_EVERY_WEEKDAY = frozenset(range(7))


def expression(crontab: Crontab) -> str:
    """Five fields with the meaning that Celery gives them. Raises ScheduleError where our
    grammar has no words for it."""
    minute = _field(MINUTE, crontab.minute)
    hour = _field(HOUR, crontab.hour)
    month = _field(MONTH, crontab.month)
    date, weekday = _days(_field(DATE, crontab.date), _field(WEEKDAY, crontab.weekday))
    return f"{minute} {hour} {date} {month} {weekday}"


def _field(field: Field, text: str) -> str:
    short = _NAME.sub(lambda name: name[0][:3].lower(), "".join(text.split())) or "*"
    return ",".join(_forwards(field, item) for item in short.split(","))


def _forwards(field: Field, item: str) -> str:
    """A range that runs over the end as the two that it stands for; anything else as it is."""
    found = _RANGE.fullmatch(item)
    if found is None:
        return item
    low, high = field.number(found[1]), field.number(found[2])
    if low is None or high is None or low <= high or (field is WEEKDAY and found[2] == "sun"):
        return item
    return f"{low}-{field.end},{field.low}-{high}"


def _days(date: str, weekday: str) -> tuple[str, str]:
    """Both day fields, spelled so that both must hold."""
    if date.startswith("*") or weekday.startswith("*"):
        return date, weekday
    named = grammar.parse(f"0 0 {date} * {weekday}").days
    if named.dates == _EVERY_DATE:
        return "*", weekday
    if named.weekdays == _EVERY_WEEKDAY:
        return date, "*"
    # A list that begins with a star makes both hold; these two add nothing that is not named.
    if 1 in named.dates:
        return f"*/31,{date}", weekday
    if 0 in named.weekdays:
        return date, f"*/7,{weekday}"
    raise ScheduleError(
        "crontab",
        f"{date} * {weekday}",
        "names days of the month and of the week, of which Celery wants both to hold",
        "Leave one of the two as *, or write 5#2 for the second Friday.",
    )
