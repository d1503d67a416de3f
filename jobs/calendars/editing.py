"""Create, change and delete a calendar: the rules that every door opens.

A new version of a calendar is an edit of every job that goes by it, in one transaction and in a
number of statements that does not depend on how many there are. Locks: the calendar, then `Due`,
then `Job`, each by id; the clock is read after they are held.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from jobs import clock, editing, events
from jobs.calendars import content as calendar_content
from jobs.calendars import kept
from jobs.calendars.content import Content, Expanded
from jobs.models import Calendar, CalendarVersion, Due, Job, User
from jobs.shards import shard_of

log = structlog.get_logger("onebeat.calendar")


class Gone(Exception):
    """There is no calendar of this name any more."""


class Refused(Exception):
    """What was asked for does not fit what there is by now; the text says what to do."""


@dataclass(frozen=True)
class Editor:
    """Who changes a calendar: in `teams` they may edit jobs; staff of the platform may change
    any calendar."""

    user: User
    teams: frozenset[UUID]

    def may_change(self, name: str) -> bool:
        """Any editor changes a calendar that no other team's job goes by."""
        if self.user.is_staff:
            return True
        others = _jobs(name).exclude(team__in=self.teams)
        return bool(self.teams) and not others.exists()


def create(name: str, content: Content, *, by: Editor) -> CalendarVersion:
    """A new calendar. Raises DefinitionError, PermissionDenied, Refused where the name is taken.

    The name of a deleted one brings that one back: versions of jobs still speak of it."""
    calendar_content.name(name)
    if not (by.teams or by.user.is_staff):
        raise PermissionDenied("This needs the role editor in a team.")
    expanded = calendar_content.expand(content, clock.now().date())
    taken = Refused(f"There is a calendar named “{name}” already. Choose another name.")
    try:
        with transaction.atomic():
            now = clock.now()
            calendar = Calendar.objects.select_for_update().filter(name=name).first()
            if calendar is not None and calendar.deleted_at is None:
                raise taken
            calendar = calendar or Calendar(name=name, version=0, created_at=now)
            calendar.deleted_at = None
            found = _write(calendar, content, expanded, by=by.user, now=now)
            events.record("calendar.created", events.of_calendar(calendar), by=by.user)
    except IntegrityError:
        raise taken from None
    log.info("calendar.created", calendar=name, by=by.user.get_username())
    return found


def change(
    name: str, content: Content, *, by: Editor | None, seen: int | None = None
) -> CalendarVersion:
    """A new version, to which every job of the calendar is moved; the same content and the same
    days write none. `by` None: the platform. `seen`: the version that this was made from.

    Raises DefinitionError, Gone, PermissionDenied, and Refused where somebody was faster."""
    expanded = calendar_content.expand(content, clock.now().date())
    try:
        with transaction.atomic():
            calendar = _lock(name)
            demand(by, name)
            if seen not in (None, calendar.version):
                raise Refused(
                    f"The calendar was changed meanwhile (it is at version {calendar.version}). "
                    "Look at it again, then save once more."
                )
            newest = CalendarVersion.objects.get(calendar=name, number=calendar.version)
            if _same(newest, content, expanded):
                return newest
            jobs = _lock_jobs(name)
            now = clock.now()
            found = _write(calendar, content, expanded, by=by.user if by else None, now=now)
            _move(jobs, found)
            _recorded(newest, found, by.user if by else None)
    except Exception:
        kept.forget()  # of the version that was taken back
        raise
    who = by.user.get_username() if by else None
    log.info("calendar.changed", calendar=name, version=found.number, jobs=len(jobs), by=who)
    return found


def delete(name: str, *, by: Editor) -> None:
    """The calendar gone from every list. Raises Gone, PermissionDenied, and Refused while jobs
    go by it."""
    with transaction.atomic():
        calendar = _lock(name)
        demand(by, name)
        if count := _jobs(name).count():
            jobs = "1 job goes" if count == 1 else f"{count} jobs go"
            raise Refused(f"{jobs} by this calendar. Choose another one for them first.")
        calendar.deleted_at = clock.now()
        calendar.save()
        events.record("calendar.deleted", events.of_calendar(calendar), by=by.user)
    log.info("calendar.deleted", calendar=name, by=by.user.get_username())


def newest(name: str) -> CalendarVersion:
    """What a calendar says now. Raises Gone."""
    versions = CalendarVersion.objects.select_related("calendar", "by")
    found = versions.filter(calendar=name, calendar__deleted_at=None).order_by("-number").first()
    if found is None:
        raise Gone
    return found


def content_of(version: CalendarVersion) -> Content:
    """What was said of a calendar in a version."""
    return calendar_content.read({**version.content, "description": version.calendar.description})


def _jobs(name: str) -> QuerySet[Job]:
    return Job.objects.filter(calendar=name, deleted_at=None)


def _lock(name: str) -> Calendar:
    locked = Calendar.objects.select_for_update(no_key=True)
    calendar = locked.filter(name=name, deleted_at=None).first()
    if calendar is None:
        raise Gone
    return calendar


def demand(by: Editor | None, name: str) -> None:
    """Raises PermissionDenied unless this person may change the calendar."""
    if by is not None and not by.may_change(name):
        raise PermissionDenied(
            "Jobs of other teams go by this calendar: the platform's staff may change it."
            if by.teams
            else "This needs the role editor in a team."
        )


def _same(newest: CalendarVersion, content: Content, expanded: Expanded) -> bool:
    shape = calendar_content.shape(content)
    return (
        newest.calendar.description == shape.pop("description")
        and newest.content == shape
        and newest.days == _stored(expanded)
        and newest.known_until == expanded.known_until
    )


def _stored(expanded: Expanded) -> dict[str, str]:
    return {str(day): label for day, label in expanded.days.items()}


def _write(
    calendar: Calendar, content: Content, expanded: Expanded, *, by: User | None, now: datetime
) -> CalendarVersion:
    shape = calendar_content.shape(content)
    calendar.description = shape.pop("description")
    calendar.version += 1
    calendar.save()
    return CalendarVersion.objects.create(
        calendar=calendar,
        number=calendar.version,
        began_at=now,
        by=by,
        content=shape,
        days=_stored(expanded),
        known_until=expanded.known_until,
    )


def _recorded(before: CalendarVersion, after: CalendarVersion, by: User | None) -> None:
    changes = {
        **events.differences(before.content, after.content),
        **events.differences({"days": before.days}, {"days": after.days}),
    }
    events.record("calendar.changed", events.of_calendar(after.calendar), by=by, changes=changes)


# ── the jobs that go by it ───────────────────────────────────────────────────────────────

_LOCK_DUE = """
select d.job_id from jobs_due d
 where d.job_id in (select id from jobs_job where calendar_id = %s and deleted_at is null)
 order by d.job_id for update
"""
_BUMP = """
with bumped as (
  update jobs_job
     set version = version + 1, version_began_at = %(now)s, calendar_version = %(number)s
   where id = any(%(jobs)s) returning id, version)
insert into jobs_jobversion (job_id, number, began_at, by_id, definition, changes)
select b.id, b.version, %(now)s, %(by)s, v.definition || jsonb_build_object('calendar', c.new),
       jsonb_build_object('calendar',
                          jsonb_build_object('from', v.definition->'calendar', 'to', c.new))
  from bumped b
  join jobs_jobversion v on v.job_id = b.id and v.number = b.version - 1
 cross join lateral (
   select jsonb_set(v.definition->'calendar', '{version}', to_jsonb(%(number)s::int)) as new) c
"""
# An overdue row stays for the claim, which goes by the version in force at its moment.
_ONWARD = """
insert into jobs_due as d (job_id, shard, at)
select * from unnest(%(jobs)s::uuid[], %(shards)s::smallint[], %(moments)s::timestamptz[])
    on conflict (job_id) do update set at = excluded.at
 where d.at > %(now)s and d.at is distinct from excluded.at
"""


# By whose zone data a due row in the future stands: not of one that stays for the claim.
_TELL = """
update jobs_job j set zone_data = t.zone_data
  from unnest(%(jobs)s::uuid[], %(versions)s::text[]) as t(id, zone_data)
 where j.id = t.id and j.zone_data <> t.zone_data
   and not exists (select 1 from jobs_due d where d.job_id = j.id and d.at <= %(now)s)
"""


def _lock_jobs(name: str) -> list[Job]:
    """The jobs, their `Due` rows locked before them. An edit may write such a row while this waits
    for its job: whoever then waited for the row would stand against a claim (jobs/locking.py)."""
    while True:
        with transaction.atomic(), connection.cursor() as cursor:  # a savepoint
            cursor.execute(_LOCK_DUE, [name])
            held = {job_id for (job_id,) in cursor.fetchall()}
            locked = _jobs(name).select_for_update(no_key=True).order_by("id")
            jobs = list(locked.defer("target", "signing_secret", "description", "runbook"))
            without = [job.id for job in jobs if job.id not in held]
            if not (without and Due.objects.filter(job__in=without).exists()):
                return jobs
            transaction.set_rollback(True)


def _move(jobs: Collection[Job], version: CalendarVersion) -> None:
    """The jobs' versions, and their due rows that lie in the future."""
    now, onward, finished, worked_out = version.began_at, [], [], []
    for job in jobs:
        job.version_began_at, job.calendar_version = now, version.number
        at, zone_data = editing.due_at(job)
        if zone_data is not None:
            worked_out.append((job.id, zone_data))
        if at is None:
            finished.append(job.id)
        else:
            onward.append((job.id, shard_of(job.id), at))
    ids = [job.id for job in jobs]
    given: dict[str, Any] = {"jobs": ids, "number": version.number, "now": now, "by": version.by_id}
    with connection.cursor() as cursor:
        cursor.execute(_BUMP, given)
        if worked_out:
            which, by = zip(*worked_out, strict=True)
            cursor.execute(_TELL, {"jobs": list(which), "versions": list(by), "now": now})
        if onward:
            rows = zip(("jobs", "shards", "moments"), zip(*onward, strict=True), strict=True)
            cursor.execute(_ONWARD, {**{key: list(row) for key, row in rows}, "now": now})
    Due.objects.filter(job__in=finished, at__gt=now).delete()
