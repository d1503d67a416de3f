"""The next due moments of a cron expression, from the same code as the beat.

Needs no database, but for the days off of a `--calendar`."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.calendars.days import RULES
from jobs.foresight import previews
from jobs.foresight.previews import Preview
from jobs.offer import offered
from jobs.schedules import schedules, zones
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import ScheduleError

_REFUSED = 2
_MOST = 10_000


class Command(BaseCommand):
    help = (
        "Print the next due moments of a cron expression: in UTC, on the clock of its zone, and "
        "what a change of the clock or a calendar does to them. What saving would refuse exits 2."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("expression", metavar="EXPR", help="as '30 9 * * 1-5'")
        parser.add_argument("--zone", default="UTC", help="an IANA name (default: UTC)")
        parser.add_argument(
            "--after", help="ISO 8601; without an offset it is UTC (default: now)", type=_instant
        )
        parser.add_argument("--count", type=_count, default=5, help=f"1 to {_MOST} (default: 5)")
        parser.add_argument(
            "--dst",
            default="once",
            help="when the clock changes: once (the default) fires at the end of a gap what the "
            "gap swallows, and once what comes twice; wall follows the clock",
        )
        parser.add_argument("--calendar", metavar="NAME", help="by its working days (default: all)")
        parser.add_argument(
            "--rule", choices=RULES, default="skip", help="for its days off (default: skip)"
        )
        parser.add_argument(
            "--reader-zone", help="also show each moment in this zone (not in --json)", type=_zone
        )
        parser.add_argument("--json", action="store_true", help="a JSON list of UTC instants")

    def handle(self, *args: Any, **options: Any) -> None:
        after = options["after"] or datetime.now(UTC)
        given = {
            "cron": options["expression"],
            "timezone": options["zone"],
            "dst": options["dst"],
        }
        try:
            found = schedules.parse(given, now=after)
            if options["calendar"] is not None:
                chosen = {"name": options["calendar"], "rule": options["rule"]}
                found = previews.by_calendar(found, chosen, offered().calendars, after)
        except ScheduleError as error:
            raise CommandError(str(error), returncode=_REFUSED) from None
        if options["json"]:
            due = schedules.moments(found, after, options["count"])
            self.stdout.write(json.dumps([schedules.canonical_instant(moment) for moment in due]))
            return
        preview = previews.of_plan(Plan(found), after, options["count"])
        self.stdout.write("\n".join(_lines(preview, options["reader_zone"])))


def _lines(preview: Preview, reader: str | None) -> Iterator[str]:
    for each in preview.moments:
        shown = [schedules.canonical_instant(each.moment), each.local]
        if reader:
            shown.append(zones.on_clock(each.moment, reader).isoformat())
        yield "  ".join([*shown, each.note] if each.note else shown)
    yield from (f"({remark})" for remark in preview.remarks)


def _zone(text: str) -> str:
    try:
        return zones.check(text)
    except ScheduleError as error:
        raise ArgumentTypeError(f"{error.message} {error.hint}") from None


def _instant(text: str) -> datetime:
    """An instant for `--after`: unlike in a job, one without an offset is UTC."""
    try:
        return schedules.parse_instant(text, "after")
    except ScheduleError as error:
        if "no offset" not in error.problem:
            raise ArgumentTypeError(str(error)) from None
    return _instant(f"{text}Z")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= _MOST:
        return int(text)
    raise ArgumentTypeError(f"count: {text!r} is not a number from 1 to {_MOST}.")
