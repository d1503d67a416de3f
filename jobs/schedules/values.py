"""The three kinds of schedule, as values. PURE. Instants are aware and in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from jobs.calendars.days import Calendar, Rule

Dst = Literal["once", "wall"]


@dataclass(frozen=True)
class Cron:
    """A cron expression on the wall clock of a zone.

    `dst` says what a change of the clock does to a job at fixed times. `once`: what a gap swallows
    fires once at its end, what is repeated fires in the first copy only. `wall`: what the clock
    does not show does not fire, what it shows twice fires twice. A job whose minute or hour begins
    with a star follows the wall clock under both.

    `calendar` and `rule` are the job's: what becomes of a day that is off.
    """

    expression: str
    timezone: str = "UTC"
    dst: Dst = "once"
    calendar: Calendar | None = None
    rule: Rule = "skip"


@dataclass(frozen=True)
class Every:
    """Elapsed time: `anchor`, and every `seconds` after it."""

    seconds: int
    anchor: datetime


@dataclass(frozen=True)
class At:
    """One instant."""

    moment: datetime


Schedule = Cron | Every | At
