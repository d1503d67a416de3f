"""The one way from one state to another: a guarded UPDATE whose row count says who won.

Every move compares state **and**, where a worker or a person acts on what it saw, the fencing
token. Losing the race is a normal return. Each move that won emits one event.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now

from runs import passages
from runs.channels import outbox
from runs.models import Run
from runs.states import FINAL, STARTABLE, State, sources

log = structlog.get_logger("onebeat.run")
_FOR_A_PERSON = frozenset({State.REVIEW, State.DEAD})  # they stand out of the log


def move(run_id: UUID, to: State, *, token: int, send_in: float = 0.0, **changes: Any) -> bool:
    """Move one run to `to`, if it is where an edge of the picture leads from and still has this
    token. `send_in`: seconds until it is to be sent, for the states that wait to be sent.
    Further columns are set in the same UPDATE. False: somebody else was faster."""
    seen = Run.objects.filter(id=run_id, state__in=sources(to), attempt=token)
    with transaction.atomic(savepoint=False):
        won = seen.update(**{**shape_of(to, send_in), **changes})
        if won:
            told(to, [run_id], token=token, **_why(to, changes))
    return bool(won)


def move_all(run_ids: Collection[UUID], to: State, **changes: Any) -> int:
    """The same for many that nobody holds a token of: runs that wait, under their job's lock.
    How many were moved."""
    return _move_all(run_ids, State.WAITING, to, changes)


def move_dead(run_ids: Collection[UUID], to: State, **changes: Any) -> int:
    """The same for many that are dead, under their job's lock."""
    return _move_all(run_ids, State.DEAD, to, changes)


def _move_all(run_ids: Collection[UUID], of: State, to: State, changes: dict[str, Any]) -> int:
    if not run_ids:
        return 0
    rows = Run.objects.filter(id__in=run_ids, state=of, state__in=sources(to))
    with transaction.atomic(savepoint=False):
        won = rows.update(**{**shape_of(to), **changes})
        told(to, run_ids, **_why(to, changes))
    return won


def shape_of(to: State, send_in: float = 0.0) -> dict[str, Any]:
    """The columns whose values the state dictates (see the constraints of Run)."""
    return {
        "state": to,
        "finished_at": Now() if to in FINAL else None,
        "send_at": _earliest(send_in) if to in STARTABLE else None,
        "lease_until": None,
        "hold": None,
        "passed": passages.into(to),
        **({"review_at": Now()} if to is State.REVIEW else {}),
        **({"died_at": Now()} if to is State.DEAD else {}),
    }


def _earliest(send_in: float) -> Greatest:
    """So many seconds from now, but never before the run may start."""
    return Greatest(Now() + timedelta(seconds=send_in), F("not_before"))


def told(to: State, run_ids: Collection[UUID], **facts: Any) -> None:
    """The one place where a transition becomes a message to those who want to know, in its own
    transaction, and a log line once it is committed, so that none is told that did not take
    place."""
    transaction.on_commit(partial(_log, to, list(run_ids), facts))
    if to in outbox.TOLD:
        outbox.of_runs(run_ids)


def _why(to: State, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a line says of a run that did not succeed: who reads the log at night sees why."""
    if to not in (State.RETRYING, *_FOR_A_PERSON):
        return {}
    return {name: changes[name] for name in ("review_class", "reason") if changes.get(name)}


def _log(to: State, run_ids: Iterable[UUID], facts: Mapping[str, Any]) -> None:
    tell = log.warning if to in _FOR_A_PERSON else log.info
    for run_id in run_ids:
        tell(f"run.{to.lower()}", run=str(run_id), **facts)
