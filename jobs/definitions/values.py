"""What a job says, as values. PURE. Seconds everywhere; instants are aware and in UTC."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

from jobs.calendars.days import InForce, Use
from jobs.schedules import schedules
from jobs.schedules.plans import Plan
from jobs.targets import shapes as targets
from jobs.targets.addresses import AllowList

POLICIES = ("last", "all", "none", "ask")
HOUR, DAY, WEEK = 3600, 86_400, 604_800
COMPLETIONS = ("answer", "callback")
LONGEST_DEADLINE = 30 * DAY
REFUSALS = (300, 599)  # the statuses that may mean «nothing was done»
MOST_REFUSALS = 20
MOST_HOPS = 3
MOST_RUNS = 1_000_000  # of `max_runs`
MOST_SKIPPED = 1000  # of `skip_next`
MOST_REVIEWS = 1000  # of `pause_after_reviews`


@dataclass(frozen=True)
class Known:
    """What the installation offers, against which names are checked; `misfit` tells whether the
    arguments of a task fit it (jobs/task_registry.py), unless nobody can.
    """

    tasks: Collection[str]
    queues: Collection[str]
    egress: AllowList = field(default_factory=AllowList)
    misfit: targets.Fits = targets.fits
    calendars: Mapping[str, InForce] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """A job's checked content. Seconds everywhere; instants are UTC."""

    name: str
    schedule: tuple[schedules.Schedule, ...]
    target: targets.Target
    idempotent: bool
    description: str = ""
    runbook: str = ""
    max_attempts: int = 5
    backoff: int = 10
    cap: int = HOUR
    retry_unsent: bool = False
    timeout: int = 300
    completion: str = "answer"
    deadline: int = DAY
    refusal_codes: Sequence[int] = ()
    follow_redirects: int = 0
    late_after: int = 30
    overlap: str = "queue"
    block_on_review: bool = True
    queue_limit: int = 100
    catch_up_policy: str = "ask"
    catch_up_window: int = DAY
    catch_up_limit: int = 100
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_runs: int | None = None
    skip_next: int = 0
    skip_reason: str = ""
    spread: int = 0
    queue: str = "default"
    paused: bool = False
    paused_until: datetime | None = None
    paused_reason: str = ""
    probe: Mapping[str, str] | None = None
    decide_by: int | None = None
    pause_after_reviews: int | None = None
    critical: bool = False
    tags: Sequence[str] = ()
    owner: str = ""
    calendar_use: Use | None = None

    @property
    def plan(self) -> Plan:
        """When it is due."""
        return Plan(self.schedule, self.starts_at, self.ends_at)


@dataclass(frozen=True)
class Kept:
    """What a job has already, and may keep though it would not be accepted anew: a plan without
    a moment to come (the description of a one-off that has fired can still be edited), and the
    end of a pause that nobody has ended yet.
    """

    plan: Plan
    paused_until: datetime | None = None


_READ_APART = ("schedule", "target", "calendar_use")
PLAIN = tuple(part.name for part in fields(Definition) if part.name not in _READ_APART)
_GROUPED = {
    *("name", "description", "runbook", "idempotent"),
    *("max_attempts", "backoff", "cap"),
    *("catch_up_policy", "catch_up_window", "catch_up_limit"),
}
ALONE = tuple(name for name in PLAIN if name not in _GROUPED)  # the same in the API as here
