"""What a page or an answer says of a job's moments to come, and of a change before it is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jobs import stored
from jobs.calendars import kept as kept_calendars
from jobs.foresight import impact, neighbours, previews
from jobs.foresight.previews import Preview
from jobs.models import Job
from jobs.schedules.plans import Plan
from jobs.schedules.timeline import Timeline, Version

# A pause until the year 9999 means «for good»: how many moments of eight thousand years lie under
# it nobody asks, and to count them takes seconds.
_FAR = timedelta(days=36_525)


def of_job(job: Job, after: datetime, count: int = previews.COUNT) -> Preview:
    """The next moments of a job strictly after `after`, those to be skipped among them, with how
    many others are due in the minute of each. Raises ScheduleError where its zone is gone."""
    found = previews.of_plan(stored.plan(job), after, 0)
    moments = stored.next_moments(job, after, count)
    return with_others(replace(found, moments=moments, last=len(moments) < count), job)


def with_others(preview: Preview, job: Job | None = None) -> Preview:
    """The preview, with how many other jobs than this one are due in the minute of each moment."""
    if not preview.moments:
        return preview
    moments = [previewed.moment for previewed in preview.moments]
    return replace(preview, others=neighbours.due_with(moments, job.id if job else None))


def overdue(job: Job, now: datetime) -> datetime | None:
    """A moment that has come and is not claimed yet: no change of the job takes it back."""
    due = getattr(job, "due", None)
    return due.at if due and due.at <= now and not job.paused else None


@dataclass(frozen=True)
class EditForesight:
    """What saving an edit does to the moments to come, and which one it leaves to the version
    before it."""

    edit: impact.Edit
    overdue: datetime | None


def of_edit(job: Job, preview: Preview, now: datetime) -> EditForesight | None:
    """The foresight for the plan of `preview`; None while that is not in order. Raises
    ScheduleError where the job's zone is gone."""
    if preview.plan is None:
        return None
    return EditForesight(impact.of_edit(stored.plan(job), preview.plan, now), overdue(job, now))


@dataclass(frozen=True)
class PauseForesight:
    """What a pause leaves out (None: there is no number, for it has no end, or one that is a
    century away), when the job is due next, and which moment the claim settles all the same."""

    left_out: impact.LeftOut | None
    following: datetime | None
    overdue: datetime | None


def of_pause(job: Job, until: datetime | None, now: datetime) -> PauseForesight:
    """The foresight for pausing the job now. Raises ScheduleError where its zone is gone."""
    line = Timeline([Version(job.version, now, stored.plan(job))])
    left_out = _left_out(line, now, until) if until else None
    return PauseForesight(left_out, _following(job, until or now), overdue(job, now))


def of_paused(job: Job, until: datetime) -> PauseForesight:
    """What the pause in force leaves out from its beginning up to `until`: now, for what stays
    out when it is resumed, or its end. Raises ScheduleError where a zone is gone."""
    paused = job.jobversion_set.filter(changes__paused__to=True).order_by("-number").first()
    began = paused.began_at if paused else job.version_began_at
    line = Timeline([*_as_if_not_paused(job, paused.number if paused else job.version)])
    return PauseForesight(_left_out(line, began, until), _following(job, until), None)


def _left_out(line: Timeline, began: datetime, until: datetime) -> impact.LeftOut | None:
    return impact.of_pause(line, began, until) if until - began <= _FAR else None


def _as_if_not_paused(job: Job, since: int) -> Iterable[Version]:
    for version in job.jobversion_set.filter(number__gte=since).order_by("number"):
        yield Version(
            version.number, version.began_at, Plan.load(version.definition, kept_calendars.calendar)
        )


def _following(job: Job, after: datetime) -> datetime | None:
    return None if job.finished else stored.plan(job).next(after)
