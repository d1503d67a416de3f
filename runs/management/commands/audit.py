"""What should have fired against what did; exit 1 on any gap, 2 on input that is none."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import clock
from jobs.schedules import schedules
from jobs.schedules.schedules import ScheduleError, canonical_instant
from runs.audits import audit
from runs.audits.audit import Gap, Report

_REFUSED = 2
_NAMED = 5  # moments of a gap in the table


class Command(BaseCommand):
    help = "Compare what should have fired with what did; any gap exits 1."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since",
            type=_instant,
            metavar="T",
            help="ISO 8601 with an offset, as 2026-11-29T18:00:00Z (default: a day ago)",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, *args: Any, since: datetime | None, **options: Any) -> None:
        if since is not None and since >= clock.now():
            instant = canonical_instant(since)
            raise CommandError(f"--since: {instant} is yet to come.", returncode=_REFUSED)
        report = audit.report(since)
        as_text = json.dumps(report.as_json()) if options["json"] else _table(report)
        self.stdout.write(as_text)
        if report.gaps:
            sys.exit(1)


def _table(report: Report) -> str:
    window = f"{canonical_instant(report.since)} to {canonical_instant(report.until)}"
    pruned = f", {report.pruned} runs no longer kept" if report.pruned else ""
    found = f"{report.runs} runs, {report.skipped} skipped{pruned}"
    head = f"{window}: {report.jobs} jobs, {report.due} moments due: {found}"
    return "\n".join([head, *map(_line, report.gaps)] if report.gaps else [head, "no gap"])


def _line(gap: Gap) -> str:
    named = ", ".join(canonical_instant(moment) for moment in gap.moments[:_NAMED])
    more = ", …" if gap.count > _NAMED else ""
    return f"{gap.kind:<12} {gap.count:>7}  {gap.team}/{gap.name} ({gap.job_id})  {named}{more}"


def _instant(text: str) -> datetime:
    try:
        return schedules.parse_instant(text, "since")
    except ScheduleError as error:
        raise ArgumentTypeError(str(error)) from None
