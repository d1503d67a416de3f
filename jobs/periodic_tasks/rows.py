"""What a django-celery-beat PeriodicTask row says, as a job. PURE.

| the row has | the job has |
|---|---|
| crontab, with its time zone | `cron`, with the rule `once` for changes of the clock |
| interval | `every` (a second at least), from the row's start or its first mirroring, for good |
| clocked | `at`: that instant, or the start where it lies later |
| one-off crontab or interval | `at`: the first moment, once |
| start | a pause until then (crontab), the anchor (interval) |
| expires | a pause once no moment is left before it |
| expire seconds | the window of catch-up: what is later than that is recorded, not run |
| queue | that queue, if the installation has it, else the first one |
| nothing about runs that overlap | `overlap: allow`, as they are run today |
| headers `{"onebeat_idempotent": true}` | `idempotent: true`; unanswered is not safe to repeat |
| enabled off, a task not allowed, a solar event, what cannot be read | a pause with the reason |

Exchange, routing key, priority and other headers have no meaning here.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from jobs.definitions import definitions
from jobs.definitions.definitions import (
    DAY,
    NAME_LENGTH,
    TEXT_LENGTH,
    Definition,
    DefinitionError,
    Problem,
)
from jobs.periodic_tasks import crontab as celery_crontab
from jobs.periodic_tasks.crontab import Crontab
from jobs.reading import unprintable
from jobs.schedules import schedules, zones
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import At, Every, Schedule, ScheduleError, canonical_instant
from jobs.targets.shapes import TaskTarget

ANSWER = "onebeat_idempotent"
NEVER: tuple[Schedule, ...] = (At(datetime(1970, 1, 1, tzinfo=UTC)),)  # of a row without a time
_TICK = timedelta.resolution
# As django-celery-beat runs them: whatever is under way.
_SIDE_BY_SIDE: dict[str, Any] = {"overlap": "allow", "block_on_review": False}
_PERIODS = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


@dataclass(frozen=True)
class Row:
    """A PeriodicTask row and its schedule. `interval`: how many, and the period's name;
    `runs`: how often django-celery-beat's own scheduler has run it."""

    id: int
    name: str
    task: str
    crontab: Crontab | None = None
    interval: tuple[int, str] | None = None
    clocked: datetime | None = None
    solar: bool = False
    args: str = "[]"
    kwargs: str = "{}"
    headers: str | None = None
    queue: str | None = None
    description: str = ""
    enabled: bool = True
    one_off: bool = False
    start_time: datetime | None = None
    expires: datetime | None = None
    expire_seconds: int | None = None
    runs: int = 0

    @property
    def once(self) -> bool:
        """Whether it fires at most once."""
        return self.one_off or self.clocked is not None


@dataclass(frozen=True)
class Kept:
    """What the mirror of the row is now."""

    schedule: tuple[Schedule, ...]
    paused: bool
    paused_until: datetime | None


@dataclass(frozen=True)
class Offer:
    """What the installation offers: whether the row's task may run, and the queues."""

    allowed: bool
    queues: Sequence[str]


def wanted(row: Row, offer: Offer, *, now: datetime, kept: Kept | None) -> Definition:
    """The job that the row asks for, given what its mirror is already (None: there is none)."""
    try:
        schedule = _schedule(row, kept, now)
        definition = _read(row, offer, schedule, now)
    except (ScheduleError, DefinitionError, OverflowError) as error:
        return _placeholder(row, f"This row cannot be mirrored: {error}")
    reason, until = _pause(row, offer, schedule, kept, now)
    paused = bool(reason)
    return replace(definition, paused=paused, paused_until=until, paused_reason=reason)


# ── schedule ─────────────────────────────────────────────────────────────────────────────


def _schedule(row: Row, kept: Kept | None, now: datetime) -> tuple[Schedule, ...]:
    if row.clocked is not None and not (row.crontab or row.interval or row.solar):
        return (At(max(row.clocked, row.start_time or row.clocked).astimezone(UTC)),)
    schedule = schedules.parse(_recurring(row, kept, now), now=now)
    return (_only_moment(row, schedule, kept, now),) if row.one_off else schedule


def _recurring(row: Row, kept: Kept | None, now: datetime) -> dict[str, object]:
    match row:
        case Row(crontab=Crontab() as crontab, interval=None, clocked=None, solar=False):
            return {"cron": celery_crontab.expression(crontab), "timezone": crontab.timezone}
        case Row(crontab=None, interval=(count, period), clocked=None, solar=False):
            seconds = _seconds(count, period)
            anchor = canonical_instant(_anchor(row, seconds, kept, now))
            return {"every": seconds, "anchor": anchor}
        case Row(crontab=None, interval=None, clocked=None, solar=True):
            raise ScheduleError("solar", "a solar event", "is not supported", _INSTEAD)
        case _:
            raise ScheduleError("schedule", row.name, "has none, or more than one", _INSTEAD)


_INSTEAD = "Choose one crontab, interval or clocked time."


def _seconds(count: int, period: str) -> int:
    if period == "microseconds" and count % 1_000_000 == 0:
        return count // 1_000_000
    if period not in _PERIODS:
        problem = "is not a whole number of seconds"
        raise ScheduleError("interval", f"{count} {period}", problem, "Choose a second or more.")
    return count * _PERIODS[period]


def _anchor(row: Row, seconds: int, kept: Kept | None, now: datetime) -> datetime:
    if row.start_time is not None:
        return row.start_time
    match kept:
        case Kept(schedule=(Every(anchor=anchor),)):
            return anchor
        case Kept(schedule=(At(moment),)) if (
            row.one_off and (moment - now).total_seconds() <= seconds
        ):
            return moment
        case _:
            return now.replace(microsecond=0)


def _only_moment(row: Row, schedule: tuple[Schedule, ...], kept: Kept | None, now: datetime) -> At:
    """The one moment of a one-off row. Once chosen it stays, past or to come, while the
    schedule has it; a row that was disabled and enabled again gets another."""
    start = row.start_time or now
    soonest = schedules.next_moment(schedule, max(now, start - _TICK))
    if soonest is None:
        raise ScheduleError("start_time", str(start), "leaves no moment", "Choose an earlier one.")
    match kept:
        case Kept(schedule=(At(moment),)) if (
            schedules.next_moment(schedule, moment - _TICK) == moment
            and moment <= soonest
            and moment >= (row.start_time or moment)
            and (moment > now or not row.enabled or not kept.paused)
        ):
            return At(moment)
        case _:
            return At(soonest)


# ── the rest ─────────────────────────────────────────────────────────────────────────────


def _read(row: Row, offer: Offer, schedule: tuple[Schedule, ...], now: datetime) -> Definition:
    target = {
        "type": "task",
        "name": row.task,
        "args": _json("args", row.args or "[]"),
        "kwargs": _json("kwargs", row.kwargs or "{}"),
    }
    data: dict[str, Any] = {
        "name": _name(row),
        "description": row.description[:TEXT_LENGTH],
        "schedule": schedules.dump(schedule),
        "target": target,
        "idempotent": _answer(row),
        **_SIDE_BY_SIDE,
        "queue": row.queue if row.queue in offer.queues else offer.queues[0],
    }
    if row.expire_seconds is not None:
        data["catch_up"] = {"window": min(max(10, row.expire_seconds), 366 * DAY)}
    known = definitions.Known(tasks=[row.task], queues=offer.queues)
    return definitions.read(data, now=now, known=known, kept=definitions.Kept(Plan(schedule)))


def _json(field: str, text: str) -> object:
    try:
        return json.loads(text, parse_float=_number)
    except (ValueError, RecursionError):
        hint = "Write a list for args, an object for kwargs."
        raise DefinitionError([Problem(field, "is not JSON.", hint)]) from None


def _number(text: str) -> float | int:
    """As it comes back from the database, which writes large floats out in full: the mirror
    would otherwise differ from its row for ever."""
    value = float(text)
    return int(Decimal(repr(value))) if 1e16 <= abs(value) < float("inf") else value


def _answer(row: Row) -> bool:
    try:
        headers = json.loads(row.headers or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(headers, dict) and headers.get(ANSWER) is True


def _name(row: Row) -> str:
    """The row's name; one that a job cannot have is cut, and told apart by the row's number."""
    printable = "".join(
        char if char.isprintable() and not unprintable(char) else " " for char in row.name
    )
    name = unicodedata.normalize("NFC", printable).strip()
    if name == row.name and len(name) <= NAME_LENGTH:
        return name
    return numbered(name, row.id)


def numbered(name: str, row_id: int) -> str:
    """A name that no other row's mirror has."""
    tail = f" #{row_id}"
    return name[: NAME_LENGTH - len(tail)].strip() + tail


def _placeholder(row: Row, reason: str) -> Definition:
    return Definition(
        name=_name(row),
        schedule=NEVER,
        target=TaskTarget(row.task),
        idempotent=False,
        description=row.description[:TEXT_LENGTH],
        paused=True,
        paused_reason=reason,
        **_SIDE_BY_SIDE,
    )


def _pause(
    row: Row, offer: Offer, schedule: tuple[Schedule, ...], kept: Kept | None, now: datetime
) -> tuple[str, datetime | None]:
    """Why the job is paused ("": it is not), and until when."""
    if not row.enabled:
        return "The row is disabled.", None
    if not offer.allowed:
        remedy = "Register it for jobs, or add it to ONEBEAT_BEAT_TASKS."
        return f"The task {row.task} is not allowed. {remedy}", None
    if row.expires is not None and _has_expired(schedule, row.expires, now):
        expires = canonical_instant(row.expires)
        return f"The row expires at {expires}, and no moment is left before it.", None
    if row.start_time is not None and row.crontab is not None and not row.one_off:
        # Up to, not with, its start: a moment at the start itself is due. Once that has come,
        # the claim ends the pause, as of then; ended here, moments since then would be lost.
        until = (max(row.start_time, zones.FIRST) - _TICK).astimezone(UTC)
        if until > now or (kept is not None and kept.paused_until == until):
            return f"The row starts at {canonical_instant(row.start_time)}.", until
    return "", None


def _has_expired(schedule: tuple[Schedule, ...], expires: datetime, now: datetime) -> bool:
    onward = schedules.next_moment(schedule, now)
    return expires <= now or (onward is not None and onward >= expires)
