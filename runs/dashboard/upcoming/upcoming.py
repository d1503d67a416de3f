"""What is due in the time to come, over all jobs of a team or a person.

`Due` says which jobs can have a moment by an instant at all: of the others nothing is worked out.
Moments are those of the plans: a hold makes their runs wait, and takes none away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from heapq import heapify, heappop, heappush, nsmallest
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, TextField
from django.db.models.functions import Cast

from jobs.calendars import kept as kept_calendars
from jobs.calendars.days import Use
from jobs.models import Job
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant
from jobs.schedules.plans import Plan
from runs.dashboard.upcoming import soon
from runs.dashboard.upcoming.density import MOST_WALKED, Minutes

MOST_JOBS = 20_000  # that are looked at; a page says where there are more
DAYS = 7
_TICK = timedelta.resolution
_MINUTE = timedelta(minutes=1)
_COLUMNS = (
    *("text", "calendar_id", "calendar_rule", "calendar_version", "starts_at", "ends_at"),
    *("paused_until", "skip_next", "max_runs", "runs_begun"),
)


@dataclass(frozen=True)
class Place:
    """Where a page ended: what follows is later, or of a later job at the same time."""

    at: datetime
    job_id: UUID


@dataclass(frozen=True)
class Coming:
    """A moment of a job. `skipped`: it is to be left out, and recorded so."""

    at: datetime
    job: Job
    skipped: bool


@dataclass(frozen=True)
class Page:
    """Moments, oldest first; `following`: where the next page begins, None at the end. `cut`:
    there are more jobs than are looked at."""

    rows: list[Coming]
    following: Place | None
    cut: bool


def page(jobs: QuerySet[Job], now: datetime, until: datetime, behind: Place, count: int) -> Page:
    """The next `count` moments behind a place, not after `until`."""
    standing = _standing(jobs, now, until, behind.at, count + 1)
    # Whoever is not among the first so many, by the next moment of each, has none of them.
    near = nsmallest(count + 1, _firsts(standing[:MOST_JOBS], behind, until))
    found = list(_merged(near, {row.id: row for row in standing}, until, count + 1))
    there = jobs.in_bulk({job_id for _, job_id in found[:count]})
    told = {row.id: row for row in standing if row.id in there}
    rows = [
        Coming(at, there[job_id], told[job_id].skips(at))
        for at, job_id in found[:count]
        if job_id in there
    ]
    following = Place(*found[count - 1]) if len(found) > count else None
    return Page(rows, following, len(standing) > MOST_JOBS)


@dataclass(frozen=True)
class Week:
    """`minutes` holds how many moments fall into each; `jobs` have been looked at. `cut`: more
    jobs, or more moments of one, than are looked at."""

    minutes: Minutes
    counts: list[int]
    jobs: int
    cut: bool

    def within(self, start: datetime, end: datetime) -> int:
        """How many fall into a stretch."""
        return sum(self.counts[self._place(start) : self._place(end)])

    @property
    def hottest(self) -> tuple[datetime, int] | None:
        """The minute into which most fall, the first of several, and how many; None: none do."""
        most = max(self.counts, default=0)
        if not most:
            return None
        return self.minutes.start + self.counts.index(most) * _MINUTE, most

    def _place(self, at: datetime) -> int:
        return min(max((at - self.minutes.start) // _MINUTE, 0), self.minutes.length)


def week(jobs: QuerySet[Job], now: datetime, until: datetime) -> Week:
    """The minutes after this one, up to before `until`, with what fires in each: moments that are
    to be skipped are left out."""
    start = now.replace(second=0, microsecond=0) + _MINUTE
    minutes = Minutes(start, max(0, (until - start) // _MINUTE))
    rows, cut = alike(jobs, now)
    for row, number in rows:
        add(minutes, row, number)
    looked_at = sum(number for _, number in rows)
    return Week(minutes, minutes.counts(), looked_at, minutes.cut or cut)


def alike(jobs: QuerySet[Job], now: datetime) -> tuple[list[tuple[Standing, int]], bool]:
    """The jobs that may have a moment to come, those that stand alike together with how many they
    are; and whether there are more than are looked at."""
    found = jobs.filter(due__isnull=False).annotate(text=_TEXT).order_by()
    rows = list(found.values_list(*_COLUMNS).annotate(Count("id"))[: MOST_JOBS + 1])
    _read_calendars(rows)
    standing = [(Standing.of(None, None, now, row[:-1]), row[-1]) for row in rows[:MOST_JOBS]]
    return standing, len(rows) > MOST_JOBS


@dataclass(frozen=True)
class Standing:
    """A job as far as its moments to come go. `due_at`: the next one, where it is known; `since`:
    they lie strictly after that; `left`: how many may become runs, None without a bound."""

    id: Any
    due_at: datetime | None
    since: datetime
    plan: Plan | None
    skip_next: int
    left: int | None

    @classmethod
    def of(cls, job_id: UUID | None, due_at: datetime | None, now: datetime, row: Any) -> Standing:
        """From the values of `_COLUMNS`."""
        *planned, paused_until, skip_next, max_runs, begun = row
        left = None if max_runs is None else max(0, max_runs - begun)
        since = max(paused_until or now, now)
        known = None if paused_until else due_at
        return cls(job_id, known, since, _plan(*planned), skip_next, left)

    def next(self, after: datetime, until: datetime) -> datetime | None:
        """Its first moment strictly after an instant, and not after another."""
        if self.due_at is not None and self.due_at > after:
            return self.due_at if self.due_at <= until else None
        after = max(after, self.since)
        at = soon.next_moment(self.plan, after, until) if self.plan else None
        return None if at is None or self._over(at) else at

    def skips(self, at: datetime) -> bool:
        """Whether this moment is to be left out."""
        return bool(self.skip_next) and self._number(at) <= self.skip_next

    def _over(self, at: datetime) -> bool:
        return self.left is not None and self._number(at) > self.skip_next + self.left

    def _number(self, at: datetime) -> int:
        return self.plan.count(self.since, at) if self.plan else 0


def _standing(
    jobs: QuerySet[Job], now: datetime, until: datetime, after: datetime, count: int
) -> list[Standing]:
    """The jobs that may have one of the first `count` moments after an instant, up to `until`: all
    whose next one has come by then, and the first of the others. Under a pause `Due` holds its end.
    """
    rows = jobs.filter(due__isnull=False).annotate(text=_TEXT, at=F("due__at"))
    rows = rows.order_by("due__at", "id")
    earlier = rows.filter(Q(due__at__lte=after) | Q(paused=True, due__at__lte=until))
    later = rows.filter(paused=False, due__at__gt=after, due__at__lte=until)
    found = [
        *earlier.values_list("id", "at", *_COLUMNS)[: MOST_JOBS + 1],
        *later.values_list("id", "at", *_COLUMNS)[:count],
    ]
    _read_calendars([row[2:] for row in found])
    return [Standing.of(job_id, at, now, row) for job_id, at, *row in found]


def _firsts(
    standing: Iterable[Standing], behind: Place, until: datetime
) -> Iterator[tuple[datetime, UUID]]:
    for row in standing:
        at = row.next(behind.at if row.id <= behind.job_id else behind.at - _TICK, until)
        if at is not None:
            yield at, row.id


def _merged(
    near: list[tuple[datetime, UUID]], rows: dict[UUID, Standing], until: datetime, count: int
) -> Iterator[tuple[datetime, UUID]]:
    heapify(near)
    while near and count:
        at, job_id = heappop(near)
        yield at, job_id
        count -= 1
        following = rows[job_id].next(at, until)
        if following is not None:
            heappush(near, (following, job_id))


def add(minutes: Minutes, row: Standing, jobs: int) -> None:
    """What fires of so many jobs that stand so: moments that are to be skipped are left out."""
    if row.plan is None:
        return
    if row.left is None and not row.skip_next:
        minutes.add(row.plan, jobs, row.since if row.since > minutes.start else None)
        return
    count = MOST_WALKED if row.left is None else min(row.left + row.skip_next, MOST_WALKED)
    moments = row.plan.between(row.since, minutes.end, count)[row.skip_next :]
    for _ in range(jobs):
        minutes.add_moments(moments)


_TEXT = Cast("schedule", TextField())


def _plan(
    text: str,
    name: str | None,
    rule: str,
    version: int | None,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> Plan | None:
    """The plan, remembered by its text; None where the zone data in use has lost its zone."""
    rest = _beside(name, rule, version, starts_at, ends_at)
    try:
        return kept_calendars.plan(f'{{"schedule": {text}, {rest}')
    except ScheduleError:
        return None


@lru_cache(maxsize=1024)  # most jobs have none of these
def _beside(
    name: str | None,
    rule: str,
    version: int | None,
    starts_at: datetime | None,
    ends_at: datetime | None,
) -> str:
    """What a plan's text says behind its schedule."""
    calendar = name and {"name": name, "rule": rule, "version": version}
    bounds = [at and canonical_instant(at) for at in (starts_at, ends_at)]
    rest = json.dumps({"calendar": calendar, "starts_at": bounds[0], "ends_at": bounds[1]})
    return rest[1:]


def _read_calendars(rows: Iterable[Any]) -> None:
    """One statement for the calendars of all of them."""
    kept_calendars.read({Use(name, rule, version) for _, name, rule, version, *_ in rows if name})
