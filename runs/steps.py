"""A handler's own effects within a run, each done once: a step is a row of the run's key.

Whoever begins a step claims it with his attempt; a higher attempt takes over from a lower one, for
that one was overtaken. Once the step is done, everybody gets the stored answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import connection, transaction

from jobs.json_values import check_json, check_size
from jobs.task_registry import current_run
from runs.idempotency import KEPT, expiry, fingerprint
from runs.models import IdempotencyKey, Run

_Answer = TypeVar("_Answer")


class Held(Exception):
    """Attempt `attempt` has begun the step and has not said what came of it."""

    def __init__(self, attempt: int) -> None:
        super().__init__(
            f"Attempt {attempt} holds this step. Ask again later; a higher attempt may claim it."
        )
        self.attempt = attempt


class Overtaken(Held):
    """A later attempt of the run has begun: this one begins no step any more."""

    def __init__(self, attempt: int) -> None:
        super().__init__(attempt)
        self.args = (f"Attempt {attempt} of the run has begun: this one begins nothing any more.",)


class OtherPayload(Exception):
    """The step was claimed with another payload, so it is not the same effect."""

    def __init__(self) -> None:
        super().__init__(
            "This step was claimed with another payload. Name another step for another effect."
        )


class NotClaimed(Exception):
    """Nobody has begun the step."""

    def __init__(self) -> None:
        super().__init__("This step was not claimed. Claim it before its effect is begun.")


@dataclass(frozen=True)
class Step:
    """Where a step stands: `done`, with its answer, or held by an attempt. `first`: this very
    call may begin its effect."""

    done: bool
    attempt: int
    answer: Any = None
    first: bool = False


# One statement, so that of two claims at one instant the database lets one win. An attempt that
# was overtaken begins no step: its successor may be at it.
_CLAIM = f"""
insert into runs_idempotencykey as held
       (key, step, run_id, fingerprint, holder, state, created_at, expires_at)
select %(key)s, %(step)s, id, %(fingerprint)s, %(attempt)s, 'held', now(),
       now() + {KEPT.format(run="%(run)s")}
  from runs_run where id = %(run)s and attempt <= %(attempt)s
on conflict (key, step) do update
   set holder = excluded.holder, expires_at = excluded.expires_at
 where held.state = 'held' and held.holder < excluded.holder
   and held.fingerprint = excluded.fingerprint
returning id
"""  # noqa: S608 — words of our own


def claim(key: str, step: str, *, run_id: UUID, attempt: int, payload: object = None) -> Step:
    """The step, begun by this attempt or done before. Raises Held, Overtaken, OtherPayload."""
    given: dict[str, Any] = {
        "key": key,
        "step": step,
        "run": run_id,
        "fingerprint": fingerprint(payload),
        "attempt": attempt,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, given)
        if cursor.fetchone() is not None:
            return Step(done=False, attempt=attempt, first=True)
    row = IdempotencyKey.objects.filter(key=key, step=step).first()
    if row is None:
        raise Overtaken(Run.objects.values_list("attempt", flat=True).get(id=run_id))
    if row.fingerprint != given["fingerprint"]:
        raise OtherPayload
    if row.state != "done":
        raise Held(row.holder)
    return _of(row)


def finish(key: str, step: str, *, attempt: int, answer: object) -> Step:
    """The step done with this answer; once it is done, that answer for everybody. Raises Held
    where another attempt has taken over, NotClaimed."""
    IdempotencyKey.objects.filter(key=key, step=step, state="held", holder=attempt).update(
        state="done", answer=answer, expires_at=expiry()
    )
    found = look_up(key, step)
    if not found.done:
        raise Held(found.attempt)
    return found


def look_up(key: str, step: str) -> Step:
    """Where the step stands. Raises NotClaimed."""
    row = IdempotencyKey.objects.filter(key=key, step=step).first()
    if row is None:
        raise NotClaimed
    return _of(row)


def once(step: str, do: Callable[[], _Answer], *, payload: object = None) -> _Answer:
    """For a registered task: what `do` returns (JSON), called once for this run and step however
    often the run is attempted.

    The answer is stored in one transaction with whatever `do` writes to the same database; where
    `do` raises, both are undone. An effect elsewhere is begun at least once. Raises LookupError
    outside a run, TargetError for an answer that is no JSON or too large, OtherPayload, and Held
    where a higher attempt is at it.
    """
    run = current_run()
    if not 1 <= len(step) <= 120:
        raise ValueError("A step is named by 1 to 120 characters.")
    with transaction.atomic():
        found = claim(run.key, step, run_id=UUID(run.run_id), attempt=run.attempt, payload=payload)
        if found.done:
            return cast(_Answer, found.answer)
        answer = do()
        check_json(answer, "answer")
        check_size(answer, "answer")
        finish(run.key, step, attempt=run.attempt, answer=answer)
    return answer


def _of(row: IdempotencyKey) -> Step:
    return Step(done=row.state == "done", attempt=row.holder, answer=row.answer)
