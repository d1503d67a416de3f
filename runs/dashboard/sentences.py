"""The runs and the instants that a stored sentence names, so that a page can link the ones and
tell the others on its reader's clock. PURE.

Sentences are kept, and told by the API, as they were written: `Waits for run 0199… of
2026-11-29T18:00:00Z to end.`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import parse_instant

_INSTANT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z"
_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# An instant inside a key or an address is a part of it, and stays as it is.
_NAMED = re.compile(
    rf"\b(?:a )?run:? (?P<run>{_ID})(?: (?P<hand>by hand)| of (?P<of>{_INSTANT}))?"
    rf"|(?<![\w:/=.])(?P<at>{_INSTANT})(?![\w:/])"
)


@dataclass(frozen=True)
class Named:
    """What a sentence names: a run with its moment, a run by hand, a run, or an instant alone."""

    text: str
    run: UUID | None = None
    by_hand: bool = False
    at: datetime | None = None


def parts(sentence: str) -> Iterator[str | Named]:
    """The sentence in order: its text, and what stands there for a run or an instant."""
    end = 0
    for found in _NAMED.finditer(sentence):
        try:
            named = _named(found)
        except ScheduleError:  # digits that are no instant
            continue
        if found.start() > end:
            yield sentence[end : found.start()]
        yield named
        end = found.end()
    if end < len(sentence):
        yield sentence[end:]


def _named(found: re.Match[str]) -> Named:
    instant = found["of"] or found["at"]
    at = parse_instant(instant, "") if instant else None
    run = UUID(found["run"]) if found["run"] else None
    return Named(found[0], run, found["hand"] is not None, at)
