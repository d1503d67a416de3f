"""The search of the protocol finds nothing wrong, and misses each rule that is taken out."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.model.protocol import explore
from tests.model.protocol_world import Case

WHOLE = os.environ.get("ONEBEAT_PROOF") == "whole"

UNSAFE = Case(idempotent=False)
SAFE = Case(idempotent=True)
# With people: what the broker does is left to the others.
DECIDED = Case(False, losses=0, doubles=0, unheard=0, failures=0, clicks=2)
REPLAYED = Case(True, losses=0, doubles=0, unheard=0, failures=2, clicks=2)
# Whose target does its work and answers: what goes wrong is ours alone.
CALLED = replace(UNSAFE, failures=0)

SOUND = [UNSAFE, replace(SAFE, losses=0), DECIDED]
LARGER = [
    SAFE,
    REPLAYED,
    replace(UNSAFE, crashes=2),
    replace(SAFE, crashes=2, unheard=2),
    replace(UNSAFE, expiries=2, failures=2),
    replace(DECIDED, failures=2, unheard=1),
]

MUTANTS = [
    (UNSAFE, ("claim lock", "index"), "two runs of one moment"),
    (UNSAFE, ("insert, then advance",), "a moment is lost"),
    (UNSAFE, ("sent again",), "stuck in ENQUEUED"),
    (SAFE, ("rescue",), "stuck in RUNNING"),
    (UNSAFE, ("lease",), "a review without a cause"),
    (CALLED, ("start",), "an effect that nobody decided on"),
    (SAFE, ("retry in time",), "a retry begins before its time"),
    (CALLED, ("intent",), "an ending that hides an effect"),
    (CALLED, ("intent is read back",), "an effect that nobody decided on"),
    (CALLED, ("fence",), "an effect that nobody decided on"),
    (UNSAFE, ("review",), "an effect that nobody decided on"),
    (UNSAFE, ("token",), "no edge"),
    (SAFE, ("token",), "no edge"),
    (
        replace(DECIDED, crashes=0, expiries=0, failures=2),
        ("decision",),
        "an effect that nobody decided on",
    ),
]


def name(case: Case) -> str:
    said = [f"{field}={value}" for field, value in vars(case).items() if field != "off"]
    return ",".join(said)


@pytest.mark.parametrize("case", SOUND + (LARGER if WHOLE else []), ids=name)
@pytest.mark.timeout(1800)
def test_no_order_of_events_breaks_the_promise(case: Case) -> None:
    found = explore(case)
    assert (found.fault, found.trace) == ("", ())
    assert found.states > 10_000  # it has looked at something


@pytest.mark.parametrize(("case", "off", "fault"), MUTANTS, ids=lambda part: str(part)[:40])
def test_a_rule_that_is_taken_out_is_missed(case: Case, off: tuple[str, ...], fault: str) -> None:
    found = explore(replace(case, off=frozenset(off)))
    assert fault in found.fault, found
    assert found.trace


def test_the_index_alone_keeps_a_moment_to_one_run() -> None:
    """Where the lock of a claim fails, the last line holds."""
    case = Case(False, 0, 0, 0, 0, 0, 0, off=frozenset({"claim lock"}))
    assert not explore(case).fault
