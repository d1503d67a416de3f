"""What no schedule may be, refused in the same words at the form, the API and `manage.py due`.

Each refusal names the field, quotes the value and says the remedy.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from jobs.definitions.job_fields import WINDOW
from jobs.models import Job
from tests import make
from tests.api import Api
from tests.pages import Browser, typed

pytestmark = pytest.mark.django_db

NEVER = "Choose a day that its month has"
FIVE = "Write five fields"

# expression, what the refusal quotes, its remedy
EXPRESSIONS = [
    ("0 0 30 2 *", "'0 0 30 2 *' never fires", NEVER),
    ("0 0 31W 2 *", "'0 0 31W 2 *' never fires", NEVER),
    ("0 0 31 4,6,9,11 *", "never fires", NEVER),
    ("0 22-2 * * *", "hour '22-2', which runs backwards", "Write 22-23,0-2"),
    ("0 0 * * fri-mon", "day of week 'fri-mon', which runs backwards", "Write fri-sat,sun-mon"),
    ("*/60 * * * *", "minute '*/60', which has a step that does not fit", "from 1 to 59"),
    ("0 */24 * * *", "hour '*/24', which has a step", "from 1 to 23"),
    ("0 0 */32 * *", "day of month '*/32', which has a step", "from 1 to 31"),
    ("0 0 * */13 *", "month '*/13', which has a step", "from 1 to 12"),
    ("*/0 * * * *", "minute '*/0', which has a step", "from 1 to 59"),
    ("0 0 0 * * *", "has 6 fields: seconds and years are not supported", FIVE),
    ("0 0 0 * * * 2020", "has 7 fields: seconds and years are not supported", FIVE),
    ("0 0 * *", "has 4 fields", FIVE),
    ("0 0 * * 7-2", "day of week '7-2', which runs backwards", "Write 0-2."),
    ("TZ=UTC */20 * * * *", "names a time zone", "beside it, as `timezone`"),
    ("CRON_TZ=Asia/Tokyo 0 8 * * *", "names a time zone", "beside it, as `timezone`"),
    ("@reboot", "'@reboot' is no moment", "Name a time."),
    ("@daily UTC", "has more than the macro @daily", "Write @daily alone."),
    ("@every 5m", "no macro known here (@every)", "an `every` schedule"),
    ("0 0 ? * 1", "day of month '?'", "Write * for any."),
    ("0 0 * * * # nightly", "holds a comment", "Leave the comment out."),
    ("+5 * * * *", "minute '+5'", "without a sign"),
    ("-5 * * * *", "minute '-5'", "without a sign"),
    ("0x10 * * * *", "minute '0x10'", "in decimal"),
    ("٣ * * * *", "ARABIC-INDIC DIGIT THREE", "Use ASCII"),
    ("0\u00a09 * * *", "NO-BREAK SPACE", "plain blanks only"),
    ("1,,2 * * * *", "minute '1,,2', which has an empty place", "Remove the comma."),
    ("1, * * * *", "minute '1,', which has an empty place", "Remove the comma."),
    ("0 0 * * monday", "day of week 'monday'", "Write mon:"),
    ("0 0 * january *", "month 'january'", "Write jan:"),
    ("60 * * * *", "minute '60', which is outside 0-59", "begins with minute 0"),
    ("0 24 * * *", "hour '24', which is outside 0-23", "begins with hour 0"),
    ("0 0 0 * *", "day of month '0', which is outside 1-31", "the numbers 1-31"),
    ("0 0 * * 8", "day of week '8', which is outside 0-7", "sun to sat"),
    ("0 0 * * 5#6", "'5#6', which names a week that no month has", "Use #1 to #5."),
    ("0 0 * * L", "day of week 'l'", "5L is the last Friday"),
    ("R * * * *", "minute 'r'", "write the number itself"),
    ("1.5 * * * *", "minute '1.5'", "Use the numbers 0-59"),
    ("0 0 * * " + ",".join("1" * 140), "is longer than 255 characters", "several schedules"),
    ("", "is required", FIVE),
]
# the option, the field, its value, what the refusal quotes, its remedy
ZONES = [
    ("--zone", "timezone", "Mars/Base", "'Mars/Base' is not", "Name a place"),
    ("--zone", "timezone", "europe/berlin", "'europe/berlin' is not", "Write Europe/Berlin."),
    ("--zone", "timezone", "UTC+2", "'UTC+2' is not a known", "Name a place"),
    ("--dst", "dst", "twice", "'twice' is no rule", "Use once or wall."),
]
# schedule, the field of the API, the page's fields, what is quoted, the remedy
OTHERS: list[tuple[Any, str, dict[str, str], str, str]] = [
    (  # each year's second Sunday of March has no two o'clock there
        {"cron": "*/15 2 * 3 0#2", "timezone": "America/New_York"},
        "schedule.cron",
        {"cron": "*/15 2 * 3 0#2", "timezone": "America/New_York"},
        "never fires.",
        "at a time that its zone's clock shows",
    ),
    (
        {"every": 0},
        "schedule.every",
        {"schedule_kind": "every", "every": "0", "unit": "seconds"},
        "0 is no interval",
        "whole number of seconds",
    ),
    (
        {"every": 1.5},
        "schedule.every",
        {"schedule_kind": "every", "every": "1.5", "unit": "seconds"},
        "1.5",
        "whole number of seconds",
    ),
    (
        {"every": 60, "anchor": "2026-01-01T00:00"},
        "schedule.anchor",
        {"schedule_kind": "every", "every": "1", "anchor": "2026-01-01T00:00"},
        "'2026-01-01T00:00' has no offset",
        "with an offset",
    ),
    (
        {"at": "2020-01-01T00:00:00Z"},
        "schedule.at",
        {"schedule_kind": "at", "at": "2020-01-01T00:00:00Z"},
        "'2020-01-01T00:00:00Z' never fires after",
        "Choose a later instant.",
    ),
    (
        {"at": "2030-02-30T00:00:00Z"},
        "schedule.at",
        {"schedule_kind": "at", "at": "2030-02-30T00:00:00Z"},
        "is no date and time of the calendar",
        "Write it as",
    ),
    (
        [{"cron": "@daily"}, {"cron": "0 22-2 * * *"}],
        "schedule[1].cron",
        {
            "schedule_kind": "several",
            "several": '[{"cron": "@daily"}, {"cron": "0 22-2 * * *"}]',
        },
        "hour '22-2'",
        "Write 22-23,0-2",
    ),
    (
        [{"cron": "@daily", "at": "2030-01-01T00:00:00Z"}],
        "schedule[0]",
        {
            "schedule_kind": "several",
            "several": '[{"cron": "@daily", "at": "2030-01-01T00:00:00Z"}]',
        },
        "mixes cron and at",
        'Give {"cron"',
    ),
]


# the window, the field that is wrong, what the refusal quotes, its remedy
WINDOWS: list[tuple[dict[str, str], str, str, str]] = [
    (
        {"ends_at": "2020-01-01T00:00:00Z"},
        "ends_at",
        "'2020-01-01T00:00:00Z' leaves no moment to fire",
        "Choose a later one",
    ),
    (
        {"starts_at": "2031-01-01T00:00:00Z", "ends_at": "2030-01-01T00:00:00Z"},
        "ends_at",
        "'2030-01-01T00:00:00Z' lies before starts_at",
        "Choose an end after the start.",
    ),
    (
        {"starts_at": "9999-12-31T23:59:59Z"},
        "starts_at",
        "'9999-12-31T23:59:59Z' leaves no moment to fire",
        "choose an earlier one",
    ),
    (
        {"starts_at": "2030-01-01T00:00"},
        "starts_at",
        "'2030-01-01T00:00' has no offset",
        "with an offset",
    ),
    ({"ends_at": "soon"}, "ends_at", "'soon' is not an instant", "Write it as"),
]


@dataclass
class Doors:
    """One person at the API, at the form and at the command."""

    api: Api
    browser: Browser

    def refused_by_api(self, schedule: object, **more: str) -> tuple[str, str]:
        """The one problem's field, and all that it says."""
        answer = self.api.post("jobs/", make.shape(schedule=schedule, **more))
        assert answer.status == 400
        (problem,) = answer.body["errors"]
        assert problem["hint"]
        return problem["field"], f"{problem['message']} {problem['hint']}"

    def refused_by_form(self, **fields: str) -> tuple[str, str]:
        """The one field of the schedule that is wrong, and what stands there."""
        page = self.browser.send("/jobs/new/", typed(**fields))
        assert page.status == 422
        names = ("cron", "timezone", "dst", "every", "anchor", "at", "several", *WINDOW)
        (wrong,) = [(name, said) for name in names if (said := page.error(name))]
        return wrong

    def refused_by_due(self, *words: str) -> str:
        with pytest.raises(CommandError) as refused:
            call_command("due", *words, stdout=io.StringIO())
        assert refused.value.returncode == 2
        return str(refused.value)


@pytest.fixture
def doors() -> Iterator[Doors]:
    team = make.team()
    editor = make.editor(team)
    yield Doors(Api.of(team, editor), Browser(editor))
    assert not Job.objects.exists()


def test_an_expression_is_refused_alike_at_every_door(
    doors: Doors, subtests: pytest.Subtests
) -> None:
    for expression, quoted, remedy in EXPRESSIONS:
        with subtests.test(expression=expression):
            field, told = doors.refused_by_api({"cron": expression})
            name, at_form = doors.refused_by_form(cron=expression)
            by_due = doors.refused_by_due("--", expression)
            assert (field, name) == ("schedule.cron", "cron")
            assert by_due.startswith("schedule.cron: ")
            for said in (told, at_form, by_due):
                assert quoted in said
                assert remedy in said


def test_a_zone_and_a_rule_are_refused_alike_at_every_door(
    doors: Doors, subtests: pytest.Subtests
) -> None:
    for option, field, value, quoted, remedy in ZONES:
        with subtests.test(field=field, value=value):
            path, told = doors.refused_by_api({"cron": "@daily", field: value})
            name, at_form = doors.refused_by_form(**{field: value})
            by_due = doors.refused_by_due("@daily", option, value)
            assert (path, name) == (f"schedule.{field}", field)
            for said in (told, at_form, by_due):
                assert quoted in said
                assert remedy in said


def test_other_schedules_are_refused_alike_at_the_form_and_the_api(
    doors: Doors, subtests: pytest.Subtests
) -> None:
    for schedule, path, fields, quoted, remedy in OTHERS:
        with subtests.test(schedule=schedule):
            field, told = doors.refused_by_api(schedule)
            name, at_form = doors.refused_by_form(**fields)
            assert field == path
            assert name in (path.rpartition(".")[2], "several")
            if name == "several":
                assert at_form.startswith(f"{path}: "), "which one of them"
            for said in (told, at_form):
                assert quoted in said
                assert remedy in said


def test_a_window_is_refused_alike_at_the_form_and_the_api(
    doors: Doors, subtests: pytest.Subtests
) -> None:
    for window, field, quoted, remedy in WINDOWS:
        with subtests.test(window=window):
            path, told = doors.refused_by_api({"cron": "@daily"}, **window)
            name, at_form = doors.refused_by_form(cron="@daily", **window)
            assert (path, name) == (field, field)
            for said in (told, at_form):
                assert quoted in said
                assert remedy in said


def test_the_preview_refuses_as_saving_does(doors: Doors) -> None:
    several = json.dumps([{"cron": "@daily"}, {"cron": "0 25 * * *"}])
    page = doors.browser.get(f"/jobs/preview/?schedule_kind=several&several={several}")
    (partial,) = page.all("hx-partial", hx_target="#id_several_error")
    assert "schedule[1].cron: '0 25 * * *' has the hour '25'" in partial.text
