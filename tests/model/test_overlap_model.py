"""The search over the rules of overlap finds nothing wrong, and misses each that is taken out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.search import explore
from tests.model.world import Case

QUEUE = Case("queue")
UNSAFE = Case("queue", idempotent=False, block=True)

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
]

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
]


def name(case: Case) -> str:
    words = [case.overlap, "safe" if case.idempotent else "unsafe"]
    return " ".join(words + ["block"] * case.block + ["edited"] * bool(case.edited))


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
