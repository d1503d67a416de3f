"""The suite is strong enough to tell: under each seeded bug a test that passes without it fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from runs.states import State
from tests import make
from tests.crash import stage
from tests.crash.bugs import BUGS, Bug
from tests.crash.table import cases
from tests.crash.test_matrix import play
from tests.story.processes import ExampleTarget

CASES = {case.name: case for case in cases()}
STRUCK = [bug for bug in BUGS if bug.caught_by in CASES]
RULES = [bug for bug in BUGS if bug.caught_by not in CASES]
# What the tests of rules are given, by the name of their parameter.
GIVEN: Mapping[str, Callable[[], Any]] = {
    "operator": lambda: make.operator(make.team()),
    "before": lambda: State.ENQUEUED,
    "overlap": lambda: "allow",
}


def _name(bug: Bug) -> str:
    return bug.name.replace(" ", "-").replace(",", "")


def test_there_are_at_least_twelve_and_no_two_are_one() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 12


@pytest.mark.django_db
@pytest.mark.parametrize("bug", RULES, ids=_name)
def test_a_bug_in_a_rule_is_caught(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, name = bug.caught_by.partition(".")
    test = getattr(import_module(f"tests.runs.{module}"), name)
    _run(test)  # without the bug it passes
    bug.sow(monkeypatch)
    with pytest.raises((AssertionError, IntegrityError)):
        _run(test)


def _run(test: Callable[..., None]) -> None:
    """The test alone, on a database as empty as it found it."""
    with transaction.atomic():
        given = {name: GIVEN[name]() for name in inspect.signature(test).parameters}
        partial(test, **given)()
        transaction.set_rollback(True)


@pytest.mark.parametrize("bug", STRUCK, ids=_name)
def test_a_bug_in_the_protocol_is_caught_by_the_crash_matrix(
    stage_url: str, target: ExampleTarget, bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the case passes without the bug, tests/crash/test_matrix.py shows."""
    monkeypatch.setattr(stage, "PATIENCE", 4.0)
    bug.sow(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        play(CASES[bug.caught_by], stage_url, target)
    assert "the point was not reached" not in str(caught.value)
