"""The jobs of a chaos run, as the API would say them, and the rule to register them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_EVERY = 1  # second
_STEPS = 4  # instants within a second at which jobs are due
_ALONE = 20  # one job in so many runs one at a time
TIMEOUT = 2  # seconds


@dataclass(frozen=True)
class Part:
    """One job of the cast: due at `anchor` and each `every` seconds until `ends_at`, both with
    it. `alone`: it runs one at a time, and what comes meanwhile is skipped, with the reason."""

    name: str
    idempotent: bool
    alone: bool
    task: bool
    every: int
    anchor: datetime
    ends_at: datetime

    @property
    def moments(self) -> list[datetime]:
        """What is due, by brute force."""
        found, moment = [], self.anchor
        while moment <= self.ends_at:
            found.append(moment)
            moment += timedelta(seconds=self.every)
        return found


def cast(rate: int, *, first: datetime, seconds: float) -> list[Part]:
    """So many jobs that are due each second, of every kind, for so long."""
    return [_part(number, first, seconds) for number in range(rate)]


def _part(number: int, first: datetime, seconds: float) -> Part:
    anchor = first + timedelta(seconds=(number % _STEPS) / _STEPS)
    return Part(
        name=f"job {number}",
        idempotent=number % 2 == 0,
        alone=number % _ALONE == 0,
        task=number % 5 < 2,
        every=_EVERY,
        anchor=anchor,
        ends_at=anchor + timedelta(seconds=int(seconds)),
    )


def definition(part: Part, target: str) -> dict[str, Any]:
    """The job as the API takes it; `target` is host and port."""
    kind = "once" if part.idempotent else "raw"
    place = part.name.replace(" ", "-")
    http = {"type": "http", "url": f"http://{target}/{kind}/{place}"}
    task = {"type": "task", "name": "chaos.call", "args": [kind, place]}
    return {
        "name": part.name,
        "schedule": {"every": part.every, "anchor": _text(part.anchor)},
        "ends_at": _text(part.ends_at),
        "target": task if part.task else http,
        "idempotent": part.idempotent,
        "retries": {"max_attempts": 20, "backoff": 1, "cap": 3},
        "timeout": TIMEOUT,
        "overlap": "skip" if part.alone else "allow",
        "block_on_review": False,
        "catch_up": {"policy": "all", "window": 86_400, "limit": 1000},
    }


def register(parts: Sequence[Part], target: str) -> None:
    """All of them, by the product's own rule. Django must be set up."""
    for part in parts:
        _register(definition(part, target))


def register_once(
    name: str,
    at: datetime,
    task: str,
    args: list[Any],
    *,
    idempotent: bool,
    max_attempts: int = 20,
) -> None:
    """A job due once that calls this task."""
    _register(
        {
            "name": name,
            "schedule": {"at": _text(at)},
            "target": {"type": "task", "name": task, "args": args},
            "idempotent": idempotent,
            "retries": {"max_attempts": max_attempts, "backoff": 1, "cap": 3},
        }
    )


def _register(data: dict[str, Any]) -> None:
    from jobs import clock, editing
    from jobs.definitions import definitions
    from jobs.definitions.definitions import Known
    from jobs.models import Team
    from jobs.targets.addresses import AllowList

    team, _ = Team.objects.get_or_create(slug="chaos", defaults={"name": "Chaos"})
    tasks = {"chaos.call", "chaos.nap", "chaos.poison"}
    known = Known(tasks, {"default"}, AllowList.parse("127.0.0.1/32"))
    editing.register(team, definitions.read(data, now=clock.now(), known=known), by=None)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
