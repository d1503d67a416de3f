"""A job as it is stored, read back: its shape, its plan, its moments to come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs.calendars import kept as kept_calendars
from jobs.definitions import definitions
from jobs.definitions.definitions import Definition
from jobs.models import Job
from jobs.schedules import schedules
from jobs.schedules.outlook import outlook
from jobs.schedules.plans import Plan
from jobs.targets import shapes as targets


def shape(job: Job) -> dict[str, Any]:
    """What a JobVersion keeps: the API's shape, secrets sealed, and whether it ended."""
    return {
        **definitions.content(job, schedule=job.schedule, target=job.target),
        "finished": job.finished,
        "deleted": job.deleted_at is not None,
    }


def plan(job: Job) -> Plan:
    """When the job is due, but for its pause. Raises ScheduleError where zone data has outrun
    what is stored."""
    found, use = schedules.load(job.schedule), job.calendar_use
    if use is not None:
        found = schedules.with_calendar(found, kept_calendars.calendar(use), use.rule)
    return Plan(found, job.starts_at, job.ends_at)


def kept(job: Job) -> definitions.Kept:
    """What an edit of the job may leave as it is."""
    return definitions.Kept(plan(job), job.paused_until)


def next_moments(job: Job, after: datetime, count: int) -> list[schedules.PreviewedMoment]:
    """The job's next moments strictly after `after`, as a person reads them."""
    return outlook(
        plan(job).preview(after, count),
        skip_next=job.skip_next,
        skip_reason=job.skip_reason,
        runs_left=job.runs_left,
    )


def definition(job: Job) -> Definition:
    """The job as it is stored; secret headers are sealed still."""
    return Definition(
        schedule=plan(job).schedules,
        calendar_use=job.calendar_use,
        target=targets.load(job.target),
        **{name: getattr(job, name) for name in definitions.PLAIN},
    )
