"""When one version of a job is due: its schedules, and the window in which they hold. PURE.

Whoever asks when a job is due asks its plan: the beat, the preview, the doors and the audit. The
window has both its ends: a moment at `starts_at` or at `ends_at` itself is due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from jobs.calendars.days import Calendar, Use, use_of
from jobs.schedules import schedules
from jobs.schedules.instants import canonical_instant, parse_instant
from jobs.schedules.schedules import At, PreviewedMoment, Schedule, ScheduleError

_TICK = datetime.resolution


@dataclass(frozen=True)
class Plan:
    """`starts_at`, `ends_at`: instants in UTC; None: no bound on that side."""

    schedules: tuple[Schedule, ...]
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    @classmethod
    def load(cls, stored: Mapping[str, Any], calendar: Callable[[Use], Calendar]) -> Self:
        """The plan in a job's stored shape, which may have no moment left; `calendar` knows the
        version that a job is pinned to. Raises ScheduleError."""
        found = schedules.load(stored["schedule"])
        use = use_of(stored.get("calendar"))
        return cls(
            found if use is None else schedules.with_calendar(found, calendar(use), use.rule),
            _instant(stored.get("starts_at"), "starts_at"),
            _instant(stored.get("ends_at"), "ends_at"),
        )

    @property
    def one_off(self) -> bool:
        """Whether it names instants only."""
        return all(isinstance(schedule, At) for schedule in self.schedules)

    def next(self, after: datetime) -> datetime | None:
        """The first moment strictly after `after`; None when there is none any more."""
        moment = schedules.next_moment(self.schedules, self._from(after))
        return moment if moment is not None and self._ends_after(moment) else None

    def moments(self, after: datetime, count: int) -> list[datetime]:
        """The next `count` moments strictly after `after`, oldest first; fewer where they end."""
        found = schedules.moments(self.schedules, self._from(after), count)
        return [moment for moment in found if self._ends_after(moment)]

    def between(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """The oldest `limit` moments in `after` < moment ≤ `until`, oldest first."""
        window = self._from(after), self._until(until)
        return schedules.moments_between(self.schedules, *window, limit)

    def count(self, after: datetime, until: datetime) -> int:
        """How many moments lie in `after` < moment ≤ `until`."""
        return schedules.count_between(self.schedules, self._from(after), self._until(until))

    def at_most(self, after: datetime, until: datetime) -> int:
        """The same, one that several schedules share counted for each: by arithmetic alone."""
        window = self._from(after), self._until(until)
        return sum(schedules.count_between((one,), *window) for one in self.schedules)

    def newest(self, after: datetime, until: datetime) -> datetime | None:
        """The newest moment in `after` < moment ≤ `until`."""
        return schedules.newest_between(self.schedules, self._from(after), self._until(until))

    def preview(self, after: datetime, count: int) -> list[PreviewedMoment]:
        """The next `count` moments strictly after `after`, as a person reads them."""
        found = schedules.preview(self.schedules, self._from(after), count)
        return [previewed for previewed in found if self._ends_after(previewed.moment)]

    def _from(self, after: datetime) -> datetime:
        if self.starts_at is None or self.starts_at <= after:
            return after
        return self.starts_at - _TICK  # never before the calendar: `after` lies in it

    def _until(self, until: datetime) -> datetime:
        return until if self.ends_at is None else min(until, self.ends_at)

    def _ends_after(self, moment: datetime) -> bool:
        return self.ends_at is None or moment <= self.ends_at


def refusal(plan: Plan, now: datetime) -> ScheduleError | None:
    """Why the window of a plan leaves nothing to fire after `now`; None where it leaves some."""
    start, end = plan.starts_at, plan.ends_at
    if end is not None and start is not None and end < start:
        hint = "Choose an end after the start."
        return ScheduleError("ends_at", canonical_instant(end), "lies before starts_at", hint)
    if plan.next(now) is not None:
        return None
    if end is not None:
        hint = "Choose a later one, or leave it out."
        return ScheduleError("ends_at", canonical_instant(end), "leaves no moment to fire", hint)
    if start is None:
        return None  # without a window, a schedule that never fires was refused before, or is kept
    hint = "The schedule has no moment from then on: choose an earlier one."
    return ScheduleError("starts_at", canonical_instant(start), "leaves no moment to fire", hint)


def _instant(text: object, field: str) -> datetime | None:
    return None if text is None else parse_instant(text, field)
