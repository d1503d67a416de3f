"""A job with a past: moments that lie behind, as if it had been registered long ago."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from jobs import clock, editing
from jobs.models import Due, Job, JobVersion
from jobs.schedules.instants import canonical_instant
from runs.models import Run
from runs.states import Origin, State
from tests import make

MINUTE = timedelta(minutes=1)


def noon() -> datetime:
    """The last full hour that lies behind by the database's clock."""
    return clock.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)


def minutely(**changes: Any) -> Job:
    """A job of every minute since a day ago; what has been due is claimed, as far as its `Due`
    row tells."""
    anchor = canonical_instant(noon() - timedelta(days=400))
    schedule = {"every": 60, "anchor": anchor}
    job = make.job(make.team(), **{"name": f"job {uuid4()}", "schedule": schedule, **changes})
    return aged(job, timedelta(days=1))


def aged(job: Job, age: timedelta) -> Job:
    """The job as if its first version had begun so long ago."""
    began = clock.now() - age
    Job.objects.filter(id=job.id).update(created_at=began, version_began_at=began)
    JobVersion.objects.filter(job=job, number=1).update(began_at=began)
    Due.objects.filter(job=job).update(at=clock.now() + timedelta(hours=1))
    job.refresh_from_db()
    return job


def edited(job: Job, since: datetime, **changes: Any) -> Job:
    """The job edited, the new version in force since that instant."""
    shape = {"name": job.name, "schedule": job.schedule, "overlap": job.overlap, **changes}
    edited = editing.edit(job.id, make.definition(**shape), by=None)
    JobVersion.objects.filter(job=job, number=edited.version).update(began_at=since)
    Job.objects.filter(id=job.id).update(version_began_at=since)
    Due.objects.filter(job=job).update(at=clock.now() + timedelta(hours=1))
    return edited


def skipped(job: Job, first: datetime, count: int = 1) -> Run:
    """A record that so many moments from `first` on were not carried out."""
    last = first + (count - 1) * MINUTE
    row = {"due_at": first, "skipped_until": last, "skipped_count": count}
    return make.run(
        job, State.SKIPPED, origin=Origin.SCHEDULE, reason="Skipped: for a test.", **row
    )


def fired(job: Job, moment: datetime, state: State = State.SUCCEEDED, **columns: Any) -> Run:
    """The run of a moment, by its schedule."""
    return make.run(job, state, **{"origin": Origin.SCHEDULE, "due_at": moment, **columns})
