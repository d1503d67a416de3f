"""What an expression may not say as it was meant: each remark where it belongs, and no other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from jobs.cron import remarks
from jobs.schedules import schedules
from jobs.schedules.schedules import Cron

TODAY = date(2026, 11, 30)  # a Monday


def remarks_on(expression: str, timezone: str = "UTC") -> list[str]:
    return remarks.of_cron(Cron(expression, timezone), TODAY)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 13 * 5", "either is enough"),
        ("0 0 13 * 5", "as on Friday, 4 December by its weekday and Sunday, 13 December by its"),
        ("0 0 8-14 * 1", "The 2nd Monday of the month alone is * * 1#2."),
        ("0 0 L * 5", "Thursday, 31 December by its date"),
        ("0 0 */2 * 1", "both must hold: the job is due only on days that match both, as on"),
        ("0 0 */2 * 1", "Monday, 7 December, Monday, 21 December and Monday, 11 January"),
        ("0 0 1-31 * 5", "the day of week changes nothing. Write * for the day of month"),
        ("0 0 1 * 0-6", "the day of month changes nothing. Write * for the day of week"),
        ("* 2 * * *", "60 times an hour, from 02:00 to 02:59. For once an hour write 0 2 * * *."),
        ("0-59 2 * * *", "The minute is 0-59"),
        ("*/7 * * * *", "after :56 comes :00, 4 minutes later"),
        ("*/59 * * * *", "after :59 comes :00, 1 minute later"),
        ("5/9 * * * *", "after :59 comes :05, 6 minutes later"),
        ("0 */5 * * *", "after 20:00 comes 00:00, 4 hours later"),
        ("0 0 */2 * *", "begins anew with each month"),
        ("0 0 31 * *", "Not due in February, April, June, September and November"),
        ("0 0 31W * *", "Not due in February, April, June, September and November"),
        ("0 0 30 * *", "Not due in February: it has no 30th. The last day of a month"),
        ("0 0 29 2 *", "The 29th of February comes in leap years only."),
        ("0 0 29-31 * *", "In February it is due in leap years only."),
        ("0 0 * * 5#5", "Not every month has a fifth Friday. Its last Friday is 5L."),
    ],
)
def test_says_what_it_does_and_what_to_write_instead(expression: str, words: str) -> None:
    assert any(words in remark for remark in remarks_on(expression))


@pytest.mark.parametrize(
    "expression",
    [
        *("0 18 * * 1-5", "*/15 * * * *", "3/15 * * * *", "0 */4 * * *", "* * * * *", "@hourly"),
        *("0,45 * * * *", "0-30/7 * * * *", "0 0 L * *", "0 0 15,31 * *", "0 0 31 1,3,5 *"),
        *("0 0 1 * *", "0 0 * * 5L", "0 0 31,L * *", "0 0 28 2 *", "@monthly", "0 0 LW * *"),
        *("0 0 * * 5#5,5#1", "* */1 * * *", "0 0 29 1,3 *"),
    ],
)
def test_most_expressions_need_no_remark(expression: str) -> None:
    assert remarks_on(expression) == []


def test_a_zone_that_misleads_is_remarked_on() -> None:
    assert remarks_on("0 0 * * *", "Etc/GMT+3") == [
        "Etc/GMT+3 is UTC-3: the sign of these names is reversed."
    ]


@pytest.mark.parametrize("expression", ["0 0 13 * 5", "0 0 L * 5", "0 0 1-7 * 1", "0 0 15W * 2#3"])
def test_the_days_that_a_remark_names_are_due(expression: str) -> None:
    start = datetime(2026, 11, 30, 23, tzinfo=UTC)
    found = schedules.parse({"cron": expression}, now=start)
    due = {
        f"{at:%A}, {at.day} {at:%B}"
        for at in schedules.moments_between(found, start, start + timedelta(days=365), 500)
    }
    (remark,) = remarks_on(expression)
    named = remark.partition("as on ")[2].partition(".")[0]
    days = [part.partition(" by its ")[0] for part in named.split(" and ")]
    assert len(days) == 2
    assert set(days) <= due


def test_the_end_of_the_calendar_is_no_error() -> None:
    assert remarks.of_cron(Cron("0 0 13 * 5"), date.max)
