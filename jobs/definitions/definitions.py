"""What a job says, as the API and the files say it: read, checked, given defaults. PURE.

Every door reads a job through `read`, so that each refuses the same input in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from jobs.calendars.days import RULES, Calendar, Rule, Use
from jobs.definitions import overlaps, probes
from jobs.definitions import terms as definition_terms
from jobs.definitions.errors import DefinitionError as DefinitionError
from jobs.definitions.errors import Problem as Problem
from jobs.definitions.values import ALONE as ALONE
from jobs.definitions.values import (
    COMPLETIONS,
    LONGEST_DEADLINE,
    MOST_HOPS,
    MOST_REFUSALS,
    REFUSALS,
)
from jobs.definitions.values import DAY as DAY
from jobs.definitions.values import HOUR as HOUR
from jobs.definitions.values import MOST_REVIEWS as MOST_REVIEWS
from jobs.definitions.values import MOST_RUNS as MOST_RUNS
from jobs.definitions.values import MOST_SKIPPED as MOST_SKIPPED
from jobs.definitions.values import PLAIN as PLAIN
from jobs.definitions.values import POLICIES as POLICIES
from jobs.definitions.values import WEEK as WEEK
from jobs.definitions.values import Definition as Definition
from jobs.definitions.values import Kept as Kept
from jobs.definitions.values import Known as Known
from jobs.reading import NAME_LENGTH as NAME_LENGTH
from jobs.reading import TEXT_LENGTH as TEXT_LENGTH
from jobs.reading import Reader
from jobs.schedules import schedules
from jobs.schedules.errors import short
from jobs.schedules.instants import canonical_instant
from jobs.schedules.plans import Plan, refusal
from jobs.targets import shapes as targets


def read(
    data: object,
    *,
    now: datetime,
    known: Known,
    kept: Kept | None = None,
    beside: Collection[str] = (),
) -> Definition:
    """A whole job from its API shape (README, «A job»).

    `kept`: of the job that is edited. `beside` are fields that the door itself has
    taken out, for the hint at an unknown one. Raises DefinitionError with
    every problem. `idempotent` has no default: whoever registers a job must answer it.
    """
    return _Reader(now, known, kept, beside).definition(data)


def shape(definition: Definition) -> dict[str, Any]:
    """The API shape of a definition: what `read` takes, defaults written out."""
    schedule, target = schedules.dump(definition.schedule), targets.dump(definition.target)
    return content(definition, schedule=schedule, target=target)


def content(job: Any, *, schedule: Any, target: Any) -> dict[str, Any]:
    """The same of anything that has a definition's fields as its attributes."""
    return {
        "name": job.name,
        "description": job.description,
        "runbook": job.runbook,
        "schedule": schedule,
        "target": target,
        "idempotent": job.idempotent,
        "retries": {"max_attempts": job.max_attempts, "backoff": job.backoff, "cap": job.cap},
        "catch_up": {
            "policy": job.catch_up_policy,
            "window": job.catch_up_window,
            "limit": job.catch_up_limit,
        },
        "calendar": calendar_shape(job.calendar_use),
        **{name: _plain(getattr(job, name)) for name in ALONE},
    }


def calendar_shape(use: Use | None) -> dict[str, Any] | None:
    """The use of a calendar as the API tells it and a version of the job stores it."""
    return {"name": use.name, "rule": use.rule, "version": use.version} if use else None


class _Reader(Reader):
    """Reads the members of a job."""

    def __init__(
        self,
        now: datetime,
        known: Known,
        kept: Kept | None,
        beside: Collection[str],
    ) -> None:
        super().__init__()
        self.now = now
        self.known = known
        self.kept = kept
        self.fields = (*beside, *_FIELDS)

    def definition(self, data: object) -> Definition:
        if not isinstance(data, Mapping):
            raise DefinitionError([Problem("body", "must be a JSON object.")])
        idempotent = self.answer(data)
        retries = self.part(data, "retries", ("max_attempts", "backoff", "cap"))
        catch_up = self.part(data, "catch_up", ("policy", "window", "limit"))
        safe = bool(idempotent)
        found: dict[str, Any] = {
            "name": self.name(data.get("name")),
            "description": self.text(data, "description"),
            "runbook": self.text(data, "runbook"),
            "schedule": self.within("schedule", data, self.schedule),
            "target": self.within("target", data, self.target),
            "idempotent": idempotent,
            "max_attempts": self.number(retries, "retries.max_attempts", 5, 1, 100),
            "backoff": self.number(retries, "retries.backoff", 10, 0, DAY),
            "cap": self.number(retries, "retries.cap", HOUR, 1, WEEK),
            "retry_unsent": self.flag(data, "retry_unsent"),
            "timeout": self.number(data, "timeout", 300, 1, HOUR),
            "completion": self.choice(data, "completion", "answer", COMPLETIONS),
            "deadline": self.number(data, "deadline", DAY, 1, LONGEST_DEADLINE),
            "refusal_codes": self.numbers(data, "refusal_codes", *REFUSALS, most=MOST_REFUSALS),
            "follow_redirects": self.number(data, "follow_redirects", 0, 0, MOST_HOPS),
            "late_after": self.number(data, "late_after", 30, 1, DAY),
            "overlap": self.choice(data, "overlap", "skip" if safe else "queue", overlaps.OVERLAPS),
            "block_on_review": self.flag(data, "block_on_review", default=not safe),
            "queue_limit": self.number(data, "queue_limit", 100, 1, overlaps.MOST_WAITING),
            "catch_up_policy": self.choice(
                catch_up, "catch_up.policy", "last" if safe else "ask", POLICIES
            ),
            "catch_up_window": self.number(
                catch_up, "catch_up.window", HOUR if safe else DAY, 10, 366 * DAY
            ),
            "catch_up_limit": self.number(catch_up, "catch_up.limit", 100, 1, 1000),
            "starts_at": self.instant(data, "starts_at"),
            "ends_at": self.instant(data, "ends_at"),
            "max_runs": self.count(data, "max_runs", MOST_RUNS),
            "skip_next": self.number(data, "skip_next", 0, 0, MOST_SKIPPED),
            "skip_reason": self.text(data, "skip_reason"),
            "spread": self.number(data, "spread", 0, 0, DAY),
            "queue": self.choice(data, "queue", "default", sorted(self.known.queues)),
            "paused": self.flag(data, "paused", default=data.get("paused_until") is not None),
            "paused_until": self.instant(data, "paused_until"),
            "paused_reason": self.text(data, "paused_reason"),
            "probe": self.probe(data.get("probe")),
            "decide_by": self.count(data, "decide_by", 366 * DAY),
            "pause_after_reviews": self.count(data, "pause_after_reviews", MOST_REVIEWS),
            "critical": self.flag(data, "critical"),
            "tags": self.tags(data.get("tags")),
            "owner": self.owner(data.get("owner")),
        }
        found |= self.by_calendar(data.get("calendar"), found["schedule"])
        for message, hint in overlaps.refusals(
            found["overlap"], idempotent=idempotent is not False, catch_up=found["catch_up_policy"]
        ):
            self.problem("overlap", message, hint)
        self.unknown(data)
        self.spread(found)
        self.problems += definition_terms.refusals(found)
        self.pause(found)
        if not self.problems:
            self.window(Definition(**found).plan)
        if self.problems:
            raise DefinitionError(self.problems)
        return Definition(**found)

    def answer(self, data: Mapping[str, Any]) -> bool | None:
        given = data.get("idempotent")
        if isinstance(given, bool):
            return given
        self.problem(
            "idempotent",
            "must be answered with true or false: may a failed run of this job be repeated "
            "without harm?",
            "When in doubt say false: then a person decides.",
        )
        return None

    def within(self, field: str, data: Mapping[str, Any], parse: Callable[[object], Any]) -> Any:
        if data.get(field) is None:
            self.problem(field, "is required.")
            return None
        try:
            return parse(data[field])
        except schedules.ScheduleError as error:
            for one in (error, *error.beside):
                self.problem(one.field, one.message, one.hint)
        except targets.TargetError as error:
            self.problem(error.field, error.message, error.hint)
        return None

    def schedule(self, given: object) -> tuple[schedules.Schedule, ...]:
        if self.kept is not None and given == schedules.dump(self.kept.plan.schedules):
            return self.kept.plan.schedules
        return schedules.parse(given, now=self.now)

    def by_calendar(
        self, given: object, found: tuple[schedules.Schedule, ...] | None
    ) -> dict[str, Any]:
        """The calendar, and the schedule by it."""
        use, calendar = (None, None) if given is None else self.calendar(given)
        if found is None:
            return {"calendar_use": use}
        try:
            by_it = schedules.with_calendar(found, calendar, use.rule if use else "skip")
        except schedules.ScheduleError as error:
            self.problem(error.field, error.message, error.hint)
            return {"calendar_use": use}
        kept = self.kept is not None and by_it == self.kept.plan.schedules
        if use and not kept and schedules.next_moment(by_it, self.now) is None:
            hint = "Choose another rule, other days or another calendar."
            self.problem("calendar", f"“{use.name}” leaves this schedule no moment.", hint)
        return {"calendar_use": use, "schedule": by_it}

    def calendar(self, given: object) -> tuple[Use, Calendar] | tuple[None, None]:
        """The newest version of the named one; a `version` that comes along says nothing."""
        if not isinstance(given, Mapping):
            hint = 'Say null, or {"name": …, "rule": "skip"}.'
            self.problem("calendar", "must be an object.", hint)
            return None, None
        part = self.part({"calendar": given}, "calendar", ("name", "rule", "version"))
        rule = self.choice(part, "calendar.rule", "skip", RULES)
        name = part.get("name")
        newest = self.known.calendars.get(name) if isinstance(name, str) else None
        if newest is None:
            known = ", ".join(islice(self.known.calendars, 10)) or "none yet"
            what = "is required." if name in (None, "") else f"{short(name)} is no calendar here."
            self.problem("calendar.name", what, f"Known: {known}.")
            return None, None
        return Use(str(name), _RULES[rule], newest.version), newest.calendar

    def window(self, plan: Plan) -> None:
        kept = self.kept is not None and plan == self.kept.plan
        error = None if kept else refusal(plan, self.now)
        if error is not None:
            self.problem(error.field, error.message, error.hint)

    def spread(self, found: Mapping[str, Any]) -> None:
        """Who starts later than the window lets him would never start."""
        if found["spread"] > found["catch_up_window"]:
            hint = f"Choose at most {found['catch_up_window']}, or a longer catch_up.window."
            self.problem("spread", "is longer than the catch-up window.", hint)

    def pause(self, found: Mapping[str, Any]) -> None:
        """An end and a reason belong to a pause, a reason for skipping to moments to skip."""
        until = found["paused_until"]
        if until and not found["paused"]:
            hint = "Say paused: true, or leave it out."
            self.problem("paused_until", "is the end of a pause, and the job is not paused.", hint)
        elif until and until <= self.now and (not self.kept or until != self.kept.paused_until):
            self.problem("paused_until", "is over.", "Choose an instant to come.")
        if found["paused_reason"] and not found["paused"]:
            hint = "Say paused: true, or leave it out."
            self.problem("paused_reason", "is of a pause, and the job is not paused.", hint)
        if found["skip_reason"] and not found["skip_next"]:
            hint = "Say skip_next, or leave it out."
            self.problem("skip_reason", "is of moments to skip, and there are none.", hint)

    def target(self, given: object) -> targets.Target:
        return targets.parse(
            given,
            known_tasks=self.known.tasks,
            allow=self.known.egress,
            misfit=self.known.misfit,
        )

    def probe(self, given: object) -> dict[str, str] | None:
        known = self.known
        try:
            return probes.parse(
                given, known_tasks=known.tasks, allow=known.egress, misfit=known.misfit
            )
        except targets.TargetError as error:
            self.problem(error.field, error.message, error.hint)
            return None

    def unknown(self, data: Mapping[str, Any]) -> None:
        for name in data:
            if name not in _FIELDS:
                self.problem(str(name)[:80], "is unknown.", f"Known: {', '.join(self.fields)}.")


_RULES: dict[str, Rule] = {rule: rule for rule in RULES}
_FIELDS = (
    *("name", "description", "runbook", "schedule", "target", "idempotent", "retries", "catch_up"),
    "calendar",
    *ALONE,
)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return canonical_instant(value) if isinstance(value, datetime) else value
