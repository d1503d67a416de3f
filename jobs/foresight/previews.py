"""The next moments of a schedule, as a page shows them while it is typed. PURE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from jobs import words
from jobs.calendars import notes as calendar_notes
from jobs.calendars.days import RULES, InForce, Rule
from jobs.cron import remarks
from jobs.definitions import job_fields
from jobs.definitions.definitions import Problem
from jobs.definitions.job_fields import Typed
from jobs.reading import Reader
from jobs.schedules import clock_notes, schedules
from jobs.schedules.plans import Plan, refusal

COUNT = 10  # moments shown


@dataclass(frozen=True)
class Preview:
    """What a schedule means, or what is wrong with it, by the page's field.

    `zones` are those that it names, `remarks` what a person may not expect of it, `last` says
    that no moment comes after these. `others`: how many other jobs are due in the minute of each
    moment, where somebody has counted (jobs/foresight/neighbours.py).
    """

    plan: Plan | None = None
    moments: list[schedules.PreviewedMoment] = field(default_factory=list)
    words: str = ""
    zones: tuple[str, ...] = ()
    remarks: list[str] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    last: bool = False
    others: Sequence[int] = ()

    @property
    def rows(self) -> list[tuple[schedules.PreviewedMoment, int]]:
        """Each moment with the number of its neighbours."""
        others = self.others or [0] * len(self.moments)
        return list(zip(self.moments, others, strict=True))

    @property
    def crowded(self) -> bool:
        """Whether any moment has neighbours."""
        return any(self.others)

    @property
    def fullest(self) -> tuple[schedules.PreviewedMoment, int]:
        """The moment with the most neighbours, the first of several, and how many they are."""
        return max(self.rows, key=lambda row: row[1])


def of_typed(typed: Typed, now: datetime, calendars: Mapping[str, InForce]) -> Preview:
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
        if found and (chosen := job_fields.calendar_of(typed)):
            found = by_calendar(found, chosen, calendars, now)
    except schedules.ScheduleError as error:
        problems += [Problem(one.field, one.message, one.hint) for one in (error, *error.beside)]
    if not problems and (leaves := refusal(Plan(found, *window), now)):
        problems.append(Problem(leaves.field, leaves.message, leaves.hint))
    if problems:
        return Preview(problems={job_fields.place(p.field, typed): said(p) for p in problems})
    return of_plan(Plan(found, *window), now)


def by_calendar(
    found: tuple[schedules.Schedule, ...],
    chosen: Mapping[str, str],
    calendars: Mapping[str, InForce],
    now: datetime,
) -> tuple[schedules.Schedule, ...]:
    """The schedules by the chosen calendar (`name`, `rule`). Raises ScheduleError."""
    name = chosen["name"]
    rule: Rule = next((rule for rule in RULES if rule == chosen["rule"]), "skip")
    if name not in calendars:
        hint = f"Known: {', '.join(islice(calendars, 10)) or 'none yet'}."
        raise schedules.ScheduleError("calendar", name, "is no calendar here", hint)
    by_it = schedules.with_calendar(found, calendars[name].calendar, rule)
    if schedules.next_moment(by_it, now) is None:
        hint = "Choose another rule, other days or another calendar."
        raise schedules.ScheduleError("calendar", name, "leaves this schedule no moment", hint)
    return by_it


def of_plan(plan: Plan, after: datetime, count: int = COUNT) -> Preview:
    """The preview of a plan that is in order: `count` moments strictly after `after`."""
    found = plan.schedules
    moments = plan.preview(after, count)
    return Preview(
        plan=plan,
        moments=moments,
        words=words.of_schedules(found),
        zones=words.zones_of(found),
        remarks=[
            *remarks_on(found, max(after, plan.starts_at or after)),
            *(calendar_notes.remarks(found, moments[-1].moment) if moments else ()),
        ],
        last=len(moments) < count,
    )


def remarks_on(found: Sequence[schedules.Schedule], after: datetime) -> list[str]:
    """What a person may not expect of these schedules, each remark once."""
    said = [
        remark
        for item in found
        if isinstance(item, schedules.Cron)
        for remark in remarks.of_cron(item, clock_notes.local(item, after).date())
    ]
    return list(dict.fromkeys(said))


def said(problem: Problem) -> str:
    """A problem as one line at its field."""
    inside = problem.field if problem.field.startswith("schedule[") else ""
    return f"{inside}{inside and ': '}{problem.message} {problem.hint}".strip()
