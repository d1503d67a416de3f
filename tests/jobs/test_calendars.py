"""Working days against an enumeration day by day that shares no code with the product."""

from __future__ import annotations

import calendar as months
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from jobs import words
from jobs.calendars import days as calendars
from jobs.calendars import notes as calendar_notes
from jobs.calendars.days import (
    MONDAY_TO_FRIDAY,
    RULES,
    Calendar,
    Rule,
    business_date,
    nth_working_day,
)
from jobs.schedules import local_times, schedules
from jobs.schedules.schedules import Cron, ScheduleError
from tests.jobs import enumeration
from tests.jobs.moments import NOW, TICK, WIDTH, at

DAY = timedelta(days=1)
US = Calendar(
    frozenset(range(5)),
    {
        date(2026, 7, 3): "Independence Day (observed)",
        date(2026, 7, 4): "Independence Day",
        date(2026, 12, 25): "Christmas Day",
        date(2027, 1, 1): "New Year's Day",
    },
    date(2027, 12, 31),
)

# --- the enumeration ----------------------------------------------------------------------------


def works(day: date, calendar: Calendar) -> bool:
    return day.weekday() in calendar.weekdays and day not in calendar.days_off


def named(expression: str, day: date, calendar: Calendar) -> bool:
    """Whether the expression's month and day fields name a day; `3B` by counting."""
    _, _, dates, month, weekday = expression.split()
    length = months.monthrange(day.year, day.month)[1]
    if not enumeration.holds(month, day.month, 1, 12):
        return False
    counts = "b" in dates.lower()
    working = [d for d in range(1, length + 1) if counts and works(day.replace(day=d), calendar)]
    hits, others = [], []
    for item in dates.upper().split(","):
        if not item.endswith("B"):
            others.append(item)
            continue
        count = int(item.strip("LB-") or 0)
        place = len(working) - 1 - count if item.startswith("L") else count - 1
        hits.append(0 <= place < len(working) and working[place] == day.day)
    moment = datetime.combine(day, time(0))
    date_named = any(hits) or (bool(others) and enumeration.date_named(",".join(others), moment))
    weekday_named = enumeration.weekday_named(weekday, moment)
    both = "*" in (dates[0], weekday[0])
    return (date_named and weekday_named) if both else (date_named or weekday_named)


def comes(expression: str, calendar: Calendar, rule: Rule, first: date, last: date) -> list[date]:
    """The days on which the expression comes, in [first, last]."""
    found = set()
    day = first - 70 * DAY
    while day <= last + 70 * DAY:
        if named(expression, day, calendar):
            there = day
            while not works(there, calendar) and rule != "skip":
                there += DAY if rule == "next" else -DAY
            if works(there, calendar):
                found.add(there)
        day += DAY
    return sorted(one for one in found if first <= one <= last)


def some_calendar(dice: Random) -> Calendar:
    weekdays = frozenset(dice.sample(range(7), dice.randint(1, 7)))
    days = [date(2026, 1, 1) + DAY * dice.randint(-40, 800) for _ in range(dice.choice((0, 9, 90)))]
    return Calendar(weekdays, dict.fromkeys(days, ""))


def some_expression(dice: Random) -> str:
    nth = [f"{dice.randint(1, 23)}B", "LB", f"L-{dice.randint(1, 22)}B", "1b"]
    date_ = dice.choice(["*", "*", "1", "31", "L", "15,LW", "*/3", *nth, f"{nth[0]},{nth[2]}"])
    month = dice.choice(["*", "*", "*", "2", "3-12", "*/5"])
    return f"0 12 {date_} {month} {dice.choice(['*', '*', '6', 'sat,sun', '5#1', 'mon-fri'])}"


@pytest.mark.parametrize("seed", range(40 * WIDTH))
def test_days_are_those_of_an_enumeration(seed: int) -> None:
    dice = Random(seed)
    calendar, expression = some_calendar(dice), some_expression(dice)
    rule, zone = dice.choice(RULES), dice.choice(("UTC", "America/New_York", "Pacific/Chatham"))
    first = date(2026, 1, 1) + DAY * dice.randint(0, 300)
    last = first + DAY * 400
    noon = [
        datetime.combine(day, time(12), ZoneInfo(zone)).astimezone(UTC)
        for day in comes(expression, calendar, rule, first, last)
    ]
    schedule = (Cron(expression, zone, "once", calendar, rule),)
    after = datetime.combine(first, time(0), ZoneInfo(zone)).astimezone(UTC) - TICK
    until = datetime.combine(last + DAY, time(0), ZoneInfo(zone)).astimezone(UTC) - TICK
    assert schedules.moments_between(schedule, after, until, 1000) == noon, (expression, rule)
    assert schedules.count_between(schedule, after, until) == len(noon)
    assert schedules.newest_between(schedule, after, until) == (noon[-1] if noon else None)


@pytest.mark.parametrize("seed", range(20 * WIDTH))
def test_without_a_calendar_working_days_are_monday_to_friday(seed: int) -> None:
    dice = Random(seed)
    expression = f"0 12 {dice.choice(['1B', '23B', 'LB', 'L-2B', '3b,15', '22B'])} * *"
    first, last = date(2026, 1, 1), date(2029, 12, 31)
    week = Calendar(frozenset(range(5)))
    noon = [
        datetime.combine(first + DAY * n, time(12), UTC)
        for n in range((last - first).days + 1)
        if named(expression, first + DAY * n, week)
    ]
    after, until = at("2025-12-31T23:59:59Z"), at("2029-12-31T23:59:59Z")
    assert schedules.moments_between((Cron(expression),), after, until, 1000) == noon
    assert schedules.count_between((Cron(expression),), after, until) == len(noon)


# --- one by one -----------------------------------------------------------------------------


def previewed(expression: str, rule: Rule, after: str, count: int = 1) -> list[tuple[str, str]]:
    schedule = schedules.parse({"cron": expression, "timezone": "America/New_York"}, now=NOW)
    found = schedules.preview(schedules.with_calendar(schedule, US, rule), at(after), count)
    return [(moment.local[:16], moment.note) for moment in found]


def test_a_day_off_is_skipped_and_the_next_moment_says_so() -> None:
    assert previewed("0 9 * * *", "skip", "2026-12-24T20:00:00Z", 2) == [
        (
            "2026-12-28T09:00",
            "skips Friday 25 December 2026 (Christmas Day), Saturday 26 December 2026 and Sunday "
            "27 December 2026",
        ),
        ("2026-12-29T09:00", ""),
    ]


def test_a_moment_rolls_and_says_from_where() -> None:
    rolled = [("2026-07-06T09:00", "rolled from Saturday 4 July 2026 (Independence Day)")]
    assert previewed("0 9 4 7 *", "next", "2026-07-01T00:00:00Z") == rolled
    back = [("2026-07-02T09:00", "rolled from Saturday 4 July 2026 (Independence Day)")]
    assert previewed("0 9 4 7 *", "previous", "2026-07-01T00:00:00Z") == back


def test_days_that_roll_onto_one_day_are_one_moment() -> None:
    assert previewed("0 9 * * *", "next", "2026-07-02T20:00:00Z", 2) == [
        (
            "2026-07-06T09:00",
            "also for Friday 3 July 2026 (Independence Day (observed)), Saturday 4 July 2026 "
            "(Independence Day) and Sunday 5 July 2026",
        ),
        ("2026-07-07T09:00", ""),
    ]


def test_of_a_day_with_many_moments_only_the_first_one_is_noted() -> None:
    found = previewed("*/30 9 * * *", "skip", "2026-07-02T20:00:00Z", 2)
    assert [bool(note) for _, note in found] == [True, False]


def test_what_lies_beyond_the_known_days_says_so() -> None:
    said = "Days off are known until 31 December 2027; after that only weekdays count."
    cron = Cron("0 9 * * *", "America/New_York", "once", US)
    assert calendar_notes.remark(cron, at("2028-01-01T06:00:00Z")) == said
    assert calendar_notes.remark(cron, at("2028-01-01T04:00:00Z")) == ""
    assert calendar_notes.remark(Cron("0 9 * * *"), at("2028-01-01T06:00:00Z")) == ""


def test_a_roll_crosses_months_and_the_end_of_february() -> None:
    assert previewed("0 9 28 2 *", "next", "2026-01-01T00:00:00Z")[0][0] == "2026-03-02T09:00"
    assert previewed("0 9 1 3 *", "previous", "2026-01-01T00:00:00Z")[0][0] == "2026-02-27T09:00"


def test_the_change_of_the_clock_and_the_calendar_are_both_told() -> None:
    [(shown, note)] = previewed("30 2 8 3 *", "previous", "2026-01-01T00:00:00Z")
    assert (shown, note) == ("2026-03-06T02:30", "rolled from Sunday 8 March 2026")
    working = Calendar(frozenset(range(7)), {date(2026, 3, 7): "Inventory"})
    schedule = schedules.parse({"cron": "30 2 * * *", "timezone": "America/New_York"}, now=NOW)
    schedule = schedules.with_calendar(schedule, working, "next")
    [moment] = schedules.preview(schedule, at("2026-03-07T12:00:00Z"), 1)
    assert moment.note == (
        "02:30 does not exist on 8 March 2026; runs at 03:00; also for Saturday 7 March 2026 "
        "(Inventory)"
    )


@pytest.mark.parametrize("rule", RULES)
def test_the_years_end(rule: Rule) -> None:
    schedule = (Cron("0 9 31 12 *", "UTC", "once", US, rule),)
    assert schedules.next_moment(schedule, at("9999-12-30T23:00:00Z")) is None
    off = Calendar(frozenset({0}), {})  # 31 December 9999 is a Friday
    schedule = (Cron("0 9 * 12 *", "UTC", "once", off, rule),)
    assert schedules.next_moment(schedule, at("9999-12-28T00:00:00Z")) is None


def test_a_cron_that_a_calendar_never_lets_fire_has_no_moment_and_takes_no_time() -> None:
    saturdays = (Cron("0 9 * * 6", "UTC", "once", US, "skip"),)
    assert schedules.next_moment(saturdays, NOW) is None
    assert schedules.count_between(saturdays, NOW, NOW + 3650 * DAY) == 0


def test_a_calendar_does_not_go_with_intervals_and_instants() -> None:
    for other in ({"every": 60}, {"at": "2027-01-01T00:00:00Z"}):
        found = schedules.parse([{"cron": "0 9 * * *"}, other], now=NOW)
        with pytest.raises(ScheduleError, match="has no days for a calendar") as refused:
            schedules.with_calendar(found, US, "skip")
        assert refused.value.field == "calendar"


@pytest.mark.parametrize("word", ["0B", "24B", "L-24B", "99B"])
def test_a_count_that_no_month_has_is_refused(word: str) -> None:
    with pytest.raises(ScheduleError, match="counts beyond the working days") as refused:
        schedules.parse({"cron": f"0 9 {word} * *"}, now=NOW)
    assert "1B to 23B" in refused.value.hint


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("0 9 3B * *", "On the 3rd working day of the month at 09:00"),
        ("0 9 1B,LB * *", "On the 1st and last working day of the month at 09:00"),
        ("0 9 L-1B 12 *", "On the 2nd last working day of the month in December at 09:00"),
        ("0 9 LW * *", ""),
        ("0 9 15,3B * *", ""),
    ],
)
def test_working_days_in_words(expression: str, said: str) -> None:
    assert words.of_schedule(Cron(expression)) == said


# --- dates ----------------------------------------------------------------------------------


def test_the_business_date_is_the_day_or_the_working_day_before() -> None:
    assert business_date(date(2026, 7, 5), US) == date(2026, 7, 2)
    assert business_date(date(2026, 7, 5)) == date(2026, 7, 3)
    assert business_date(date(2026, 7, 6)) == date(2026, 7, 6)


def test_the_nth_working_day_from_either_end() -> None:
    assert nth_working_day(US, 2026, 7, 3) == date(2026, 7, 6)
    assert nth_working_day(US, 2026, 12, -1) == date(2026, 12, 31)
    assert nth_working_day(US, 2026, 12, -5) == date(2026, 12, 24)
    assert nth_working_day(MONDAY_TO_FRIDAY, 2026, 2, 21) is None
    assert nth_working_day(MONDAY_TO_FRIDAY, 2026, 2, -21) is None


def test_the_longest_break_is_found() -> None:
    off = [date(2026, 12, day) for day in range(24, 32)] + [date(2026, 5, 1)]
    assert calendars.longest_break(range(5), off) == (date(2026, 12, 24), 8)
    assert calendars.longest_break(range(5), [date(2026, 5, 1)]) == (date(2026, 5, 1), 3)
    assert calendars.longest_break(range(7), []) is None


def test_a_target_is_told_the_business_date_of_its_jobs_calendar() -> None:
    sunday = at("2026-07-05T12:00:00Z")
    for calendar, said in ((US, "2026-07-02"), (None, "2026-07-03")):
        found = (Cron("0 9 * * *", "America/New_York", "once", calendar, "skip"),)
        assert local_times.values(found, sunday, "key").business_date == said


def test_a_rolled_moment_is_told_on_the_clock_of_the_schedule_that_rolled_it() -> None:
    berlin = Cron("0 9 4 7 *", "Europe/Berlin", "once", US, "next")
    both = (Cron("0 12 1 1 *", "Asia/Tokyo", "once", US, "next"), berlin)
    rolled = at("2026-07-06T07:00:00Z")
    assert local_times.values(both, rolled, "key").due_local == "2026-07-06T09:00:00+02:00"
