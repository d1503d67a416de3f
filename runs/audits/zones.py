"""What fired at another instant than the rules of its zone say today, because it was claimed by
older zone data.

A run keeps the offset that its zone was said to have: with it, the wall-clock time that it stood
for. A moment at that time is accounted for, and the run explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

from django.db import connection

from jobs.schedules import local_times
from jobs.schedules.schedules import Cron
from jobs.schedules.timeline import Timeline
from runs.audits.rows import Window

_REACH = timedelta(days=1)  # how far rules have moved at most

# A run or a record of skipped moments, with the offset of its zone at the (last) moment.
_CLAIMED = """
select due_at, coalesce(skipped_until, due_at), utc_offset from runs_run
 where job_id = %(job)s and origin = 'schedule' and utc_offset is not null
   and due_at > %(after)s and due_at <= %(until)s
"""


@dataclass(frozen=True)
class Displaced:
    """What of one job was claimed by other zone data than those in use: its (first) moment, and
    the wall-clock times (naive) that it stood for, from and to."""

    line: Timeline
    rows: Sequence[tuple[datetime, datetime, datetime]]

    @classmethod
    def of(cls, job_id: UUID, line: Timeline, window: Window) -> Self:
        given: dict[str, Any] = {
            "job": job_id,
            "after": window.after - _REACH,
            "until": window.until + _REACH,
        }
        with connection.cursor() as cursor:
            cursor.execute(_CLAIMED, given)
            claimed = cursor.fetchall()
        return cls(
            line,
            [
                (first, _shown(first, offset), _shown(last, offset))
                for first, last, offset in claimed
                if offset not in _offsets(line, last)
            ],
        )

    def unaccounted(self, missing: Sequence[datetime]) -> list[datetime]:
        """Of moments without a run at their instant, those that none stands for."""
        return [moment for moment in missing if not self._stood_for(moment)]

    def unexplained(self, runs: Sequence[datetime]) -> list[datetime]:
        """Of runs for moments that are not due by the rules in use, those claimed by them."""
        displaced = {first for first, *_ in self.rows}
        return [moment for moment in runs if moment not in displaced]

    def _stood_for(self, moment: datetime) -> bool:
        if not self.rows:
            return False
        shown = [_shown(moment, offset) for offset in _offsets(self.line, moment)]
        return any(low <= at <= high for _, low, high in self.rows for at in shown)


def _offsets(line: Timeline, moment: datetime) -> set[int]:
    plan = line.plan_at(moment)
    crons = (part for part in plan.schedules if isinstance(part, Cron)) if plan else ()
    return {local_times.offset(part.timezone, moment) for part in crons}


def _shown(moment: datetime, offset: int) -> datetime:
    return moment.replace(tzinfo=None) + timedelta(minutes=offset)
