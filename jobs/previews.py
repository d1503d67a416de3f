"""The next moments of a schedule, as a page shows them while it is typed. PURE."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from jobs import job_fields, schedules, words, zones
from jobs.definitions import Problem
from jobs.job_fields import Typed

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
    try:
        found = () if problems else schedules.parse(given, now=now)
    except schedules.ScheduleError as error:
        problems.append(Problem(error.field, error.message, error.hint))
    if problems:
        return Preview(problems={job_fields.place(p.field, typed): said(p) for p in problems})
    return of_schedules(found, now)


def of_stored(data: object, now: datetime) -> Preview:
    """The preview of a job's schedule as it is stored, which zone data may have outrun."""
    try:
        return of_schedules(schedules.load(data), now)
    except schedules.ScheduleError as error:
        return Preview(problems={"schedule": str(error)})


def of_schedules(found: tuple[schedules.Schedule, ...], now: datetime) -> Preview:
    """The preview of schedules that are in order."""
    moments = schedules.preview(found, now, COUNT)
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
