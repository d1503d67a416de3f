"""The next moments of a schedule, as a page shows them while it is typed. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from jobs import job_fields, schedules, words, zones
from jobs.definitions import Problem
from jobs.job_fields import Typed
from jobs.outlook import outlook
from jobs.plans import Plan, refusal
from jobs.reading import Reader

COUNT = 10  # moments shown


@dataclass(frozen=True)
class Preview:
    """What a schedule means, or what is wrong with it, by the page's field.

    `zones` are those that it names, `remarks` what a person may not expect of it, `last` says
    that no moment comes after these.
    """

    moments: list[schedules.PreviewedMoment] = field(default_factory=list)
    words: str = ""
    zones: tuple[str, ...] = ()
    remarks: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    last: bool = False


def of_typed(typed: Typed, now: datetime) -> Preview:
    """The preview of the schedule in a page's fields; empty while nothing is typed."""
    kind = typed.get("schedule_kind", "")
    if not typed.get(kind, "").strip():
        return Preview()
    problems: list[Problem] = []
    given = job_fields.schedule_of(typed, problems)
    reader = Reader()
    bounds = job_fields.window_of(typed)
    window = [reader.instant(bounds, name) for name in job_fields.WINDOW]
    problems += reader.problems
    try:
        found = () if problems else schedules.parse(given, now=now)
    except schedules.ScheduleError as error:
        problems.append(Problem(error.field, error.message, error.hint))
    if not problems and (leaves := refusal(Plan(found, *window), now)):
        problems.append(Problem(leaves.field, leaves.message, leaves.hint))
    if problems:
        return Preview(problems={job_fields.place(p.field, typed): said(p) for p in problems})
    return of_plan(Plan(found, *window), now)


def of_stored(stored: Mapping[str, Any], now: datetime, *, runs_left: int | None = None) -> Preview:
    """The preview of a job as it is stored, which zone data may have outrun. `runs_left`: its
    moments end with that many; None: no bound."""
    try:
        found = of_plan(Plan.load(stored), now)
        moments = outlook(
            found.moments,
            skip_next=stored["skip_next"],
            skip_reason=stored["skip_reason"],
            runs_left=runs_left,
        )
        return replace(found, moments=moments, last=len(moments) < COUNT)
    except schedules.ScheduleError as error:
        return Preview(problems={"schedule": str(error)})


def of_plan(plan: Plan, now: datetime) -> Preview:
    """The preview of a plan that is in order."""
    found = plan.schedules
    moments = plan.preview(now, COUNT)
    crons = [item for item in found if isinstance(item, schedules.Cron)]
    remarks = [words.remark(item.expression) for item in crons]
    remarks += [zones.remark(item.timezone) for item in crons]
    return Preview(
        moments=moments,
        words=words.of_schedules(found),
        zones=words.zones_of(found),
        remarks=[text for text in dict.fromkeys(remarks) if text],
        last=len(moments) < COUNT,
    )


def said(problem: Problem) -> str:
    """A problem as one line at its field."""
    return f"{problem.message} {problem.hint}".strip()
