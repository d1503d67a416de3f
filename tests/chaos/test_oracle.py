"""The oracle itself: a run in which all is well, and each thing that may go wrong, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.chaos.behaviour import Doing
from tests.chaos.cast import Part
from tests.chaos.oracle import Finding, Oracle, Trouble, What
from tests.chaos.records import Attempt, Decision, Ledger, Request, Run

FIRST = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ONCE = Part("once", True, False, False, 1, FIRST, FIRST + SECOND)
RAW = replace(ONCE, name="raw", idempotent=False)
ALONE = replace(ONCE, name="alone", alone=True)
CAST = (ONCE, RAW, ALONE)
AGAIN = Decision("run_again", 1, "REVIEW")


def a_run(part: Part, number: int, **more: object) -> Run:
    """A success in one attempt."""
    due = FIRST + number * SECOND
    attempt = Attempt(1, due, due + SECOND / 2, intent_at=due, outcome="succeeded")
    key = f"{part.name}:{number}"
    plain = Run(part.name, key, due, "SUCCEEDED", due, attempt=1, attempts=(attempt,))
    return replace(plain, **more)  # type: ignore[arg-type]


def well() -> dict[str, Run]:
    return {run.key: run for run in (a_run(part, number) for part in CAST for number in (0, 1))}


def ledger_of(runs: dict[str, Run]) -> Ledger:
    return Ledger(
        {run.key: [Request(1, run.due_at, Doing.ACT)] for run in runs.values()},
        {run.key: [run.due_at] for run in runs.values()},
    )


def judged(runs: dict[str, Run], ledger: Ledger, *troubles: Trouble) -> list[Finding]:
    return Oracle(CAST, list(runs.values()), ledger, troubles).findings()


def test_nothing_is_found_where_all_is_well() -> None:
    runs = well()
    assert judged(runs, ledger_of(runs)) == []
    assert Oracle(CAST, list(runs.values()), ledger_of(runs)).lags() == [0.0] * 6


def test_a_moment_without_a_run_is_missed() -> None:
    runs = well()
    del runs["once:1"]
    ledger = ledger_of(runs)
    assert [each.what for each in judged(runs, ledger)] == [What.MISSED]


def test_a_moment_with_two_runs_is_doubled() -> None:
    runs = well()
    runs["again"] = replace(runs["once:1"], key="again")
    assert [each.what for each in judged(runs, ledger_of(runs))] == [What.DOUBLED]


def test_a_moment_that_was_never_due_is_unexplained() -> None:
    runs = well()
    runs["extra"] = a_run(ONCE, 7)
    assert [each.what for each in judged(runs, ledger_of(runs))] == [What.UNEXPLAINED]


def test_a_request_for_no_run_is_unexplained() -> None:
    runs = well()
    ledger = ledger_of({**runs, "extra": a_run(ONCE, 7)})
    assert [each.what for each in judged(runs, ledger)] == [What.UNEXPLAINED]


Spoil = Callable[[Run], Run]
CASES: dict[str, tuple[str, dict[str, object], What]] = {
    "it was written before it was due": (
        "once:1",
        {"created_at": FIRST},
        What.EARLY,
    ),
    "it was never sent": ("raw:0", {"state": "ENQUEUED"}, What.UNEXPLAINED),
    "it was skipped without need": ("once:0", {"state": "SKIPPED"}, What.UNEXPLAINED),
    "it was cancelled by nobody": ("once:0", {"state": "CANCELLED"}, What.UNEXPLAINED),
    "it died though it may not be repeated": ("raw:0", {"state": "DEAD"}, What.UNEXPLAINED),
    "it died too soon": ("once:0", {"state": "DEAD", "failures": 3}, What.UNEXPLAINED),
    "a review of what may be repeated": ("once:0", {"state": "REVIEW"}, What.UNEXPLAINED),
    "a review without a cause": ("raw:0", {"state": "REVIEW"}, What.FALSE_REVIEW),
    "an attempt is missing": ("once:0", {"attempt": 2}, What.UNEXPLAINED),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_of_a_run_is_found(case: str) -> None:
    key, changes, what = CASES[case]
    runs = well()
    runs[key] = replace(runs[key], **changes)  # type: ignore[arg-type]
    assert [each.what for each in judged(runs, ledger_of(runs))] == [what]


def test_a_run_that_never_began_is_missed() -> None:
    runs = well()
    runs["once:0"] = replace(runs["once:0"], state="ENQUEUED", attempt=0, attempts=())
    ledger = ledger_of({key: run for key, run in runs.items() if key != "once:0"})
    assert [each.what for each in judged(runs, ledger)] == [What.MISSED]


def test_two_effects_are_a_double_and_two_requests_of_what_may_not_be_repeated() -> None:
    runs = well()
    ledger = ledger_of(runs)
    ledger.effects["once:0"].append(FIRST)
    assert [each.what for each in judged(runs, ledger)] == [What.DOUBLED]
    ledger = ledger_of(runs)
    ledger.requests["raw:0"].append(Request(2, FIRST, Doing.ACT))
    found = [each.what for each in judged(runs, ledger)]
    assert found == [What.DOUBLED, What.UNEXPLAINED]  # the second: there is no such attempt


def test_a_second_request_is_explained_by_a_second_attempt_alone() -> None:
    runs = well()
    ledger = ledger_of(runs)
    ledger.requests["once:0"].append(Request(1, FIRST, Doing.ACT))
    assert [each.what for each in judged(runs, ledger)] == [What.UNEXPLAINED]
    again = runs["once:0"].attempts[0]
    runs["once:0"] = replace(runs["once:0"], attempt=2, attempts=(again, replace(again, number=2)))
    ledger = ledger_of(runs)
    ledger.requests["once:0"].append(Request(2, FIRST, Doing.ACT))
    assert judged(runs, ledger) == []


def reviewed(*decisions: Decision, state: str, attempts: int = 1) -> tuple[dict[str, Run], Ledger]:
    """A run that may not be repeated whose first request was dropped, and what came of it."""
    runs = well()
    first = runs["raw:0"].attempts[0]
    each = tuple(replace(first, number=number) for number in range(1, attempts + 1))
    changes: dict[str, Any] = {"state": state, "attempt": attempts, "decisions": decisions}
    runs["raw:0"] = replace(runs["raw:0"], attempts=each, **changes)
    ledger = ledger_of(runs)
    ledger.requests["raw:0"][0] = Request(1, FIRST, Doing.RESET_AFTER)
    return runs, ledger


def test_a_decision_allows_one_more_effect() -> None:
    runs, ledger = reviewed(AGAIN, state="SUCCEEDED", attempts=2)
    ledger.effects["raw:0"].append(FIRST)
    ledger.requests["raw:0"].append(Request(2, FIRST, Doing.ACT))
    assert judged(runs, ledger) == []


def test_a_person_may_say_that_it_happened_or_close_it() -> None:
    for what, state in (("happened", "SUCCEEDED"), ("close", "CLOSED")):
        assert judged(*reviewed(Decision(what, 1, "REVIEW"), state=state)) == []
    assert [each.what for each in judged(*reviewed(state="CLOSED"))] == [What.UNEXPLAINED]


def test_two_decisions_about_one_attempt_are_a_double() -> None:
    close = Decision("close", 1, "REVIEW")
    assert [each.what for each in judged(*reviewed(close, close, state="CLOSED"))] == [What.DOUBLED]


def test_a_review_that_was_decided_needs_its_cause_all_the_same() -> None:
    runs, ledger = reviewed(Decision("close", 1, "REVIEW"), state="CLOSED")
    ledger.requests["raw:0"][0] = Request(1, FIRST, Doing.ACT)
    assert [each.what for each in judged(runs, ledger)] == [What.FALSE_REVIEW]


def test_an_unknown_outcome_that_counts_as_a_success_is_unexplained() -> None:
    runs = well()
    ledger = ledger_of(runs)
    ledger.requests["raw:0"][0] = Request(1, FIRST, Doing.RESET_AFTER)
    assert [each.what for each in judged(runs, ledger)] == [What.UNEXPLAINED]


def test_a_success_without_an_effect_is_unexplained() -> None:
    runs = well()
    ledger = ledger_of(runs)
    ledger.effects["once:0"].clear()
    assert [each.what for each in judged(runs, ledger)] == [What.UNEXPLAINED]


@pytest.mark.parametrize("doing", [Doing.RESET_BEFORE, Doing.HANG, Doing.REFUSE])
def test_a_review_is_explained_by_what_the_target_did(doing: Doing) -> None:
    runs = well()
    runs["raw:0"] = replace(runs["raw:0"], state="REVIEW")
    ledger = ledger_of(runs)
    ledger.requests["raw:0"][0] = Request(1, FIRST, doing)
    assert judged(runs, ledger) == []


def test_a_review_is_explained_by_a_fault_that_met_its_attempt_and_by_no_other() -> None:
    runs = well()
    runs["raw:0"] = replace(runs["raw:0"], state="REVIEW")
    met = Trouble(FIRST + SECOND / 4, FIRST + SECOND)
    later = Trouble(FIRST + SECOND, FIRST + 2 * SECOND)
    assert judged(runs, ledger_of(runs), met) == []
    assert [each.what for each in judged(runs, ledger_of(runs), later)] == [What.FALSE_REVIEW]


def test_a_review_is_not_explained_by_an_attempt_that_came_after_it() -> None:
    """Nor is what a person sent again afterwards asked for a fault of its own."""
    runs, ledger = reviewed(Decision("run_again", 1, "REVIEW"), state="SUCCEEDED")
    first = replace(runs["raw:0"].attempts[0], ended_at=FIRST + SECOND)
    again = replace(first, number=2, started_at=FIRST + 8 * SECOND, ended_at=FIRST + 9 * SECOND)
    runs["raw:0"] = replace(runs["raw:0"], attempt=2, attempts=(first, again))
    ledger.requests["raw:0"][:] = [Request(2, FIRST + 8 * SECOND, Doing.ACT)]
    assert judged(runs, ledger, Trouble(FIRST, FIRST + SECOND)) == []
    after = Trouble(FIRST + 8 * SECOND, FIRST + 9 * SECOND)
    assert [each.what for each in judged(runs, ledger, after)] == [What.FALSE_REVIEW]


def test_one_record_of_many_skipped_moments_stands_for_each() -> None:
    runs = well()
    del runs["alone:0"], runs["alone:1"]
    ledger = ledger_of(runs)
    runs["alone"] = Run(
        "alone",
        "alone",
        FIRST,
        "SKIPPED",
        FIRST + SECOND,
        skipped_until=FIRST + SECOND,
        reason="so",
    )
    assert judged(runs, ledger) == []
