"""How many moments fall into a stretch of time to come, as a hold that is planned makes them wait.

Whole minutes are counted, as cron's moments are, and no more than a week of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from jobs.models import Job
from runs.dashboard.upcoming import upcoming
from runs.dashboard.upcoming.density import Minutes

LOOKED_AT = timedelta(days=upcoming.DAYS)
_MINUTE = timedelta(minutes=1)
_TICK = timedelta.resolution


@dataclass(frozen=True)
class Falling:
    """So many moments, of so many jobs, from `since` to before `until`. `cut`: there are more, for
    the stretch is longer, or the jobs or the moments of one are more, than is looked at."""

    since: datetime
    until: datetime
    moments: int
    jobs: int
    cut: bool


def into(jobs: QuerySet[Job], now: datetime, since: datetime, until: datetime) -> Falling:
    """What falls into the stretch, as far as it lies ahead of `now`."""
    since = max(since, now)
    end = min(until, since + LOOKED_AT)
    start = _full(since)
    minutes = Minutes(start, max(0, (_full(end) - start) // _MINUTE))
    rows, more = upcoming.alike(jobs, now)
    touched = 0
    for row, number in rows:
        if row.next(minutes.start - _TICK, minutes.end - _TICK) is not None:
            upcoming.add(minutes, row, number)
            touched += number
    cut = more or minutes.cut or end < until
    return Falling(since, end, sum(minutes.counts()), touched, cut)


def _full(at: datetime) -> datetime:
    """The first full minute from then on."""
    full = at.replace(second=0, microsecond=0)
    return full if full == at else full + _MINUTE
