"""The states that a run has passed through, each with its instant, on the run's own row: written
by the very UPDATE that moves it, so that they cost no further row and cannot disagree with it.

A passage is `[state, seconds since 1970, who]`; `who` is the beat that claimed or sent it, the
worker that started it, the person who asked for it by hand, and "" for every other. Of a long life
the first hundred are kept and the last hundred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, Func, JSONField, Value
from django.db.models.functions import Now

from runs.states import State

MOST = 200  # the database function `runs_passed` keeps no more


@dataclass(frozen=True)
class Passage:
    """Into `state`, at this instant."""

    state: State
    at: datetime
    who: str = ""


def into(state: State, who: str = "") -> Func:
    """The column's new value in an UPDATE that moves runs to this state now."""
    values = (F("passed"), Value(str(state)), Now(), Value(who))
    return Func(*values, function="runs_passed", output_field=JSONField())


def born(state: State, at: datetime, who: str) -> list[list[Any]]:
    """The column's first value."""
    return [[str(state), at.timestamp(), who]]


def read(stored: Sequence[Sequence[Any]]) -> Iterator[Passage]:
    """The passages on a run's row. One that is older than this column has none of its first."""
    for state, seconds, who in stored:
        yield Passage(State(state), datetime.fromtimestamp(seconds, UTC), str(who))
