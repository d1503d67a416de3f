"""Bugs of the kind that a good day's work may bring, each as one replacement at a named seam.

They are sown into a running test alone, so that the product holds no trace of them; each is caught
by a test of the suite, which tests/crash/test_seeded_bugs.py runs under the bug.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Value

from jobs.models import Due
from jobs.schedules import catch_up
from runs import (
    calls,
    claim,
    decisions,
    enqueue,
    execute,
    insert,
    persist,
    rescue,
    settle,
    start,
    verdicts,
)
from runs.faults import fault
from runs.lease import Lease
from runs.models import Run

Patch = pytest.MonkeyPatch
Sow = Callable[[Patch], None]


@dataclass(frozen=True)
class Bug:
    """`caught_by`: a case of the crash matrix, or `module.function` of a test in tests/runs."""

    name: str
    sow: Sow
    caught_by: str


def without(module: Any, name: str, piece: str) -> Sow:
    """A statement that lacks a piece."""

    def sow(patch: Patch) -> None:
        text = getattr(module, name)
        assert text.count(piece) == 1, f"{module.__name__}.{name} has no {piece!r} to leave out"
        patch.setattr(module, name, text.replace(piece, ""))

    return sow


def instead(module: Any, name: str, replacement: Any) -> Sow:
    """A function that does something else."""

    def sow(patch: Patch) -> None:
        assert hasattr(module, name)
        patch.setattr(module, name, replacement)

    return sow


# ── the replacements ─────────────────────────────────────────────────────────────────────


class _Apart:
    """Stands in for `transaction`: every statement commits by itself."""

    @staticmethod
    def atomic() -> Any:
        return nullcontext()


def _advances_first(patch: Patch) -> None:
    write = claim._write

    def advance_and_write(cursor: Any, births: list[Any], *rest: Any) -> Any:
        for birth in births:
            tomorrow = birth.due_at + timedelta(days=1)
            Due.objects.filter(job_id=birth.job_id).update(at=tomorrow)
        fault("claim.before_commit")
        return write(cursor, births, *rest)

    patch.setattr(claim, "_write", advance_and_write)
    patch.setattr(claim, "transaction", _Apart)


def _intends_afterwards(patch: Patch) -> None:
    intend, perform = execute._intend, execute._perform
    kept: list[Any] = []

    def promise(*what: Any) -> bool:
        kept.append(what)
        return True

    def perform_and_intend(prepared: Any) -> Any:
        outcome = perform(prepared)
        intend(*kept.pop())
        return outcome

    patch.setattr(execute, "_intend", promise)
    patch.setattr(execute, "_perform", perform_and_intend)


_read_back = persist.read_back


def _writes_again(write: Callable[[], Any], read: object, *, within: float) -> Any:
    return _read_back(write, lambda: None, within=within)


def _another_key_each_time(patch: Patch) -> None:
    real = calls._http

    def keyed(run: Run, *rest: Any) -> Any:
        call = real(run, *rest)
        return replace(call, key=f"{call.key}:{run.attempt}")

    patch.setattr(calls, "_http", keyed)


def _another_key_at_a_replay(patch: Patch) -> None:
    real = decisions.once_more

    def once_more(**said: str) -> Any:
        plan = real(**said)

        def planned(job: Any, run: Run) -> Any:
            move = plan(job, run)
            return replace(move, changes={**move.changes, "key": f"{run.key}:new"})

        return planned

    patch.setattr(decisions, "once_more", once_more)


def _makes_up_everything(patch: Patch) -> None:
    real = catch_up.fates

    def fates(*line: Any, policy: Any, **facts: Any) -> Any:
        return real(*line, policy=replace(policy, name="all"), **facts)

    patch.setattr(claim, "fates", fates)


def _by_id_alone(run_id: Any, token: int) -> Run | None:
    return Run.objects.filter(id=run_id).select_related("job").first()


def _far_future() -> Value:
    return Value(datetime(2999, 1, 1, tzinfo=UTC))


BUGS = (
    Bug(
        "a claim moves the due row on before it writes the run, each for itself",
        _advances_first,
        "C02-claim.before_commit-kill-I",
    ),
    Bug(
        "a message starts what is started or over already",
        without(start, "_START", " and r.state = any(%(startable)s)"),
        "C16-effect.midway-kill-N",
    ),
    Bug(
        "no intent is written",
        instead(execute, "_intend", lambda *_: True),
        "C15-intent.after_commit-kill-N",
    ),
    Bug(
        "the intent is written after the effect",
        _intends_afterwards,
        "C16-effect.midway-kill-N",
    ),
    Bug(
        "what may not be repeated is repeated",
        instead(verdicts, "_may_repeat", lambda *_: True),
        "C17-effect.answered-kill-N",
    ),
    Bug(
        "a result counts whoever has the run by now",
        instead(settle, "_running", _by_id_alone),
        "C17-effect.answered-hang-N",
    ),
    Bug(
        "a commit whose answer is lost is taken for none",
        instead(persist, "read_back", _writes_again),
        "C11-start.commit_unknown-database-I",
    ),
    Bug(
        "a worker trusts a lease that it could not renew",
        instead(Lease, "good", True),
        "C15-intent.after_commit-hang-N",
    ),
    Bug(
        "nobody looks for messages that are lost",
        instead(rescue, "lost_messages", lambda *_: 0),
        "C10-work.received-exception-N",
    ),
    Bug(
        "each attempt has a key of its own",
        _another_key_each_time,
        "C17-effect.answered-kill-I",
    ),
    Bug(
        "a retry is sent before it is due",
        without(enqueue, "_LOCK", " and send_at <= %(now)s"),
        "test_rescue.test_a_retry_is_sent_when_it_is_due_and_not_before",
    ),
    Bug(
        "every lease counts as over",
        instead(settle, "Now", _far_future),
        "test_rescue.test_a_lease_that_holds_is_left_alone",
    ),
    Bug(
        "a replay has another key",
        _another_key_at_a_replay,
        "test_decisions.test_a_replay_is_the_same_run_with_the_same_key",
    ),
    Bug(
        "what was missed is made up, whatever the job says",
        _makes_up_everything,
        "test_claim.test_missed_moments_of_a_job_that_is_not_safe_to_repeat_go_to_a_person",
    ),
    Bug(
        "a hold is no reason not to start",
        without(start, "_START", f" and not ({start._HELD})"),
        "test_holds.test_no_run_starts_under_a_hold",
    ),
    Bug(
        "an insert knows no conflict",
        without(
            insert,
            "_INSERT",
            "on conflict (job_id, due_at) where due_at is not null and state <> 'SKIPPED'"
            " do nothing",
        ),
        "test_claim.test_a_moment_that_has_a_run_gets_no_second_one_and_the_row_still_moves_on",
    ),
)
