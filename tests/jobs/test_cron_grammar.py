"""What the grammar takes, what it refuses, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest

from jobs.cron import grammar
from jobs.schedules import schedules
from jobs.schedules.schedules import Cron, ScheduleError
from tests.jobs import fuzz

NOW = datetime(2026, 1, 15, 10, 7, tzinfo=UTC)
HUGE = ",".join(map(str, range(100_000)))

REFUSED = [
    ("0 0 30 2 *", "never fires"),  # K005
    ("* * 31 11 *", "never fires"),  # K006
    ("0 0 31 4,6,9,11 *", "never fires"),
    ("*/5 0 31 4 *", "never fires"),
    ("0 0 31W 4 *", "never fires"),
    ("0 0 30W 2 *", "never fires"),
    ("0 0 L-30 2 *", "never fires"),
    ("0 0 * * L", "weekday"),  # K018
    ("0 0 * * L,1", "weekday"),
    ("*/60 * * * *", "1 to 59"),  # K021
    ("*/90 * * * *", "1 to 59"),
    ("*/1000000000 * * * *", "1 to 59"),
    ("* */24 * * *", "1 to 23"),
    ("*/0 * * * *", "1 to 59"),
    ("0 0 * * MONDAY", "day of week"),  # K023
    ("0 0 * january *", "month"),
    ("0 0 * * FRI-MON", "fri-sat,sun-mon"),  # K024
    ("0 22-2 * * *", "22-23,0-2"),
    ("10-5 * * * *", "10-59,0-5"),
    ("* */10 * * * *", "6 fields"),  # K029
    ("0 0 0 1 1 ? 2099", "7 fields"),
    ("0 9 * *", "4 fields"),
    ("", "is required"),
    ("   ", "is required"),
    ("0\u00a09 * * *", "NO-BREAK SPACE"),  # K031
    ("0 9 * * *\n", "U+000A"),
    ("0 9 * * *\x00", "U+0000"),
    ("\u0663 9 * * *", "ARABIC-INDIC DIGIT THREE"),  # K032
    ("0x10 * * * *", "minute"),
    ("1.5 * * * *", "minute"),
    ("+5 * * * *", "minute"),
    ("-5 * * * *", "minute"),
    ("1e1 * * * *", "minute"),
    ("60 * * * *", "0-59"),
    ("0 24 * * *", "0-23"),
    ("0 0 0 * *", "1-31"),
    ("0 0 32 * *", "1-31"),
    ("0 0 * 0 *", "1-12"),
    ("0 0 * 13 *", "1-12"),
    ("0 0 * * 8", "0-7"),
    ("0 0 * * 1#6", "#1 to #5"),
    ("0 0 * * 1#0", "#1 to #5"),
    ("0 0 * * 8L", "0-7"),
    ("0 0 L-31 * *", "L-30"),
    ("0 0 32W * *", "1-31"),
    ("L 0 * * *", "minute"),
    ("1,,2 * * * *", "comma"),
    ("1, * * * *", "comma"),
    (",1 * * * *", "comma"),
    ("*-5 * * * *", "minute"),
    ("1-2-3 * * * *", "minute"),
    ("1/2/3 * * * *", "minute"),
    ("/5 * * * *", "minute"),
    ("5/ * * * *", "minute"),
    ("** * * * *", "minute"),
    ("0 0 ? * *", "Write *"),
    ("H * * * *", "H and R"),
    ("R 0 * * *", "H and R"),
    ("H(0-5) * * * *", "H and R"),
    ("@reboot", "@reboot"),  # K033
    ("@every 5m", "every"),
    ("@daily now", "@daily"),
    ("0 9 * * * # nightly", "comment"),
    ("#0 9 * * *", "comment"),
    (f"{HUGE} * * * *", "255"),  # K034
    ("9" * 5000 + " * * * *", "255"),
    ("1-59/" + "9" * 4000 + " * * * *", "255"),
    ("9" * 240 + " * * * *", "0-59"),
]


@pytest.mark.parametrize(("expression", "word"), REFUSED, ids=lambda value: ascii(value)[:40])
def test_is_refused_with_field_value_and_remedy(expression: str, word: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        schedules.parse({"cron": expression}, now=NOW)
    error = refused.value
    assert error.field == "schedule.cron"
    assert str(error.value).split() == expression.split()
    assert error.hint
    assert word in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0 9-9 * * *", "0 9 * * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * 5-7", "0 0 * * fri,sat,sun"),
        ("0 0 * * FRI-sun", "0 0 * * 5-7"),
        ("0 0 * * sun-sun", "0 0 * * 0"),
        ("0 0 * * sun-tue", "0 0 * * 0-2"),
        ("0 0 * * 5/2", "0 0 * * 5"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("007 * * * *", "7 * * * *"),
        ("0 0 * JAN-mar *", "0 0 * 1,2,3 *"),
        ("0 0 * * 7L", "0 0 * * L0"),
        ("0 0 * * friL", "0 0 * * L5"),
        ("0 0 * * Fri#2", "0 0 * * 5#2"),
        ("0 0 l * *", "0 0 L-0 * *"),
        ("@yearly", "@annually"),
        ("@midnight", "@daily"),
        ("@weekly", "0 0 * * 7"),
        ("@monthly", "0 0 1 * *"),
        ("\t0  9 * *\t* ", "0 9 * * *"),
        ("0-59 0-23 * * *", "0-59 0-23 * 1-12 *"),
    ],
)
def test_two_spellings_of_one_schedule(one: str, other: str) -> None:
    assert grammar.parse(one) == grammar.parse(other)


def test_an_expression_is_kept_trimmed_and_otherwise_as_written() -> None:
    assert schedules.parse({"cron": " 0\t9 * *  MON-fri "}, now=NOW) == (Cron("0 9 * * MON-fri"),)


def test_a_full_range_is_no_star() -> None:
    assert not grammar.parse("0-59 0-23 * * *").starred
    assert grammar.parse("*/5 0 * * *").starred
    assert not grammar.parse("0 0 1-31 * 1").days.both
    assert grammar.parse("0 0 */2 * 1").days.both


SPARSE = [
    "0 0 29 2 */7",
    "0 0 * 2 1#5",
    "30 2 * 3 0#2",
    "*/15 2 * 3 0#2",
    "30 2 29 3 */7",
    "0-58 0-22 29 2 */7",
    "59 23 29 2 7#5",
    "0 0 30 2 *",
]


@pytest.mark.parametrize("expression", SPARSE)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Africa/Casablanca"])
def test_what_is_rare_or_never_takes_no_50_ms_either(expression: str, zone: str) -> None:
    assert fuzz.seconds({"cron": expression, "timezone": zone, "dst": "wall"}) < fuzz.MOST


ENDS = {
    0: ("0", "5", "59"),
    1: ("0", "3", "23"),
    2: ("1", "7", "31"),
    3: ("1", "3", "12", "jan", "apr", "dec"),
    4: ("0", "1", "6", "7", "sun", "mon", "sat"),
}


@pytest.mark.parametrize("place", ENDS)
def test_the_remedy_for_a_backward_range_is_accepted(place: int) -> None:
    for first, last in product(ENDS[place], repeat=2):
        parts = ["*"] * 5
        parts[place] = f"{first}-{last}"
        try:
            grammar.parse(" ".join(parts))
        except ScheduleError as error:
            parts[place] = error.hint.removeprefix("Write ").removesuffix(".").split(" to ")[0]
            grammar.parse(" ".join(parts))
