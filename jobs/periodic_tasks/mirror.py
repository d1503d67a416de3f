"""django-celery-beat's PeriodicTask rows as jobs of the team `platform`.

Each row is mirrored as a job whose target is its Celery task (rows.py says how); the platform's
staff edit the row in the admin, the mirror is read-only. What cannot run is there all
the same, paused with the reason.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from jobs import clock, editing, stored, task_registry
from jobs.definitions import definitions
from jobs.definitions.definitions import Definition
from jobs.editing import NameTaken
from jobs.models import Job, Team
from jobs.models.team import PLATFORM
from jobs.periodic_tasks import rows as beat_rows
from jobs.periodic_tasks import tables
from jobs.periodic_tasks.rows import Kept, Offer, Row
from jobs.periodic_tasks.tables import Mark
from jobs.schedules import schedules
from jobs.schedules.schedules import At

FULL_LOOK_EVERY = 60.0  # seconds: a bulk update leaves no mark of a change
_BUDGET = 1.0  # seconds of a tick; what is left comes with the next call
_ADVISORY_LOCK = 0x6F6E6562656174  # whose holder mirrors
_SOON = timedelta(minutes=2)
_TICK = timedelta.resolution

log = structlog.get_logger("onebeat.mirror")


def may_run(name: str) -> bool:
    """Whether a PeriodicTask row may run this task: registered for jobs, or allowed by a
    pattern of ONEBEAT_BEAT_TASKS; never one of Celery's own, nor our entry task."""
    if task_registry.registered(name) is not None:
        return True
    if name.startswith(("celery.", "onebeat.")):
        return False
    return any(fnmatchcase(name, pattern) for pattern in settings.BEAT_TASKS)


def why_paused(row_id: int) -> str:
    """Why the job that mirrors this row cannot run, though the row is enabled; else empty."""
    row = next(tables.rows(id=row_id), None)
    if row is None or not row.enabled:
        return ""
    offer = Offer(may_run(row.task), settings.QUEUES)
    wanted = beat_rows.wanted(row, offer, now=clock.now(), kept=None)
    return "" if wanted.paused_until else wanted.paused_reason


def mirror() -> int:
    """Bring the mirrored jobs up to date with the rows; how many were changed.

    Every beat calls this all the time: one small statement where no row has changed, a look at
    every row once a minute all the same. Several beats at once do no harm.
    """
    return _mirror.look()


@dataclass
class Mirror:
    """What one process has seen of the rows, and when it looks at them all again."""

    seen: Mark | None = None
    full_look_at: float = 0.0

    def look(self) -> int:
        mark = tables.mark()
        if mark == self.seen and time.monotonic() < self.full_look_at:
            return 0
        look = _Look(deadline=time.monotonic() + _BUDGET)
        look.at_all()
        if look.complete:
            self.seen = mark
            self.full_look_at = time.monotonic() + (0 if look.expiring else FULL_LOOK_EVERY)
        return look.changed


_mirror = Mirror()


@dataclass
class _Look:
    """One look at every row. Ends early at its deadline, though not before it has put one row
    right, or where another beat mirrors."""

    deadline: float
    acted: bool = False
    changed: int = 0
    complete: bool = True
    expiring: bool = False  # a row expires soon: look again with the next call

    def at_all(self) -> None:
        now = clock.now()
        rows = {row.id: row for row in tables.rows()}
        mirrors = _mirrors()
        for row_id in [*(mirrors.keys() - rows.keys()), *rows]:
            row = rows.get(row_id)
            self.expiring |= row is not None and _expires_soon(row, now)
            if _plan(row, mirrors.get(row_id), now) is None:
                continue
            if self.is_late() or not self.at_one(row_id):
                self.complete = False
                return
            self.acted = True

    def is_late(self) -> bool:
        """Whether the rest comes with the next call. Where reading alone takes longer than there
        is time, each call still gets one row further."""
        return self.acted and time.monotonic() > self.deadline

    def at_one(self, row_id: int) -> bool:
        """One row, in a transaction of its own: what fails here holds up no other row. False:
        another beat mirrors at this moment."""
        try:
            with transaction.atomic():
                if not _is_ours():
                    return False
                self.changed += _put_right(row_id)
        except (OperationalError, InterfaceError):
            raise  # the database's trouble, not the row's
        except Exception:
            log.exception("mirror.row_failed", periodic_task=row_id)
        return True


# ── what is to be done about a row ───────────────────────────────────────────────────────


@dataclass(frozen=True)
class Remove:
    """The row is gone."""

    job: Job


@dataclass(frozen=True)
class Finish:
    """A row that fires once has fired: it is disabled, as django-celery-beat would."""

    row: Row


@dataclass(frozen=True)
class Write:
    """The mirror is missing or differs. `since`: from when the new content holds."""

    row: Row
    job: Job | None
    wanted: Definition
    since: datetime | None


def _plan(row: Row | None, job: Job | None, now: datetime) -> Remove | Finish | Write | None:
    """None: the mirror is right."""
    if row is None:
        return None if job is None else Remove(job)
    kept = None if job is None else _kept(job)
    offer = Offer(may_run(row.task), settings.QUEUES)
    wanted = beat_rows.wanted(row, offer, now=now, kept=kept)
    if row.enabled and row.once and _has_fired(row, job, wanted, now):
        return Finish(row)
    if job is not None and _shape(wanted) == stored.shape(job):
        return None
    return Write(row, job, wanted, _since(wanted, kept, now))


def _has_fired(row: Row, job: Job | None, wanted: Definition, now: datetime) -> bool:
    if job is None:
        return row.runs > 0
    same = job.schedule == schedules.dump(wanted.schedule)
    over = not job.paused and not hasattr(job, "due")
    return same and over and schedules.next_moment(wanted.schedule, now) is None


def _since(wanted: Definition, kept: Kept | None, now: datetime) -> datetime | None:
    """A clocked row may be younger than its moment, by the time between two looks or because
    no beat was there: the moment is overdue then, not lost."""
    match wanted:
        case Definition(paused=False, schedule=(At(moment),)) if moment <= now:
            return None if kept and kept.schedule == (At(moment),) else moment - _TICK
        case _:
            return None


def _expires_soon(row: Row, now: datetime) -> bool:
    return row.enabled and row.expires is not None and now <= row.expires < now + _SOON


def _kept(job: Job) -> Kept:
    return Kept(schedules.load(job.schedule), job.paused, job.paused_until)


def _shape(wanted: Definition) -> dict[str, Any]:
    return {**definitions.shape(wanted), "finished": False, "deleted": False}


# ── doing it ─────────────────────────────────────────────────────────────────────────────


def _put_right(row_id: int) -> bool:
    """Look at the row once more, under its lock, and do what is to be done. A row that staff
    are just saving is left: their commit is the next mark."""
    is_locked = tables.lock(row_id)
    row = next(tables.rows(id=row_id), None)
    if row is not None and not is_locked:
        return False
    job, now = _mirrors(periodic_task_id=row_id).get(row_id), clock.now()
    plan = _plan(row, job, now)
    if isinstance(plan, Finish):
        tables.disable(row_id)
        log.info("mirror.one_off_finished", periodic_task=row_id)
        plan = _plan(replace(plan.row, enabled=False, runs=0), job, now)
    match plan:
        case Remove(gone):
            editing.delete(gone.id, by=None, mirror=True)
        case Write():
            _write(plan)
    return plan is not None


def _write(plan: Write) -> None:
    try:
        _store(plan, plan.wanted)
    except NameTaken:  # a job that is no mirror has the name, or two rows have swapped theirs
        name = beat_rows.numbered(plan.wanted.name, plan.row.id)
        _store(plan, replace(plan.wanted, name=name))


def _store(plan: Write, definition: Definition) -> None:
    if plan.job is not None:
        editing.edit(plan.job.id, definition, by=None, mirror=True, since=plan.since)
        return
    team, _ = Team.objects.get_or_create(slug=PLATFORM, defaults={"name": "Platform"})
    editing.register(team, definition, by=None, periodic_task_id=plan.row.id, since=plan.since)


def _is_ours() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        (ours,) = cursor.fetchone()
    return bool(ours)


def _mirrors(**which: int) -> dict[int, Job]:
    """The mirrors by their row's number, each with its due row, if it has one."""
    found = Job.objects.filter(periodic_task_id__isnull=False, **which).select_related("due")
    return {job.periodic_task_id: job for job in found if job.periodic_task_id is not None}
