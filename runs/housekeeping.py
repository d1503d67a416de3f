"""The platform's own jobs: retention, expiry of keys, sessions, calendars, the daily audit.

Each is a task for jobs, declared as a PeriodicTask row that staff may move or disable. All may
be repeated without harm, work in batches, and stop within their time: the next run goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from jobs import asked_once, clock
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.definitions.definitions import DefinitionError
from jobs.models import Calendar, CalendarVersion
from jobs.periodic_tasks.rows import ANSWER
from jobs.task_registry import job_task
from runs import ages
from runs.audits import kept as audits
from runs.channels import outbox
from runs.models import (
    Backfill,
    Beat,
    IdempotencyKey,
    Replay,
    ReplayItem,
    Run,
    Tombstone,
    Trial,
)
from runs.states import FINAL, State

BATCH = 500
WITHIN = 120.0  # seconds of one run, less than a job's time-out
_AUDITED = timedelta(hours=25)  # a day, and an hour that two audits share
_FIRST = UUID(int=0)

log = structlog.get_logger("onebeat.housekeeping")


@job_task("onebeat.retention")
def retention() -> dict[str, int]:
    """Prune the runs that ended more than ONEBEAT_KEEP_RUNS_DAYS ago; each leaves a tombstone of
    its moment. What a person may still decide on stays, however old. Backfills and replays that
    were over by then go with the last of their runs, and test requests go alike."""
    pruned, last = 0, _FIRST
    enough = _in_time()
    while not enough():
        last, count = _prune_after(last)
        pruned += count
        if last == _FIRST:
            break
    backfills, replays = _prune_over()
    old = Trial.objects.filter(at__lt=clock.now() - timedelta(days=settings.KEEP_RUNS_DAYS))
    trials = _in_batches(lambda: _deleted(old), enough)
    told = {"backfills": backfills, "replays": replays, "trials": trials}
    log.info("housekeeping.pruned", runs=pruned, **told)
    return {"pruned": pruned}


@job_task("onebeat.key_expiry")
def key_expiry() -> dict[str, int]:
    """Delete the keys past their expiry whose run is final or pruned: never one whose run is
    undecided or may be replayed."""
    expired = Q(expires_at__lt=Now()) & (Q(run=None) | Q(run__state__in=FINAL))
    deleted = 0
    enough = _in_time()
    while not enough():
        ids = list(IdempotencyKey.objects.filter(expired).values_list("id", flat=True)[:BATCH])
        deleted += IdempotencyKey.objects.filter(id__in=ids).delete()[0]
        if len(ids) < BATCH:
            break
    requests = asked_once.forget()
    log.info("housekeeping.keys_expired", keys=deleted, requests=requests)
    return {"deleted": deleted}


@job_task("onebeat.messages")
def messages() -> dict[str, int]:
    """Forget what was told, and what nobody could be told, more than a month ago."""
    deleted = _in_batches(lambda: outbox.forget(BATCH), _in_time())
    log.info("housekeeping.messages_forgotten", messages=deleted)
    return {"deleted": deleted}


@job_task("onebeat.sessions")
def sessions() -> dict[str, int]:
    """Forget sessions that have run out, and beats unseen for a day."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    beats, _ = Beat.objects.filter(seen_at__lt=Now() - timedelta(days=1)).delete()
    return {"beats": beats}


@job_task("onebeat.calendars")
def calendars() -> dict[str, int]:
    """Write a new version of each calendar whose holidays are known for less than nine years: one
    that ends a year later. An iCal rule or a country that brings no more stays as it is."""
    soon = clock.now().date() + timedelta(days=9 * 366)
    extended = 0
    for name in Calendar.objects.filter(deleted_at=None).values_list("name", flat=True):
        newest = calendar_editing.newest(name)
        if newest.known_until is not None and newest.known_until < soon:
            extended += _extended(newest)
    log.info("housekeeping.calendars_extended", calendars=extended)
    return {"extended": extended}


def _extended(newest: CalendarVersion) -> bool:
    """Whether a version with later days was written; what fails holds up no other calendar."""
    content = calendar_editing.content_of(newest)
    try:
        if not calendar_content.expand(content, clock.now().date()).goes_on:
            return False
        found = calendar_editing.change(newest.calendar_id, content, by=None, seen=newest.number)
    except (DefinitionError, calendar_editing.Gone, calendar_editing.Refused) as error:
        log.warning("housekeeping.calendar_kept", calendar=newest.calendar_id, reason=str(error))
        return False
    return found.number != newest.number


@job_task("onebeat.audit")
def daily_audit() -> dict[str, Any]:
    """Compare what should have fired in the last day with what did. A gap is an alarm in the
    log and stands in the run's answer."""
    report = audits.kept(since=clock.now() - _AUDITED)
    for gap in report.gaps:
        log.error("audit.gap", job=str(gap.job_id), kind=gap.kind, count=gap.count)
        named = sorted(gap.moments)
        first, last = (named[0], named[-1]) if named else (None, None)
        outbox.disagreement(gap.job_id, of=gap.kind, count=gap.count, first=first, last=last)
    return report.as_json()


def _in_time() -> Callable[[], bool]:
    deadline = time.monotonic() + WITHIN
    return lambda: time.monotonic() > deadline


def _in_batches(delete: Callable[[], int], enough: Callable[[], bool]) -> int:
    """How many were deleted, batch by batch, until one was not full or the time is up."""
    deleted = 0
    while not enough():
        count = delete()
        deleted += count
        if count < BATCH:
            break
    return deleted


@transaction.atomic
def _prune_after(last: UUID) -> tuple[UUID, int]:
    """Prune the next batch above an id: where it ended (_FIRST: nothing is left), how many."""
    old = clock.now() - timedelta(days=settings.KEEP_RUNS_DAYS)
    found = Run.objects.filter(
        id__gt=last, id__lt=ages.first_id(old), state__in=FINAL, finished_at__lt=old
    ).order_by("id")
    batch = list(found.values_list("id", "job_id", "due_at", "state")[:BATCH])
    Tombstone.objects.bulk_create(
        [
            Tombstone(job_id=job_id, due_at=due_at, ending=state)
            for _, job_id, due_at, state in batch
            if due_at is not None and state != State.SKIPPED  # a skipped moment never fired
        ],
        ignore_conflicts=True,
    )
    ids = [run_id for run_id, *_ in batch]
    Run.objects.filter(id__in=ids).delete()
    return (ids[-1] if len(ids) == BATCH else _FIRST), len(ids)


@transaction.atomic
def _prune_over() -> tuple[int, int]:
    """How many backfills and replays, of those that were over long ago, had no run left."""
    over = {"finished_at__lt": clock.now() - timedelta(days=settings.KEEP_RUNS_DAYS)}
    backfills = Backfill.objects.filter(
        ~Exists(Run.objects.filter(backfill=OuterRef("id"))), **over
    )
    there = Run.objects.filter(id=OuterRef("run"))
    items = ReplayItem.objects.filter(Exists(there), replay=OuterRef("id"))
    replays = Replay.objects.filter(~Exists(items), **over)
    return _deleted(backfills), _deleted(replays)


def _deleted(rows: QuerySet[Any]) -> int:
    """How many rows of a kind were deleted, at most a batch, whatever hung on them."""
    ids = list(rows.order_by("id").values_list("id", flat=True)[:BATCH])
    rows.model._default_manager.filter(id__in=ids).delete()
    return len(ids)


# ── declared as PeriodicTask rows ────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Declared:
    """One of the platform's own rows, as it is first written: daily, in UTC."""

    name: str
    task: str
    at: str
    description: str


DECLARED = (
    Declared("Retention", "onebeat.retention", "03:17", "Prunes runs that ended long ago."),
    Declared("Key expiry", "onebeat.key_expiry", "03:37", "Deletes keys past their expiry."),
    Declared("Messages", "onebeat.messages", "03:42", "Forgets what was told a month ago."),
    Declared("Sessions", "onebeat.sessions", "03:47", "Forgets old sessions and beats."),
    Declared("Calendars", "onebeat.calendars", "03:57", "Keeps days off known ten years ahead."),
    Declared("Audit", "onebeat.audit", "04:07", "Compares what should have fired with what did."),
)


def declare(**_: Any) -> None:
    """Write the rows that are missing by name, after each migration. What staff have changed
    stays; a row that they do not want is to be disabled, for a deleted one comes back."""
    if PeriodicTask._meta.db_table not in connection.introspection.table_names():
        return  # one app alone is being migrated
    present = set(PeriodicTask.objects.values_list("name", flat=True))
    for declared in DECLARED:
        if declared.name not in present:
            _write(declared)


def _write(declared: Declared) -> None:
    hour, minute = (str(int(part)) for part in declared.at.split(":"))
    PeriodicTask.objects.create(
        name=declared.name,
        task=declared.task,
        crontab=CrontabSchedule.objects.create(hour=hour, minute=minute, timezone="UTC"),
        headers=f'{{"{ANSWER}": true}}',
        description=declared.description,
    )
