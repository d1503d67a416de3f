"""What a job says, as the API and the files say it: read, checked, given defaults. PURE.

Every door reads a job through `read`, so that each refuses the same input in the same words.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from jobs import overlaps, schedules, targets
from jobs.addresses import AllowList
from jobs.definition_errors import DefinitionError as DefinitionError
from jobs.definition_errors import Problem as Problem

POLICIES = ("last", "all", "none", "ask")
NAME_LENGTH = 120
TEXT_LENGTH = 20_000
HOUR, DAY, WEEK = 3600, 86_400, 604_800

# Fields of the design that a later version brings, with the one value that says «as today».
_LATER: dict[str, Any] = {
    "completion": "answer",
    "calendar": None,
    "starts_at": None,
    "ends_at": None,
    "spread": 0,
}


@dataclass(frozen=True)
class Known:
    """What the installation offers, against which names are checked; `misfit` tells whether the
    arguments of a task fit it (jobs/task_registry.py), unless nobody can.
    """

    tasks: Collection[str]
    queues: Collection[str]
    egress: AllowList = field(default_factory=AllowList)
    misfit: targets.Fits = targets.fits


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
    overlap: str = "queue"
    block_on_review: bool = True
    queue_limit: int = 100
    catch_up_policy: str = "ask"
    catch_up_window: int = DAY
    catch_up_limit: int = 100
    queue: str = "default"
    paused: bool = False


def read(
    data: object,
    *,
    now: datetime,
    known: Known,
    kept: tuple[schedules.Schedule, ...] | None = None,
    beside: Collection[str] = (),
) -> Definition:
    """A whole job from its API shape (README, «A job»).

    `kept` is the schedule that the job has already: it may stay though it never fires again
    (the description of a one-off that has fired can still be edited). `beside` are fields that
    the door itself has taken out, for the hint at an unknown one. Raises DefinitionError with
    every problem. `idempotent` has no default: whoever registers a job must answer it.
    """
    return _Reader(now, known, kept, beside).definition(data)


def shape(definition: Definition) -> dict[str, Any]:
    """The API shape of a definition: what `read` takes, defaults written out."""
    d = definition
    return {
        "name": d.name,
        "description": d.description,
        "runbook": d.runbook,
        "schedule": schedules.dump(d.schedule),
        "target": targets.dump(d.target),
        "idempotent": d.idempotent,
        "retries": {"max_attempts": d.max_attempts, "backoff": d.backoff, "cap": d.cap},
        "retry_unsent": d.retry_unsent,
        "timeout": d.timeout,
        "overlap": d.overlap,
        "block_on_review": d.block_on_review,
        "queue_limit": d.queue_limit,
        "catch_up": {
            "policy": d.catch_up_policy,
            "window": d.catch_up_window,
            "limit": d.catch_up_limit,
        },
        "queue": d.queue,
        "paused": d.paused,
    }


class _Reader:
    """Reads field by field and gathers the problems on the way."""

    def __init__(
        self,
        now: datetime,
        known: Known,
        kept: tuple[schedules.Schedule, ...] | None,
        beside: Collection[str],
    ) -> None:
        self.now = now
        self.known = known
        self.kept = kept
        self.fields = (*beside, *_FIELDS)
        self.problems: list[Problem] = []

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
            "queue": self.choice(data, "queue", "default", sorted(self.known.queues)),
            "paused": self.flag(data, "paused"),
        }
        for message, hint in overlaps.refusals(
            found["overlap"], idempotent=idempotent is not False, catch_up=found["catch_up_policy"]
        ):
            self.problem("overlap", message, hint)
        self.unknown(data)
        if self.problems:
            raise DefinitionError(self.problems)
        return Definition(**found)

    def problem(self, field: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(field, message, hint))

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

    def name(self, given: object) -> str:
        if not isinstance(given, str) or not given.strip():
            self.problem("name", "is required.", "Give the job a name of 1 to 120 characters.")
            return ""
        name = unicodedata.normalize("NFC", given.strip())
        if len(name) > NAME_LENGTH:
            self.problem("name", f"has {len(name)} characters; at most {NAME_LENGTH} are kept.")
        bad = next((char for char in name if unicodedata.category(char) in _UNPRINTABLE), None)
        if bad is not None and bad != _JOINER:
            self.problem("name", f"holds the character U+{ord(bad):04X}.", "Take it out.")
        return name

    def text(self, data: Mapping[str, Any], field: str) -> str:
        given = data.get(field, "")
        if not isinstance(given, str):
            self.problem(field, "must be text.")
            return ""
        if len(given) > TEXT_LENGTH:
            self.problem(field, f"has {len(given)} characters; at most {TEXT_LENGTH} are kept.")
        try:
            targets.check_json(given, field)
        except targets.TargetError as error:
            self.problem(error.field, error.message, error.hint)
        return given

    def within(self, field: str, data: Mapping[str, Any], parse: Callable[[object], Any]) -> Any:
        if data.get(field) is None:
            self.problem(field, "is required.")
            return None
        try:
            return parse(data[field])
        except (schedules.ScheduleError, targets.TargetError) as error:
            self.problem(error.field, error.message, error.hint)
            return None

    def schedule(self, given: object) -> tuple[schedules.Schedule, ...]:
        if self.kept is not None and given == schedules.dump(self.kept):
            return self.kept
        return schedules.parse(given, now=self.now)

    def target(self, given: object) -> targets.Target:
        return targets.parse(
            given,
            known_tasks=self.known.tasks,
            allow=self.known.egress,
            misfit=self.known.misfit,
        )

    def part(self, data: Mapping[str, Any], field: str, names: Collection[str]) -> dict[str, Any]:
        given = data.get(field, {})
        if not isinstance(given, Mapping):
            self.problem(field, "must be an object.", f"It may hold {', '.join(names)}.")
            return {}
        for name in given:
            if name not in names:
                self.problem(f"{field}.{name}", "is unknown.", f"Known: {', '.join(names)}.")
        return dict(given)

    def number(
        self, data: Mapping[str, Any], path: str, default: int, least: int, most: int
    ) -> int:
        given = data.get(path.rpartition(".")[2], default)
        if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most:
            return given
        self.problem(path, f"must be a whole number from {least} to {most}.")
        return default

    def choice(
        self, data: Mapping[str, Any], path: str, default: str, choices: Collection[str]
    ) -> str:
        given = data.get(path.rpartition(".")[2], default)
        if isinstance(given, str) and given in choices:
            return given
        self.problem(path, "is not one of the choices.", f"Choose from {', '.join(choices)}.")
        return default

    def flag(self, data: Mapping[str, Any], field: str, *, default: bool = False) -> bool:
        given = data.get(field, default)
        if not isinstance(given, bool):
            self.problem(field, "must be true or false.")
        return bool(given)

    def unknown(self, data: Mapping[str, Any]) -> None:
        for name, given in data.items():
            if name in _FIELDS:
                continue
            if name not in _LATER:
                self.problem(str(name)[:80], "is unknown.", f"Known: {', '.join(self.fields)}.")
            elif given != _LATER[name] or type(given) is not type(_LATER[name]):
                self.problem(
                    name,
                    "is not available in this version.",
                    f"Leave it out, or say {json.dumps(_LATER[name])}.",
                )


_UNPRINTABLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_JOINER = "\u200d"  # holds emoji together
_GROUPED = {"max_attempts", "backoff", "cap", "catch_up_policy", "catch_up_window"}
_FIELDS = (
    *(f.name for f in fields(Definition) if f.name not in {*_GROUPED, "catch_up_limit"}),
    "retries",
    "catch_up",
)
