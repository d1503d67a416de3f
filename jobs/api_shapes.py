"""A job and its versions as the API shows them: secrets masked, instants in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs import stored
from jobs.models import Job, JobVersion
from jobs.schedules import schedules
from jobs.targets import shapes as targets

# Told, and not to be changed by giving it back: a job that was read can be sent as it is.
TOLD = (*("id", "team", "runs_begun", "finished", "next_due_at"),)


def of_job(job: Job) -> dict[str, Any]:
    """The job: what registers it, and whose it is, its pause and its next moment."""
    content = stored.shape(job)
    del content["deleted"]
    return {
        "id": str(job.id),
        "team": job.team.slug,
        **content,
        "schedule": _alone(job.schedule),
        "target": masked_target(job.target),
        "runs_begun": job.runs_begun,
        "next_due_at": instant(_next_due_at(job)),
    }


def of_moment(previewed: schedules.PreviewedMoment, others: int) -> dict[str, Any]:
    """A moment to come: in UTC, as the clock of its zone shows it, what to know of it, and how
    many other jobs (at least) are due in its minute."""
    return {
        "due_at": schedules.canonical_instant(previewed.moment),
        "local": previewed.local,
        "note": previewed.note,
        "others": others,
    }


def of_version(version: JobVersion) -> dict[str, Any]:
    """An edit: who, when, and of each field that changed from what to what."""
    return {
        "number": version.number,
        "began_at": instant(version.began_at),
        "by": version.by.get_username() if version.by else None,
        "changes": {
            field: {side: _shown(field, value) for side, value in change.items()}
            for field, change in version.changes.items()
        },
    }


def instant(moment: datetime | None) -> str | None:
    """An instant as text, or null."""
    return schedules.canonical_instant(moment) if moment else None


def masked_target(target: dict[str, Any]) -> dict[str, Any]:
    """A stored target as people may see it."""
    return targets.dump(targets.masked(targets.load(target)))


def active_from(job: Job, now: datetime) -> datetime | None:
    """After which instant the job's next moments lie; None while it is paused without an end."""
    return max(job.paused_until or now, now) if job.paused_until or not job.paused else None


def _next_due_at(job: Job) -> datetime | None:
    """The moment on the job's `Due` row; under a pause that row holds the end of the pause."""
    due = getattr(job, "due", None)
    if due is None or not job.paused:
        return due and due.at
    return stored.plan(job).next(due.at)


def _alone(schedule: list[Any]) -> Any:
    """The one schedule that a job usually has by itself, several as their list."""
    return schedule[0] if len(schedule) == 1 else schedule


def _shown(field: str, value: Any) -> Any:
    return masked_target(value) if field == "target" and value is not None else value
