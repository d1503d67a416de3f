"""The next moment of a job after its zones got new rules. PURE.

It goes on from the last moment that was claimed, so that nothing fires twice and nothing is left
out. A job at fixed times goes on from what the clock *showed* then: where new rules turn the clock
back, 09:00 that has fired does not come again an hour later. A job whose minute or hour begins
with a star goes on from the instant: like an hour that repeats, it has both copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jobs.cron import grammar
from jobs.schedules import local_times, schedules
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Cron, Schedule

# How far a moment may move: the rules of a place have moved by up to a day (Samoa, 2011).
FARTHEST = timedelta(hours=25)
_NEAR = 180  # minutes: how far apart two rules for one zone are taken to be


@dataclass(frozen=True)
class Fired:
    """The last moment that was claimed, and the offset (minutes) that its zone was said to have
    then; None where nobody wrote it down."""

    at: datetime
    offset: int | None


def next_moment(
    plan: Plan, *, due: datetime, began: datetime, last: Fired | None
) -> datetime | None:
    """The next moment by the rules in use of a plan whose next one was `due` by others. `began`:
    since when the job has this plan. It may lie in the past: a moment has come nearer."""
    after = max(began, due - FARTHEST)
    if last is None:
        return plan.next(after)
    after = max(after, last.at)
    moved = _moved_zone(plan.schedules, last)
    nexts = (
        _next(replace(plan, schedules=(part,)), after, last if _goes_by(part) == moved else None)
        for part in plan.schedules
    )
    return min((moment for moment in nexts if moment is not None), default=None)


def _goes_by(part: Schedule) -> str | None:
    """The zone whose clock decides that a fixed time has come; None for what repeats anyway."""
    if isinstance(part, Cron) and not grammar.parse(part.expression).starred:
        return part.timezone
    return None


def _moved_zone(found: tuple[Schedule, ...], last: Fired) -> str:
    """The zone that showed another time at the last moment than it does by the rules in use;
    empty where that moment stands as it was."""
    if last.offset is None:
        return ""
    stands = schedules.next_moment(found, last.at - _TICK) == last.at
    if stands and local_times.offset_of(found, last.at) == last.offset:
        return ""
    zones = {part.timezone for part in found if isinstance(part, Cron)}
    apart = sorted((abs(_apart(zone, last)), zone) for zone in zones)
    return apart[0][1] if apart and apart[0][0] <= _NEAR else ""


def _apart(zone: str, last: Fired) -> int:
    return local_times.offset(zone, last.at) - (last.offset or 0)


def _next(plan: Plan, after: datetime, fired: Fired | None) -> datetime | None:
    moment = plan.next(after)
    if fired is None:
        return moment
    shown = _shown(fired.at, fired.offset or 0)
    while moment is not None and _shown(moment, _offset(plan, moment)) <= shown:
        moment = plan.next(moment)
    return moment


def _offset(plan: Plan, moment: datetime) -> int:
    return local_times.offset_of(plan.schedules, moment)


def _shown(moment: datetime, offset: int) -> datetime:
    """The wall-clock time (naive) at `moment` under `offset`."""
    return moment.replace(tzinfo=None) + timedelta(minutes=offset)


_TICK = timedelta.resolution
