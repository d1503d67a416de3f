"""Schedules as JSON: read, checked and written. PURE.

    {"cron": "0 18 * * 1-5", "timezone": "America/New_York", "dst": "once"}
    {"every": 3600, "anchor": "2026-11-29T18:00:00Z"}
    {"at": "2026-11-29T18:00:00Z"}

or a list of up to twenty of them. Errors name their field from `schedule` on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from jobs.cron import grammar
from jobs.schedules import zones
from jobs.schedules.errors import REQUIRED, ScheduleError, short
from jobs.schedules.instants import canonical_instant, parse_instant
from jobs.schedules.values import At, Cron, Dst, Every, Schedule

Read = TypeVar("Read")

MOST = 20
LONGEST = 10 * 366 * 86_400  # seconds between two moments of an `every`: ten years
_KEYS = {"cron": ("timezone", "dst"), "every": ("anchor",), "at": ()}
_SHAPES = 'Give {"cron", "timezone", "dst"}, {"every", "anchor"} or {"at"}, or a list of them.'


def read(data: object, anchor: datetime | None) -> list[tuple[str, Schedule]]:
    """Each schedule in `data` with its path. `anchor` is for an `every` that names none.

    Raises ScheduleError.
    """
    if not isinstance(data, list):
        return [("schedule", _schedule("schedule", data, anchor))]
    if not 1 <= len(data) <= MOST:
        hint = f"Give one schedule, or a list of 1 to {MOST}."
        raise ScheduleError("schedule", data, f"lists {len(data)} schedules", hint)
    paths = [f"schedule[{place}]" for place in range(len(data))]
    return [(path, _schedule(path, item, anchor)) for path, item in zip(paths, data, strict=True)]


def write(schedule: Schedule) -> dict[str, object]:
    match schedule:
        case Cron(expression, timezone, dst):
            return {"cron": expression, "timezone": timezone, "dst": dst}
        case Every(seconds, anchor):
            return {"every": seconds, "anchor": canonical_instant(anchor)}
        case At(moment):
            return {"at": canonical_instant(moment)}


def _schedule(path: str, data: object, anchor: datetime | None) -> Schedule:
    if not isinstance(data, Mapping):
        raise ScheduleError(path, data, "is not a schedule", _SHAPES)
    kinds = [kind for kind in _KEYS if kind in data]
    if len(kinds) != 1:
        problem = "says no kind of schedule" if not kinds else "mixes " + " and ".join(kinds)
        raise ScheduleError(path, data, problem, _SHAPES)
    _refuse_unknown_keys(path, data, (kinds[0], *_KEYS[kinds[0]]))
    try:
        return _read_kind(kinds[0], data, anchor)
    except ScheduleError as error:
        raise error.under(path) from None


def _refuse_unknown_keys(path: str, data: Mapping[Any, object], known: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            hint = f"Known beside {known[0]}: {', '.join(known[1:]) or 'nothing'}."
            name = key if isinstance(key, str) and key.isidentifier() else short(key)
            raise ScheduleError(f"{path}.{name}"[:80], key, "is an unknown field", hint)


def _read_kind(kind: str, data: Mapping[str, object], anchor: datetime | None) -> Schedule:
    match kind:
        case "cron":
            return _cron(data)
        case "every":
            return Every(_seconds(data["every"]), _anchor(data.get("anchor"), anchor))
        case _:
            return At(parse_instant(data["at"], "at"))


def _cron(data: Mapping[str, object]) -> Cron:
    """Raises one ScheduleError for all that is wrong: who mends the one is not to meet the next."""
    wrong: list[ScheduleError] = []
    expression = _or_wrong(_expression, data["cron"], wrong)
    zone = _or_wrong(zones.check, data.get("timezone", "UTC"), wrong)
    dst = _or_wrong(_dst, data.get("dst", "once"), wrong)
    if expression is None or zone is None or dst is None:
        raise ScheduleError.of(wrong)
    return Cron(expression, zone, dst)


def _or_wrong(
    read: Callable[[object], Read], given: object, wrong: list[ScheduleError]
) -> Read | None:
    try:
        return read(given)
    except ScheduleError as error:
        wrong.append(error)
        return None


def _expression(given: object) -> str:
    expression = grammar.normalise(given)
    grammar.parse(expression)
    return expression


def _dst(given: object) -> Dst:
    match given:
        case "once" | "wall":
            return given
        case _:
            hint = "Use once or wall."
            raise ScheduleError("dst", given, "is no rule for changes of the clock", hint)


def _seconds(given: object) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= LONGEST:
        return given
    hint = f"Give a whole number of seconds, 1 to {LONGEST}."
    raise ScheduleError("every", given, REQUIRED if given == "" else "is no interval", hint)


def _anchor(given: object, default: datetime | None) -> datetime:
    if given is None and default is not None:
        return default
    return parse_instant(given, "anchor")
