"""How many moments of many jobs fall into each minute of the days to come. PURE.

Nobody walks from moment to moment: a cron pattern is laid over whole days, an interval over the
line of minutes, and jobs that are due alike are laid once, with their number. Only a day on which
a zone changes its clock, and a job with bounds of its own, is gone through moment by moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import compress
from operator import and_

from jobs.cron.clock_changes import WallClock
from jobs.cron.pattern_days import comes_on
from jobs.schedules import schedules, zones
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import At, Cron, Every, Schedule

MOST_WALKED = 20_000  # moments of one job that is gone through; later ones are not counted
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_TICK = timedelta.resolution

Times = tuple[tuple[int, ...], tuple[int, ...]]  # minutes and hours of a day
Starts = tuple[int, ...]  # the midnights of days, in minutes from the first


@dataclass
class Minutes:
    """The minutes from `start` (a whole minute, UTC), `length` of them. `cut`: a job had more
    moments than are gone through."""

    start: datetime
    length: int
    cut: bool = False
    _singles: Counter[int] = field(default_factory=Counter)  # minute → moments
    _days: Counter[tuple[Starts, Times]] = field(default_factory=Counter)  # midnights → jobs
    _zones: dict[str, _Zone] = field(default_factory=dict)
    _steps: Counter[tuple[int, int]] = field(default_factory=Counter)  # first, step → jobs

    @property
    def end(self) -> datetime:
        return self.start + self.length * _MINUTE

    def add(self, plan: Plan, jobs: int, since: datetime | None = None) -> None:
        """So many jobs with this plan; `since`: their moments count strictly after that only."""
        if len(plan.schedules) == 1 and self._unbounded(plan, since):
            self._lay(plan.schedules[0], jobs)
        else:
            after = max(since, self.start) if since else self.start - _TICK
            self._walk(plan.between(after, self.end - _TICK, MOST_WALKED + 1), jobs)

    def add_moments(self, moments: Sequence[datetime]) -> None:
        """Moments of one job, each once."""
        inside = [moment for moment in moments if self.start <= moment < self.end]
        self._walk(inside, 1)

    def counts(self) -> list[int]:
        """How many moments fall into each minute."""
        found = [0] * self.length
        for place, number in self._singles.items():
            found[place] += number
        for (midnights, times), number in self._days.items():
            for place in _places(midnights, times, self.length):
                found[place] += number
        for (first, step), number in self._steps.items():
            for place in range(first, self.length, step):
                found[place] += number
        return found

    def _unbounded(self, plan: Plan, since: datetime | None) -> bool:
        began = max(plan.starts_at or self.start, since or self.start)
        return began <= self.start and (plan.ends_at is None or plan.ends_at >= self.end)

    def _lay(self, schedule: Schedule, jobs: int) -> None:
        match schedule:
            case Cron():
                self._lay_cron(schedule, jobs)
            case Every(seconds, anchor) if seconds % 60 == 0:
                first = _first_step(self.start, seconds, anchor)
                self._steps[first, seconds // 60] += jobs
            case Every():
                for place, number in _of_every(schedule, self.start, self.length):
                    self._singles[place] += number * jobs
            case At(moment):
                self._walk([moment] if self.start <= moment < self.end else [], jobs)

    def _lay_cron(self, schedule: Cron, jobs: int) -> None:
        zone = self._zone(schedule.timezone)
        comes = _days_with(schedule, zone.first, len(zone.midnights))
        midnights = tuple(compress(zone.midnights, map(and_, comes, zone.plain)))
        pattern = WallClock.of(schedule).pattern
        self._days[midnights, (pattern.minutes, pattern.hours)] += jobs
        for day in zone.others:
            inside = max(day.start, self.start), min(day.end, self.end)
            self._walk(_between(schedule, *inside), jobs)

    def _zone(self, name: str) -> _Zone:
        if name not in self._zones:
            self._zones[name] = _Zone.of(local_days(self.start, self.end, name), self.start)
        return self._zones[name]

    def _walk(self, moments: Sequence[datetime], jobs: int) -> None:
        self.cut = self.cut or len(moments) > MOST_WALKED
        for moment in moments[:MOST_WALKED]:
            self._singles[(moment - self.start) // _MINUTE] += jobs


@dataclass(frozen=True)
class _Zone:
    """The days of a zone: the first, when each begins, in minutes from the start, which of them
    are plain, and the others."""

    first: date
    midnights: tuple[int, ...]
    plain: tuple[bool, ...]
    others: tuple[LocalDay, ...]

    @classmethod
    def of(cls, days: Sequence[LocalDay], start: datetime) -> _Zone:
        return cls(
            first=days[0].date,
            midnights=tuple((day.start - start) // _MINUTE for day in days),
            plain=tuple(day.plain for day in days),
            others=tuple(day for day in days if not day.plain),
        )


@lru_cache(maxsize=16_384)
def _days_with(schedule: Cron, first: date, count: int) -> tuple[bool, ...]:
    """On which of so many days the times of a pattern come."""
    pattern = WallClock.of(schedule).pattern
    return tuple(comes_on(pattern, first + place * _DAY) for place in range(count))


def _places(midnights: Starts, times: Times, length: int) -> Iterator[int]:
    """The minutes of these times on these days that lie within the stretch."""
    minutes, hours = times
    of_day = [hour * 60 + minute for hour in hours for minute in minutes]
    for midnight in midnights:
        if midnight >= 0 and midnight + 1440 <= length:
            yield from map(midnight.__add__, of_day)
        else:
            yield from (midnight + at for at in of_day if 0 <= midnight + at < length)


@dataclass(frozen=True)
class LocalDay:
    """A day of a zone as a stretch of UTC. `plain`: its clock changes neither on it nor so near
    that the change reaches into it."""

    date: date
    start: datetime
    end: datetime
    plain: bool


@lru_cache(maxsize=4096)
def local_days(start: datetime, end: datetime, zone: str) -> tuple[LocalDay, ...]:
    """The days of a zone that the stretch from `start` to before `end` touches, oldest first."""
    there = zones.zone(zone)
    day, last = start.astimezone(there).date(), (end - _TICK).astimezone(there).date()
    found = []
    while day <= last:
        begins, ends = _midnight(day, zone), _midnight(day + _DAY, zone)
        found.append(LocalDay(day, begins, ends, _is_plain(begins, ends, zone)))
        day += _DAY
    return tuple(found)


def hours_of(day: LocalDay, zone: str) -> Iterator[tuple[int, datetime, datetime]]:
    """The hours that the clock shows on a day, each with the UTC stretch in which it shows it:
    one is missing where the clock goes forward, and one comes twice where it goes back."""
    there = zones.zone(zone)
    begin = day.start
    while begin < day.end:
        local = begin.astimezone(there)
        end = min(begin + timedelta(hours=1) - _MINUTE * local.minute, day.end)
        yield local.hour, begin, end
        begin = end


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, zones.zone(zone)).astimezone(UTC)


def _is_plain(begins: datetime, ends: datetime, zone: str) -> bool:
    if ends - begins != _DAY or begins.second:
        return False
    years = {begins.year, ends.year}
    changes = [change for year in years for change in zones.changes(zone, year)]
    reach = [(change.at, abs(change.after - change.before)) for change in changes]
    return not any(begins - size <= at <= ends + size for at, size in reach)


def _between(schedule: Cron, start: datetime, end: datetime) -> list[datetime]:
    return schedules.moments_between((schedule,), start - _TICK, end - _TICK, MOST_WALKED)


def _first_step(start: datetime, seconds: int, anchor: datetime) -> int:
    """The minute of the first moment of an interval of whole minutes."""
    step = timedelta(seconds=seconds)
    steps = max(0, -((anchor - start) // step))  # rounded up: none lies before the anchor
    return (anchor + steps * step - start) // _MINUTE


def _of_every(schedule: Every, start: datetime, length: int) -> Iterator[tuple[int, int]]:
    """The minutes that an interval of odd seconds comes to, and how often."""
    offset, step = start - schedule.anchor, timedelta(seconds=schedule.seconds)
    before = max(0, -(-offset // step))
    for place in range(length):
        after = max(0, -(-(offset + (place + 1) * _MINUTE) // step))
        if after > before:
            yield place, after - before
        before = after
