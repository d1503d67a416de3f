"""Schedules in plain words, where few words say exactly what the expression says. PURE.

An expression that would need many words has none: the page then shows the expression alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobs.calendars.days import Rule
from jobs.cron import grammar
from jobs.cron.days import DateWord, DayRule, LastWorkingDay, NthWorkingDay
from jobs.cron.grammar import Pattern
from jobs.periodic_tasks.rows import NEVER
from jobs.schedules.instants import canonical_instant
from jobs.schedules.schedules import At, Cron, Every, Schedule

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_MOST_NAMED = 4  # of hours or days; more is a list that nobody reads


def of_schedules(schedules: Sequence[Schedule]) -> str:
    """The words of each schedule, joined; empty as soon as one has none."""
    found = [of_schedule(schedule) for schedule in schedules]
    return "; ".join(found) if all(found) else ""


def of_schedule(schedule: Schedule) -> str:
    """One schedule in words, beginning with a capital; empty where there are no short ones."""
    match schedule:
        case Cron(expression):
            return _sentence(_of_pattern(grammar.parse(expression)))
        case Every(seconds):
            return _sentence(f"every {of_seconds(seconds)}")
        case At() if schedule in NEVER:
            return "No schedule"
        case At(moment):
            return f"Once, at {canonical_instant(moment)}"


def spelled(schedules: Iterable[Schedule]) -> str:
    """The schedules with all that they say, so that two that differ read differently."""
    return "; ".join(_spelled(schedule) for schedule in schedules)


def _spelled(schedule: Schedule) -> str:
    match schedule:
        case Cron(expression, timezone, dst):
            rule = ", following the clock when it changes" if dst == "wall" else ""
            return f"cron {expression}, {timezone}{rule}"
        case Every(anchor=anchor):
            return f"{of_schedule(schedule)}, counted from {canonical_instant(anchor)}"
        case At():
            return of_schedule(schedule)


def of_seconds(seconds: int) -> str:
    """`90` → `90 seconds`, `7200` → `2 hours`, `60` → `minute` (as in «every minute»)."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    count = seconds // size
    return unit if count == 1 else f"{count} {unit}s"


def of_calendar(name: str, rule: Rule) -> str:
    """What a job's calendar does to it, as the end of a sentence."""
    if rule == "skip":
        return f"not on days off of {name}"
    return f"a day off of {name} moved to the {rule} working day"


def zones_of(schedules: Iterable[Schedule]) -> tuple[str, ...]:
    """The zones that the schedules name, each once, in their order."""
    return tuple(dict.fromkeys(item.timezone for item in schedules if isinstance(item, Cron)))


def _of_pattern(pattern: Pattern) -> str:
    times, days = _times(pattern), _days(pattern)
    if not times or days is None:
        return ""
    if times.startswith("every"):
        return ", ".join(part for part in (times, days) if part)
    return f"{days or 'every day'} {times}"


def _times(pattern: Pattern) -> str:
    minutes, hours = pattern.minutes, pattern.hours
    if len(minutes) == 1 and len(hours) <= _MOST_NAMED:
        return "at " + joined([f"{hour:02}:{minutes[0]:02}" for hour in hours])
    if len(minutes) == 1 and (step := _step(hours, 24)):
        return f"every {of_seconds(step * 3600)} at minute {minutes[0]}"
    if len(hours) == 24 and (step := _step(minutes, 60)):
        return f"every {of_seconds(step * 60)}"
    return ""


def _step(values: tuple[int, ...], end: int) -> int:
    """The step of values that go round a clock of `end` evenly from 0 on; else 0."""
    even = end % len(values) == 0 and values == tuple(range(0, end, end // len(values)))
    return end // len(values) if even else 0


def _days(pattern: Pattern) -> str | None:
    """The words for the days; empty for every day, None where there are no short ones."""
    rule = pattern.days
    if rule.weekday_words:
        return None
    dates = _dates_of(rule)
    weekdays = "" if len(rule.weekdays) == 7 else _weekdays(sorted(rule.weekdays))
    if dates is None or weekdays is None or (rule.both and dates and weekdays):
        return None
    named = " or ".join(part for part in (dates, weekdays) if part)
    if len(pattern.months) == 12:
        return named
    months = joined([MONTHS[month - 1] for month in pattern.months])
    return f"{named or 'every day'} in {months}" if len(pattern.months) <= _MOST_NAMED else None


def _dates_of(rule: DayRule) -> str | None:
    """The words for the date field; empty for every date, None where there are no short ones."""
    if not rule.date_words:
        return "" if len(rule.dates) == 31 else _dates(sorted(rule.dates))
    named = sorted(map(_working_day, rule.date_words))
    if rule.dates or "" in [word for _, word in named] or len(named) > _MOST_NAMED:
        return None
    return f"on the {joined([word for _, word in named])} working day of the month"


def _working_day(word: DateWord) -> tuple[int, str]:
    """Where a word for a working day stands in its month, and how it is said."""
    match word:
        case NthWorkingDay(nth):
            return nth, ordinal(nth)
        case LastWorkingDay(before):
            return 99 - before, f"{ordinal(before + 1)} last" if before else "last"
        case _:
            return 0, ""


def _dates(dates: list[int]) -> str | None:
    if len(dates) > _MOST_NAMED:
        return None
    return f"on the {joined([ordinal(date) for date in dates])} of the month"


def _weekdays(weekdays: list[int]) -> str | None:
    if weekdays == [1, 2, 3, 4, 5]:
        return "Monday to Friday"
    if len(weekdays) > _MOST_NAMED:
        return None
    return "on " + joined([DAYS[day] for day in weekdays])


def ordinal(number: int) -> str:
    """`1` → `1st`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number < 20 else ending}"


def joined(words: list[str]) -> str:
    """`["a", "b", "c"]` → `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
