"""A month of a job, day by day on the reader's clock: what became of the moments behind, what is
to come, days off and changes of the clock."""

from __future__ import annotations

from calendar import Calendar as Weeks
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection

from jobs import stored
from jobs.models import Job
from jobs.schedules import schedules, zones
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Cron, ScheduleError
from runs.ages import first_id
from runs.dashboard.upcoming import heat
from runs.dashboard.upcoming.density import LocalDay, local_days
from runs.states import State

MOST = 20_000  # runs of a month that are counted
_DAY = timedelta(days=1)
_TROUBLE = (State.DEAD, State.REVIEW)

# Those with a moment of their own by the constraint on moments; what was skipped, and runs by hand
# without a moment, by their birth. Each branch is bounded.
OUTCOMES = """
select day, state, sum(number)::int from (
  (select (due_at at time zone %(zone)s)::date as day, state, 1 as number
     from runs_run
    where job_id = %(job)s and due_at >= %(start)s and due_at < %(end)s and state <> 'SKIPPED'
    limit %(most)s)
  union all
  (select (coalesce(due_at, created_at) at time zone %(zone)s)::date, state,
          coalesce(skipped_count, 1)
     from (select * from runs_run
            where job_id = %(job)s and id >= %(first)s and id < %(last)s
            order by id desc limit %(most)s) born
    where state = 'SKIPPED' or due_at is null)
) counted group by day, state
"""


@dataclass
class Day:
    """`outcomes` counts by state what has been; `to_come` the moments after now; `off` names days
    without work that the schedule names; `clocks` tells of changes."""

    day: date
    is_today: bool = False
    outcomes: dict[State, int] = field(default_factory=dict)
    to_come: int = 0
    off: list[str] = field(default_factory=list)
    clocks: list[str] = field(default_factory=list)
    level: int = 0

    @property
    def total(self) -> int:
        """Moments of the day."""
        return sum(self.outcomes.values()) + self.to_come

    @property
    def trouble(self) -> int:
        """Runs that a person has to look at."""
        return sum(self.outcomes.get(state, 0) for state in _TROUBLE)

    @property
    def words(self) -> str:
        """All of it in words."""
        told = [f"{count} {state.lower()}" for state, count in sorted(self.outcomes.items())]
        told += [f"{self.to_come} to come"] if self.to_come else []
        return ", ".join([*told, *self.off, *self.clocks]) or "nothing"


@dataclass(frozen=True)
class Month:
    """Weeks of days, Monday first; None beside the month. `cut`: more runs than are counted."""

    first: date
    weeks: list[list[Day | None]]
    zone: str
    cut: bool

    @property
    def before(self) -> str:
        """The month before, as an address has it."""
        return f"{self.first - _DAY:%Y-%m}"

    @property
    def after(self) -> str:
        """The month after."""
        return f"{self.first + 31 * _DAY:%Y-%m}"

    @property
    def days(self) -> list[Day]:
        """Those of the month, in order."""
        return [day for week in self.weeks for day in week if day]


def of_job(job: Job, now: datetime, zone: str, asked: str) -> Month:
    """`asked`: `2026-11`; the month of today where it is none."""
    today = zones.on_clock(now, zone).date()
    first = read(asked) or today.replace(day=1)
    whole = local_days(*_bounds(first, zone), zone)
    days = {day.date: Day(day.date, day.date == today) for day in whole}
    found = _outcomes(job, first, zone)
    for on, state, count in found:
        if on in days:
            days[on].outcomes[State(state)] = count
    _look_ahead(job, now, whole, days)
    _mark_clocks(job, zone, whole, days)
    levels = heat.levels(day.total for day in days.values())
    for day in days.values():
        day.level = min(4, levels[day.total])
    return Month(first, _weeks(first, days), zone, sum(row[2] for row in found) >= MOST)


def read(asked: str) -> date | None:
    """The first day of a month that is given as `2026-11`; None for what is none."""
    try:
        found = datetime.strptime(asked, "%Y-%m").date()  # noqa: DTZ007 (a month, no instant)
    except ValueError:
        return None
    return found if 1970 < found.year < 9990 else None


def _bounds(first: date, zone: str) -> tuple[datetime, datetime]:
    following = (first + 31 * _DAY).replace(day=1)
    start, end = (datetime.combine(day, datetime.min.time()) for day in (first, following))
    there = zones.zone(zone)
    return start.replace(tzinfo=there), end.replace(tzinfo=there)


def given(job: Job, first: date, zone: str) -> dict[str, Any]:
    """The values of OUTCOMES."""
    start, end = _bounds(first, zone)
    born = {"first": first_id(start - _DAY), "last": first_id(end + _DAY)}
    return {"job": job.id, "zone": zone, "start": start, "end": end, "most": MOST, **born}


def _outcomes(job: Job, first: date, zone: str) -> list[tuple[date, str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, given(job, first, zone))
        rows: list[tuple[date, str, int]] = cursor.fetchall()
    return rows


def _look_ahead(
    job: Job, now: datetime, whole: tuple[LocalDay, ...], days: dict[date, Day]
) -> None:
    """What is to come, unless it is paused without an end; days off, also those behind."""
    try:
        plan = stored.plan(job)
    except ScheduleError:  # the page says so beside the schedule
        return
    since = max(now, job.paused_until or now)
    ahead = not job.finished and (not job.paused or job.paused_until is not None)
    for day in whole:
        if ahead and day.end > since:
            days[day.date].to_come = plan.count(
                max(day.start, since) - _tick(since, day), _last(day)
            )
        if job.calendar_id:
            days[day.date].off = _off(plan, day)


def _tick(since: datetime, day: LocalDay) -> timedelta:
    return datetime.resolution if day.start > since else timedelta()


def _last(day: LocalDay) -> datetime:
    return day.end - datetime.resolution


def _off(plan: Plan, day: LocalDay) -> list[str]:
    """The days off on which the schedule would be due, named by the calendar."""
    named = schedules.with_calendar(plan.schedules, None, "skip")
    found: dict[str, None] = {}
    for bare, cron in zip(named, plan.schedules, strict=True):
        if isinstance(cron, Cron) and cron.calendar is not None:
            before = day.start - datetime.resolution
            for moment in schedules.moments_between((bare,), before, _last(day), 1):
                on = zones.on_clock(moment, cron.timezone).date()
                if not cron.calendar.is_working(on):
                    label = cron.calendar.why_off(on)
                    found[f"day off: {label}" if label else "no working day"] = None
    return list(found)


def _mark_clocks(job: Job, zone: str, whole: tuple[LocalDay, ...], days: dict[date, Day]) -> None:
    """Changes of the clocks that the schedule reads, and of the reader's."""
    named = [str(item["timezone"]) for item in job.schedule if "timezone" in item]
    years = {whole[0].start.year, whole[-1].end.year}
    told: defaultdict[date, list[str]] = defaultdict(list)
    for name in dict.fromkeys([*named, zone]):
        if name not in zones.names():
            continue
        for change in (one for year in sorted(years) for one in zones.changes(name, year)):
            way = "forward" if change.after > change.before else "back"
            on = zones.on_clock(change.at, zone).date()
            told[on].append(f"the clock of {name} goes {way}")
    for on, texts in told.items():
        if on in days:
            days[on].clocks = texts


def _weeks(first: date, days: dict[date, Day]) -> list[list[Day | None]]:
    weeks = Weeks().monthdatescalendar(first.year, first.month)
    return [[days.get(day) for day in week] for week in weeks]
