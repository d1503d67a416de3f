"""The changes of a job's version as lines: which part, from what, to what. PURE."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs import words
from jobs.schedules import schedules
from jobs.targets.errors import MASK
from jobs.targets.headers import SEALED


@dataclass(frozen=True)
class Line:
    """One part of a job that changed; `path` as the API names it. Secrets are masked, so both
    sides of a new secret look alike. A side is None where the part was not there."""

    path: str
    before: str | None
    after: str | None


def lines(changes: Mapping[str, Mapping[str, object]]) -> list[Line]:
    """`{"timeout": {"from": 300, "to": 60}}` as lines, objects opened up to what differs."""
    return [
        line
        for path, change in changes.items()
        for line in _lines(path, change.get("from", _ABSENT), change.get("to", _ABSENT))
    ]


_ABSENT = object()


def _lines(path: str, before: object, after: object) -> Iterator[Line]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            yield from _lines(f"{path}.{name}", before.get(name, _ABSENT), after.get(name, _ABSENT))
    elif before != after:
        shown = _schedule if path == "schedule" else _shown
        yield Line(path, shown(before), shown(after))


def _shown(value: object) -> str | None:
    if value is _ABSENT:
        return None
    return value if isinstance(value, str) and not value.startswith(SEALED) else _json(value)


def _schedule(value: object) -> str | None:
    try:
        return None if value is _ABSENT else words.spelled(schedules.load(value))
    except schedules.ScheduleError:  # the zone data in use has lost its zone
        return _shown(value)


def _json(value: object) -> str:
    return json.dumps(_masked(value), ensure_ascii=False)


def _masked(value: object) -> object:
    match value:
        case str():
            return MASK if value.startswith(SEALED) else value
        case list():
            return [_masked(item) for item in value]
        case dict():
            return {name: _masked(item) for name, item in value.items()}
        case _:
            return value
