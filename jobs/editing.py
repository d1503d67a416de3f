"""Register, edit, pause, resume and delete a job: the rules that every door opens.

Each writes a JobVersion in the same transaction. Locks are taken in one order, a calendar before
`Due`, `Due` before `Job`; the clock is read after they are held, and the new version begins at
that reading. Only a `Due` row that lies in the future is moved: an overdue one is the claim's to
settle, by the version that was in force at its moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction

from jobs import clock, events, locking, moment_values, sealing, signing, stored
from jobs.calendars.days import Use
from jobs.definitions import definitions
from jobs.definitions.definitions import Definition
from jobs.edit_errors import Changed as Changed
from jobs.edit_errors import Gone as Gone
from jobs.edit_errors import NameTaken as NameTaken
from jobs.edit_errors import NothingDue as NothingDue
from jobs.edit_errors import ReadOnly as ReadOnly
from jobs.models import Calendar, Due, Job, JobVersion, Team, User
from jobs.schedules import local_times
from jobs.schedules.spread import delay_of
from jobs.shards import shard_of
from jobs.targets.errors import TargetError

log = structlog.get_logger("onebeat.job")


@dataclass(frozen=True)
class Pause:
    """A pause: why, and until when (None: until somebody resumes the job)."""

    reason: str = ""
    until: datetime | None = None


def register(
    team: Team,
    definition: Definition,
    *,
    by: User | None,
    periodic_task_id: int | None = None,
    since: datetime | None = None,
) -> Job:
    """A new job of the team, with its first version and its first due moment.

    `since` is for the mirror of PeriodicTask rows, as in `edit`. Raises NameTaken."""
    with _named(definition.name), transaction.atomic():
        use = _newest(definition.calendar_use)
        now = clock.now()
        began = now if since is None else min(since, now)
        job = Job(
            team=team,
            created_at=now,
            version=0,
            version_began_at=began,
            signing_secret=signing.sealed(signing.new_secret()),
            periodic_task_id=periodic_task_id,
        )
        _apply(job, definition, use, old_target={})
        _store(job, began, by=by, before={})
        _move_due(job, None, now)
        _recorded(job, "job.registered", by=by)
    return job


def edit(
    job_id: UUID,
    definition: Definition,
    *,
    by: User | None,
    seen: int | None = None,
    mirror: bool = False,
    since: datetime | None = None,
) -> Job:
    """The job with new content; the same content writes no version.

    `seen`: the version that the new content was made from; another one meanwhile is Changed.

    `since`: the content holds from then on, because its PeriodicTask row said so before the
    mirror saw it; moments since then are overdue.
    Raises NameTaken, Changed, Gone, and ReadOnly unless the mirror itself (`mirror`) edits."""
    with _named(definition.name), transaction.atomic():
        use = _newest(definition.calendar_use)
        job, due, now = _lock(job_id, mirror=mirror)
        if seen not in (None, job.version):
            raise Changed(job.version)
        before = stored.shape(job)
        _apply(job, definition, use, old_target=job.target)
        if stored.shape(job) != before:
            began = now if since is None else max(job.version_began_at, min(since, now))
            _store(job, began, by=by, before=before)
            _move_due(job, due, now)
            _recorded(job, "job.edited", by=by, before=before)
    return job


def would_change(job: Job, definition: Definition) -> dict[str, Any]:
    """What an edit would change, as its version would keep it; nothing is saved. Raises
    DefinitionError for a mask with nothing behind it."""
    edited, before = copy(job), stored.shape(job)
    _apply(edited, definition, definition.calendar_use, old_target=job.target)
    return dict(events.differences(before, stored.shape(edited)))


def pause(job_id: UUID, pause: Pause, *, by: User | None, seen: int | None = None) -> Job:
    """The job paused: moments under the pause are not due. Raises Gone, ReadOnly; and Changed where
    it is not in the version that was `seen`."""
    return _set_pause(job_id, pause, by=by, seen=seen)


def resume(job_id: UUID, *, by: User | None, seen: int | None = None) -> Job:
    """The job active from now on; nothing that lay under the pause fires. Raises as `pause`."""
    return _set_pause(job_id, None, by=by, seen=seen)


def skip_next(job_id: UUID, count: int, *, reason: str, by: User | None) -> Job:
    """The job leaving out its next `count` moments, each recorded with the reason; 0: none any
    more. Raises Gone, ReadOnly, and NothingDue where it has no moment to come."""
    with transaction.atomic():
        job, due, now = _lock(job_id)
        if (count and due is None) or job.paused:
            raise NothingDue(job)
        before = stored.shape(job)
        job.skip_next, job.skip_reason = count, reason if count else ""
        if stored.shape(job) != before:
            _store(job, now, by=by, before=before)
            _recorded(job, "job.skips", by=by, before=before, reason=job.skip_reason)
    return job


def delete(job_id: UUID, *, by: User | None, mirror: bool = False) -> None:
    """The job gone from every list; its runs stay, those not started are cancelled at start.

    Raises Gone, ReadOnly."""
    with transaction.atomic():
        job, due, now = _lock(job_id, mirror=mirror)
        before = stored.shape(job)
        _recorded(job, "job.deleted", by=by)
        job.deleted_at = now
        job.periodic_task_id = None
        _store(job, now, by=by, before=before)
        _move_due(job, due, now)


def due_at(job: Job) -> tuple[datetime | None, str | None]:
    """Where the due row of a job stands after an edit, its version having just begun (None: it
    has none), and by whose zone data (None: by none, it is no moment of a schedule)."""
    if job.deleted_at is not None:
        return None, None
    if job.paused:
        return job.paused_until, None
    if job.finished:
        return None, None
    plan = stored.plan(job)
    return plan.next(job.version_began_at), local_times.zone_data_of(plan.schedules)


def _set_pause(job_id: UUID, pause: Pause | None, *, by: User | None, seen: int | None) -> Job:
    with transaction.atomic():
        job, due, now = _lock(job_id)
        if seen not in (None, job.version):
            raise Changed(job.version)
        before = stored.shape(job)
        job.paused = pause is not None
        job.paused_until = pause.until if pause else None
        job.paused_reason = pause.reason if pause else ""
        if stored.shape(job) != before:
            _store(job, now, by=by, before=before)
            _move_due(job, due, now)
            what = "job.paused" if pause else "job.resumed"
            _recorded(job, what, by=by, before=before, reason=job.paused_reason)
    return job


def _lock(job_id: UUID, *, mirror: bool = False) -> tuple[Job, Due | None, datetime]:
    try:
        due = locking.lock(job_id)
    except Job.DoesNotExist:
        raise Gone from None
    job = Job.objects.select_for_update(no_key=True).filter(id=job_id, deleted_at=None).first()
    if job is None:
        raise Gone
    if job.mirrored and not mirror:
        raise ReadOnly
    return job, due, clock.now()


def _newest(use: Use | None) -> Use | None:
    """The same by the newest version, which stays so until this transaction ends: calendars are
    locked before `Due`. Raises DefinitionError where the calendar was deleted meanwhile."""
    if use is None:
        return None
    shared = Calendar.objects.raw(_SHARE, [use.name])
    version = next((calendar.version for calendar in shared), None)
    if version is None:
        hint = "Choose another one."
        problem = definitions.Problem("calendar.name", "was deleted meanwhile.", hint)
        raise definitions.DefinitionError([problem])
    return replace(use, version=version)


_SHARE = "select name, version from jobs_calendar where name = %s and deleted_at is null for share"


def _apply(
    job: Job, definition: Definition, use: Use | None, *, old_target: dict[str, Any]
) -> None:
    shape = definitions.shape(definition)
    job.schedule = shape["schedule"]
    job.target = _sealed(old_target, shape["target"])
    job.calendar_id, job.calendar_version = (use.name, use.version) if use else (None, None)
    job.calendar_rule = use.rule if use else ""
    job.templated = moment_values.used(job.target)
    ours = local_times.zone_data_of(definition.schedule)
    job.zone_data = ours and (job.zone_data or ours)  # by whose data a due row is that stays
    for field in definitions.PLAIN:
        setattr(job, field, getattr(definition, field))
    job.start_delay = delay_of(job.id, job.spread)
    if job.max_runs is None:
        job.runs_begun = 0
    job.finished = job.max_runs is not None and job.runs_begun >= job.max_runs


def _sealed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The target as it is stored. Raises DefinitionError where a mask has nothing behind it."""
    try:
        target = sealing.merge_masked(old, new)
        return sealing.seal_headers(target, settings.SEALING_KEYS, old=old)
    except TargetError as error:
        problem = definitions.Problem(error.field, error.message, error.hint)
        raise definitions.DefinitionError([problem]) from None


def _store(job: Job, began: datetime, *, by: User | None, before: dict[str, Any]) -> None:
    job.version += 1
    job.version_began_at = began
    job.save()
    after = stored.shape(job)
    JobVersion.objects.create(
        job=job,
        number=job.version,
        began_at=began,
        by=by,
        definition=after,
        changes=events.differences(before, after),
    )


def _recorded(
    job: Job, what: str, *, by: User | None, before: dict[str, Any] | None = None, reason: str = ""
) -> None:
    changes = {} if before is None else events.differences(before, stored.shape(job))
    if not job.mirrored:  # whoever changed the row that it mirrors is on record with that
        events.record(what, events.of_job(job), by=by, reason=reason, changes=changes)
    log.info(what, job=str(job.id), version=job.version, by=by and by.get_username())


def _move_due(job: Job, due: Due | None, now: datetime) -> None:
    if due is not None and due.at <= now:
        return
    at, ours = due_at(job)
    if ours is not None:
        Job.objects.filter(id=job.id).update(zone_data=ours)
    if at is not None:
        Due.objects.update_or_create(job=job, defaults={"shard": shard_of(job.id), "at": at})
    elif due is not None:
        due.delete()


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turns the database's refusal of a second job of one name into NameTaken."""
    try:
        yield
    except IntegrityError as error:
        if "one_job_per_name_in_a_team" in str(error):
            raise NameTaken(name) from None
        raise
