"""The search over the rules of overlap finds nothing wrong, and misses each that is taken out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.search import explore
from tests.model.world import Case

QUEUE = Case("queue")
UNSAFE = Case("queue", idempotent=False, block=True)

HOLD = frozenset({"hold", "past"})

SOUND = [
    Case("skip"),
    QUEUE,
    Case("queue", moments=3, people=1),
    Case("queue_all"),
    Case("cancel"),
    Case("allow", whole=True),
    Case("skip", idempotent=False),
    UNSAFE,
    Case("queue_all", idempotent=False, block=True),
    Case("allow", idempotent=False, block=True, whole=True),
    Case("queue", edited="allow", whole=True),
    Case("queue", idempotent=False, block=True, edited="allow", whole=True),
    Case("skip", people=3, can=HOLD),
    Case("queue", people=3, catch_up="all", can=HOLD | {"replay"}),
    Case("queue", False, True, people=3, catch_up="ask", can=HOLD | {"decide"}),
    Case("cancel", catch_up="none", can=HOLD | {"hand"}),
    Case("allow", can=HOLD | {"hand"}, whole=True),
]
HELD = Case("queue", can=HOLD)

MUTANTS = [
    (QUEUE, "settle without lock"),
    (QUEUE, "claim without lock"),
    (QUEUE, "after an end"),
    (UNSAFE, "after a failure"),
    (UNSAFE, "after a decision"),
    (UNSAFE, "reviews ignored"),
    (UNSAFE, "cancel forgets"),
    (Case("cancel"), "stop is forgotten"),
    (QUEUE, "replay at once"),
    (Case("queue", edited="allow", whole=True), "rescue"),
    (HELD, "start is blind"),
    (HELD, "released under a hold"),
    (HELD, "held are released"),
    (HELD, "begun is dropped"),
    (HELD, "letting go"),
]


def name(case: Case) -> str:
    words = [case.overlap, "safe" if case.idempotent else "unsafe"]
    words += ["block"] * case.block + ["edited"] * bool(case.edited)
    return " ".join(words + ["hold"] * ("hold" in case.can))


@pytest.mark.parametrize("case", SOUND, ids=name)
def test_no_order_of_events_breaks_a_promise(case: Case) -> None:
    found = explore(case)
    assert (found.fault, found.trace) == ("", ())
    assert found.states > 1_000  # it has looked at something


@pytest.mark.parametrize(("case", "off"), MUTANTS, ids=lambda part: str(part)[:40])
def test_a_rule_that_is_taken_out_is_missed(case: Case, off: str) -> None:
    found = explore(replace(case, off=frozenset({off})))
    assert found.fault
    assert found.trace
