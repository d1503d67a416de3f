"""When a job is due: the one module that decides. PURE.

Beat, preview, form, API, import and audit all ask here. Instants are aware; those that come out
are in UTC. Moments before 1970 and after 9999 do not exist. Moments of several schedules are their
union: one that two of them share is one moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice

from jobs.calendars import notes as calendar_notes
from jobs.calendars.days import Calendar, Rule
from jobs.cron.clock_changes import WallClock
from jobs.schedules import clock_notes
from jobs.schedules import format as schedule_format
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant, parse_instant
from jobs.schedules.values import At, Cron, Every, Schedule

__all__ = [
    "At",
    "Cron",
    "Every",
    "PreviewedMoment",
    "Schedule",
    "ScheduleError",
    "canonical_instant",
    "count_between",
    "dump",
    "load",
    "moments",
    "moments_between",
    "newest_between",
    "next_moment",
    "parse",
    "parse_instant",
    "preview",
    "with_calendar",
]

_TICK = timedelta.resolution
_LATE = 9900  # what has no moment from then on may have had one before the calendar's end


@dataclass(frozen=True)
class PreviewedMoment:
    """A moment, its ISO 8601 spelling in the zone of its schedule, and what a person should know.

    `note` is empty but where a change of the clock moves, repeats or drops a moment, or a
    calendar skips or rolls one.
    """

    moment: datetime
    local: str
    note: str


def parse(data: object, *, now: datetime) -> tuple[Schedule, ...]:
    """The schedules that a person or a file gives: one object or a list of 1 to 20.

    An `every` without an anchor counts from `now`. Raises ScheduleError for what is malformed and
    for what never fires after `now`.
    """
    found = schedule_format.read(data, now.astimezone(UTC).replace(microsecond=0))
    for path, schedule in found:
        if next_moment((schedule,), now) is None:
            raise _never(schedule, now).under(path)
    return tuple(schedule for _, schedule in found)


def load(data: object) -> tuple[Schedule, ...]:
    """The schedules that `dump` wrote; they may have no moment left. Raises ScheduleError."""
    return tuple(schedule for _, schedule in schedule_format.read(data, None))


def dump(schedules: tuple[Schedule, ...]) -> list[dict[str, object]]:
    """The canonical JSON of schedules."""
    return [schedule_format.write(schedule) for schedule in schedules]


def with_calendar(
    schedules: tuple[Schedule, ...], calendar: Calendar | None, rule: Rule
) -> tuple[Schedule, ...]:
    """The schedules, their cron days by this calendar; by none, every day is one. Raises
    ScheduleError (field `calendar`) for a calendar where a schedule has no days."""
    others = [kind for kind in schedules if not isinstance(kind, Cron)]
    if others and calendar is not None:
        kind = "every" if isinstance(others[0], Every) else "at"
        hint = "Use it with `cron` schedules alone, or leave it out."
        raise ScheduleError("calendar", kind, "has no days for a calendar to act on", hint)
    return tuple(
        replace(schedule, calendar=calendar, rule=rule) if isinstance(schedule, Cron) else schedule
        for schedule in schedules
    )


def next_moment(schedules: tuple[Schedule, ...], after: datetime) -> datetime | None:
    """The first moment strictly after `after`; None when there is none any more."""
    if len(schedules) == 1:
        return _next(schedules[0], after)
    found = (_next(schedule, after) for schedule in schedules)
    return min((moment for moment in found if moment is not None), default=None)


def moments(schedules: tuple[Schedule, ...], after: datetime, count: int) -> list[datetime]:
    """The next `count` moments strictly after `after`, oldest first; fewer where they end."""
    return list(islice(_moments(schedules, after), count))


def moments_between(
    schedules: tuple[Schedule, ...], after: datetime, until: datetime, limit: int
) -> list[datetime]:
    """The oldest `limit` moments in `after` < moment ≤ `until`, oldest first."""
    found = []
    for moment in islice(_moments(schedules, after), limit):
        if moment > until:
            break
        found.append(moment)
    return found


def count_between(schedules: tuple[Schedule, ...], after: datetime, until: datetime) -> int:
    """How many moments lie in `after` < moment ≤ `until`.

    One schedule is counted by arithmetic, whatever the window. Of several, the densest is, and the
    others are gone through moment by moment for what it does not have.
    """
    if until <= after:
        return 0
    counts = [(_count(schedule, after, until), schedule) for schedule in dict.fromkeys(schedules)]
    counts.sort(key=lambda pair: pair[0], reverse=True)
    total = 0
    for place, (count, schedule) in enumerate(counts):
        earlier = [other for _, other in counts[:place]]
        total += count - (_count_shared(schedule, earlier, after, until) if earlier else 0)
    return total


def newest_between(
    schedules: tuple[Schedule, ...], after: datetime, until: datetime
) -> datetime | None:
    """The newest moment in `after` < moment ≤ `until`, found by halving the window."""
    found = [_newest(schedule, after, until) for schedule in schedules]
    return max((moment for moment in found if moment is not None), default=None)


def preview(schedules: tuple[Schedule, ...], after: datetime, count: int) -> list[PreviewedMoment]:
    """The next `count` moments strictly after `after`, as a person reads them."""
    return [_previewed(schedules, moment) for moment in moments(schedules, after, count)]


def _previewed(schedules: tuple[Schedule, ...], moment: datetime) -> PreviewedMoment:
    having = [schedule for schedule in schedules if _next(schedule, moment - _TICK) == moment]
    notes = dict.fromkeys(
        said(schedule, moment)
        for schedule in having
        for said in (clock_notes.note, calendar_notes.note)
    )
    shown = clock_notes.local(having[0], moment).isoformat()
    return PreviewedMoment(moment, shown, "; ".join(note for note in notes if note))


def _moments(schedules: tuple[Schedule, ...], after: datetime) -> Iterator[datetime]:
    moment = next_moment(schedules, after)
    while moment is not None:
        yield moment
        moment = next_moment(schedules, moment)


def _next(schedule: Schedule, after: datetime) -> datetime | None:
    match schedule:
        case Cron():
            return _next_of_cron(schedule, after)
        case Every():
            return _next_of_every(schedule, after)
        case At(moment):
            return moment if moment > after else None


def _next_of_cron(schedule: Cron, after: datetime) -> datetime | None:
    """By way of the minute that `after` lies in, so that jobs with one schedule share the work."""
    minute = after.astimezone(UTC).replace(second=0, microsecond=0)
    moment = _remembered(schedule, minute)
    while moment is not None and moment <= after:  # zones with seconds in their offset, until 1972
        moment = _remembered(schedule, moment)
    return moment


@lru_cache(maxsize=65_536)
def _remembered(schedule: Cron, after: datetime) -> datetime | None:
    moment = WallClock.of(schedule).next_after(after)
    if moment is not None and moment <= after:
        # The breaker: better one job stopped with its reason than one that fires for ever.
        problem = f"led from {canonical_instant(after)} back to {canonical_instant(moment)}"
        raise ScheduleError("cron", schedule.expression, problem, "Report this as a fault.")
    return moment


def _next_of_every(schedule: Every, after: datetime) -> datetime | None:
    steps = max(0, (after - schedule.anchor) // timedelta(seconds=schedule.seconds) + 1)
    try:
        return schedule.anchor + timedelta(seconds=steps * schedule.seconds)
    except OverflowError:
        return None


def _count(schedule: Schedule, after: datetime, until: datetime) -> int:
    match schedule:
        case Cron():
            return WallClock.of(schedule).count(after.astimezone(UTC), until.astimezone(UTC))
        case Every(seconds, anchor):
            step = timedelta(seconds=seconds)
            return max(0, (until - anchor) // step + 1) - max(0, (after - anchor) // step + 1)
        case At(moment):
            return int(after < moment <= until)


def _count_shared(
    schedule: Schedule, others: list[Schedule], after: datetime, until: datetime
) -> int:
    """How many moments of `schedule` in the window one of `others` has too."""
    shared = 0
    for moment in _moments((schedule,), after):
        if moment > until:
            break
        shared += any(_next(other, moment - _TICK) == moment for other in others)
    return shared


def _newest(schedule: Schedule, after: datetime, until: datetime) -> datetime | None:
    """Halves the window, keeping its newer half while a moment lies in it."""
    if until <= after or not _count(schedule, after, until):
        return None
    while _count(schedule, after, until) > 1:
        middle = after + (until - after) / 2
        if _count(schedule, middle, until):
            after = middle
        else:
            until = middle
    return _next(schedule, after)


def _never(schedule: Schedule, now: datetime) -> ScheduleError:
    after = f"never fires after {canonical_instant(now.replace(microsecond=0))}"
    match schedule:
        case Cron(expression) if now.year > _LATE:
            hint = "The calendar ends with the year 9999: begin earlier."
            return ScheduleError("cron", expression, after, hint)
        case Cron(expression):
            hint = "Choose a day that its month has, at a time that its zone's clock shows."
            return ScheduleError("cron", expression, "never fires", hint)
        case Every(seconds):
            return ScheduleError("every", seconds, after, "Choose an earlier anchor.")
        case At(moment):
            return ScheduleError("at", canonical_instant(moment), after, "Choose a later instant.")
