"""What the database and the target's ledger say happened: read by SQL and as JSON lines, with no
code of the product."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.chaos.behaviour import Doing


@dataclass(frozen=True)
class Attempt:
    """One try, as the product kept it."""

    number: int
    started_at: datetime
    ended_at: datetime | None = None
    intent_at: datetime | None = None
    outcome: str = ""


@dataclass(frozen=True)
class Decision:
    """What a person did with a run that rested in this state after this attempt."""

    what: str
    attempt: int
    state: str


@dataclass(frozen=True)
class Run:
    """One row, with its attempts and the decisions about it, each in their order."""

    job: str
    key: str
    due_at: datetime
    state: str
    created_at: datetime
    skipped_until: datetime | None = None
    reason: str = ""
    review_class: str = ""
    attempt: int = 0
    failures: int = 0
    max_attempts: int = 20
    attempts: tuple[Attempt, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def reviewed(self) -> list[int]:
        """The attempts that a person had, or has, to decide about."""
        decided = [each.attempt for each in self.decisions if each.state == "REVIEW"]
        return [*decided, *([self.attempt] if self.state == "REVIEW" else [])]

    @property
    def decided(self) -> str:
        """What a person decided last; empty for nothing."""
        return self.decisions[-1].what if self.decisions else ""

    @property
    def again(self) -> int:
        """How often a person let it go once more."""
        return sum(each.what in ("run_again", "replay") for each in self.decisions)


@dataclass(frozen=True)
class Request:
    """One request that reached the target."""

    attempt: int
    at: datetime
    doing: Doing


@dataclass
class Ledger:
    """What the target wrote, by key."""

    requests: Mapping[str, list[Request]] = field(default_factory=dict)
    effects: Mapping[str, list[datetime]] = field(default_factory=dict)


_RUNS = """
select r.id, j.name, r.key, r.due_at, r.state, r.created_at, r.skipped_until, r.reason,
       r.review_class, r.attempt, r.failures, r.max_attempts
  from runs_run r join jobs_job j on j.id = r.job_id
  join jobs_team t on t.id = j.team_id
 where t.slug = 'chaos' order by r.due_at, r.id
"""
_ATTEMPTS = """
select run_id, number, started_at, ended_at, intent_at, outcome from runs_attempt
 order by run_id, number
"""
_DECISIONS = """
select run_id, decision, attempt, from_state from runs_decision order by run_id, at, id
"""
Ask = Callable[[str], list[tuple[Any, ...]]]


def runs(ask: Ask) -> list[Run]:
    """Every run of the cast."""
    attempts, decisions = _by_run(ask(_ATTEMPTS)), _by_run(ask(_DECISIONS))
    rows = [(run_id, Run(*columns)) for run_id, *columns in ask(_RUNS)]  # in the fields' order
    return [
        replace(
            run,
            attempts=tuple(Attempt(*columns) for columns in attempts[run_id]),
            decisions=tuple(Decision(*columns) for columns in decisions[run_id]),
        )
        for run_id, run in rows
    ]


def _by_run(rows: Iterable[tuple[Any, ...]]) -> defaultdict[Any, list[list[Any]]]:
    found: defaultdict[Any, list[list[Any]]] = defaultdict(list)
    for run_id, *columns in rows:
        found[run_id].append(columns)
    return found


def ledger(path: Path) -> Ledger:
    """The ledger; half a line, cut by a kill, is none."""
    requests: defaultdict[str, list[Request]] = defaultdict(list)
    effects: defaultdict[str, list[datetime]] = defaultdict(list)
    for entry in _entries(path.read_text().splitlines()):
        at = datetime.fromtimestamp(entry["at"], UTC)
        if entry["phase"] == "in":
            requests[entry["key"]].append(Request(entry["attempt"], at, Doing(entry["doing"])))
        else:
            effects[entry["key"]].append(at)
    return Ledger(requests, effects)


def _entries(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for line in lines:
        if line.endswith("}"):
            yield json.loads(line)
