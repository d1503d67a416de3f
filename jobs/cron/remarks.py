"""What a person who wrote a cron expression may not expect of it. PURE.

None of this is refused: each expression here is right for somebody. A remark says what it does,
and how to write what was perhaps meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice

from jobs.cron import grammar
from jobs.cron.days import DayRule, NearestWorkday, NthWeekday, matching_days, shape_of
from jobs.cron.grammar import Pattern
from jobs.schedules import zones
from jobs.schedules.values import Cron
from jobs.words import DAYS, MONTHS, joined, ordinal

_STEP = re.compile(r"(\*|[0-9]+)/(?P<step>[0-9]+)", re.ASCII)
_LOOK = 366  # days gone through for examples
_LEAP, _COMMON = 2028, 2027  # a year of either length, for the lengths of their months


def of_cron(schedule: Cron, today: date) -> list[str]:
    """The remarks on one schedule; none for most. Examples begin after `today`."""
    pattern = grammar.parse(schedule.expression)
    fields = grammar.fields(schedule.expression)
    found = [
        _two_day_fields(pattern, today),
        _every_minute(pattern, fields),
        *_uneven_steps(pattern, fields),
        _short_months(pattern),
        _fifth_weekday(pattern.days),
        zones.remark(schedule.timezone),
    ]
    return [text for text in found if text]


def _two_day_fields(pattern: Pattern, today: date) -> str:
    rule = pattern.days
    limited = _limits_dates(rule), _limits_weekdays(rule)
    if not rule.both and limited.count(True) == 1:
        full, other = ("month", "week") if limited[1] else ("week", "month")
        return (
            f"Day of {full} names every day, and either day field is enough: the day of {other} "
            f"changes nothing. Write * for the day of {full} to go by the day of {other} alone."
        )
    if not all(limited):
        return ""
    if rule.both:
        days = [_day(day) for day in islice(_days(pattern, rule, today), 3)]
        shown = f", as on {joined(days)}" if days else ""
        return (
            "Day of month and day of week are both set and one of them begins with *, so both "
            f"must hold: the job is due only on days that match both{shown}."
        )
    return (
        "Day of month and day of week are both set, and either is enough: the job is due on every "
        f"day that matches one of them{_one_sided(pattern, today)}.{_nth_weekday(rule)}"
    )


def _one_sided(pattern: Pattern, today: date) -> str:
    """A day that is due by its date alone, and one that is by its weekday alone."""
    rule, nothing = pattern.days, frozenset[int]()
    dates = DayRule(rule.dates, rule.date_words, nothing, frozenset(), both=False)
    weekdays = DayRule(nothing, frozenset(), rule.weekdays, rule.weekday_words, both=False)
    by_date, by_weekday = (set(_days(pattern, side, today)) for side in (dates, weekdays))
    alone = [(day, "date") for day in sorted(by_date - by_weekday)[:1]]
    alone += [(day, "weekday") for day in sorted(by_weekday - by_date)[:1]]
    shown = [f"{_day(day)} by its {why}" for day, why in sorted(alone)]
    return f", as on {joined(shown)}" if shown else ""


def _nth_weekday(rule: DayRule) -> str:
    """The remedy where a week of dates beside a weekday was to mean the n-th one."""
    first = min(rule.dates, default=0)
    week = frozenset(range(first, first + 7))
    if first not in (1, 8, 15, 22) or rule.dates != week or len(rule.weekdays) != 1:
        return ""
    nth, weekday = (first + 6) // 7, min(rule.weekdays)
    return f" The {ordinal(nth)} {DAYS[weekday]} of the month alone is * * {weekday}#{nth}."


def _days(pattern: Pattern, rule: DayRule, today: date) -> Iterator[date]:
    """The days of the next year, from tomorrow on, that `rule` names in the pattern's months."""
    if today.year >= date.max.year - 1:
        return
    for ahead in range(1, _LOOK + 1):
        day = today + timedelta(days=ahead)
        if day.month in pattern.months:
            named = matching_days(rule, shape_of(day.year, day.month))
            if day.day in named:
                yield day


def _every_minute(pattern: Pattern, fields: list[str]) -> str:
    if len(pattern.minutes) < 60 or len(pattern.hours) == 24:
        return ""
    first = pattern.hours[0]
    return (
        f"The minute is {fields[0]}, so the job is due 60 times an hour, from {first:02}:00 to "
        f"{first:02}:59. For once an hour write 0 {' '.join(fields[1:])}."
    )


def _uneven_steps(pattern: Pattern, fields: list[str]) -> Iterator[str]:
    """Steps that begin anew with the next larger unit before they have gone round."""
    for text, values, size, unit, shown in (
        (fields[0], pattern.minutes, 60, "minute", "each hour: after :{:02} comes :{:02}"),
        (fields[1], pattern.hours, 24, "hour", "each day: after {:02}:00 comes {:02}:00"),
    ):
        step = _STEP.fullmatch(text)
        rest = values[0] + size - values[-1]
        if step and len(values) > 1 and rest != int(step["step"]):
            after = shown.format(values[-1], values[0])
            short = f"{rest} {unit}{'s' if rest > 1 else ''} later"
            yield (
                f"{text} begins anew with {after}, {short}. For one length throughout choose an "
                "interval instead of an expression."
            )
    step = _STEP.fullmatch(fields[2])
    if step and len(pattern.days.dates) > 1 and not _limits_weekdays(pattern.days):
        yield (
            f"{fields[2]} begins anew with each month, so that the last days of one and the first "
            f"of the next are not {step['step']} days apart."
        )


def _short_months(pattern: Pattern) -> str:
    """For dates that some months do not have, where no other day is due in them."""
    rule = pattern.days
    dates = {*rule.dates, *(w.date for w in rule.date_words if isinstance(w, NearestWorkday))}
    others = [word for word in rule.date_words if not isinstance(word, NearestWorkday)]
    if not dates or others or min(dates) < 29 or (_limits_weekdays(rule) and not rule.both):
        return ""
    first = min(dates)
    never = [m for m in pattern.months if shape_of(_LEAP, m).length < first]
    leap = [
        m for m in pattern.months if shape_of(_COMMON, m).length < first and m not in never
    ]  # February for a 29th
    if leap:
        alone = "The 29th of February comes" if pattern.months == (2,) else "In February it is due"
        return f"{alone} in leap years only. The last day of a month is L."
    if not never:
        return ""
    named = joined([MONTHS[month - 1] for month in never])
    lacks = "they have" if len(never) > 1 else "it has"
    return (
        f"Not due in {named}: {lacks} no {ordinal(first)}. The last day of a month, whatever its "
        "length, is L."
    )


def _fifth_weekday(rule: DayRule) -> str:
    fifth = [word for word in rule.weekday_words if isinstance(word, NthWeekday) and word.nth == 5]
    if not fifth or len(rule.weekday_words) > 1 or rule.weekdays:
        return ""
    day = DAYS[fifth[0].weekday]
    return f"Not every month has a fifth {day}. Its last {day} is {fifth[0].weekday}L."


def _limits_dates(rule: DayRule) -> bool:
    return len(rule.dates) < 31


def _limits_weekdays(rule: DayRule) -> bool:
    return len(rule.weekdays) < 7


def _day(day: date) -> str:
    return f"{DAYS[day.isoweekday() % 7]}, {day.day} {MONTHS[day.month - 1]}"
