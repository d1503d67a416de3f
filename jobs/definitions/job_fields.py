"""A page's flat text fields ↔ the API's shape of a job. PURE.

The page checks nothing by itself: it writes the shape that every door writes and shows what
`definitions.read` says about it at the field that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from jobs import strict_json, typed_numbers
from jobs.definitions import tag_words
from jobs.definitions.definitions import Definition, Problem
from jobs.schedules import schedules
from jobs.targets import shapes as targets
from jobs.targets.shapes import HttpTarget, TargetError, TaskTarget

Typed = Mapping[str, str]
UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
NUMBERS = (
    *("max_attempts", "backoff", "cap", "timeout", "queue_limit", "max_runs", "spread"),
    *("deadline", "follow_redirects", "late_after", "catch_up_window", "catch_up_limit"),
    *("decide_by", "pause_after_reviews"),
)
_ALONE = (
    *("timeout", "queue_limit", "max_runs", "spread", "deadline", "late_after"),
    "follow_redirects",
    *("decide_by", "pause_after_reviews"),
)
WINDOW = ("starts_at", "ends_at")
_JSON_HINT = 'Write JSON, as {"name": "value"}; text stands in double quotes.'

# Where the page shows a problem of the API's field, by the beginning of its path.
_PLACES = (
    ("schedule.cron", "cron"),
    ("schedule.timezone", "timezone"),
    ("schedule.dst", "dst"),
    ("schedule.every", "every"),
    ("schedule.anchor", "anchor"),
    ("schedule.at", "at"),
    ("target.method", "method"),
    ("target.url", "url"),
    ("target.headers", "headers"),
    ("target.body", "body"),
    ("target.name", "task_name"),
    ("target.args", "args"),
    ("target.kwargs", "kwargs"),
    ("target", "target_kind"),
    ("retries.", ""),
    ("calendar.rule", "calendar_rule"),
    ("calendar", "calendar"),
    ("probe.url", "probe_url"),
    ("probe.task", "probe_task"),
    ("catch_up.policy", "catch_up_policy"),
    ("catch_up.window", "catch_up_window"),
    ("catch_up.limit", "catch_up_limit"),
)


def place(path: str, typed: Typed) -> str:
    """The page's field for a problem at `path` of the API's shape."""
    if path.startswith("schedule") and typed.get("schedule_kind") == "several":
        return "several"
    path = path.replace("schedule[0]", "schedule", 1)
    if path == "schedule":
        return typed.get("schedule_kind") or "schedule_kind"
    for beginning, field in _PLACES:
        if path.startswith(beginning):
            return field or path.removeprefix(beginning)
    return path


def schedule_of(typed: Typed, problems: list[Problem]) -> object:
    """The schedule as the API takes it; what is no JSON is added to `problems`."""
    match typed.get("schedule_kind"):
        case "cron":
            zone, dst = typed.get("timezone") or "UTC", typed.get("dst") or "once"
            return {"cron": typed.get("cron", ""), "timezone": zone.strip(), "dst": dst}
        case "every":
            return {"every": _interval(typed), **_given(typed, "anchor")}
        case "at":
            return {"at": typed.get("at", "").strip()}
        case "several":
            return _json(typed, "several", "schedule", [], problems)
        case _:
            return None


def window_of(typed: Typed) -> dict[str, str]:
    """The bounds of its moments as the API takes them; an empty one is left out."""
    return {name: given for name in WINDOW if (given := typed.get(name, "").strip())}


def calendar_of(typed: Typed) -> dict[str, str] | None:
    """The calendar as the API takes it; None where none is chosen."""
    if not typed.get("calendar"):
        return None
    return {"name": typed["calendar"], "rule": typed.get("calendar_rule") or "skip"}


def shape_of(typed: Typed, problems: list[Problem]) -> dict[str, Any]:
    """The whole job as the API takes it. An empty field is left out, so that it gets its
    default; a number that is none stays text, so that it is refused in the API's words."""
    catch_up: dict[str, int | str | None] = {"policy": typed.get("catch_up_policy") or None}
    numbers = {
        name: typed_numbers.of_field(typed, name) for name in NUMBERS if typed.get(name, "").strip()
    }
    for name in ("window", "limit"):
        catch_up[name] = numbers.pop(f"catch_up_{name}", None)
    alone: dict[str, Any] = {name: numbers.pop(name) for name in _ALONE if name in numbers}
    answer = {"yes": True, "no": False}.get(typed.get("idempotent", ""))
    return {
        "name": typed.get("name", ""),
        "description": typed.get("description", ""),
        "runbook": typed.get("runbook", ""),
        "schedule": schedule_of(typed, problems),
        "calendar": calendar_of(typed),
        "target": _target(typed, problems),
        **({} if answer is None else {"idempotent": answer}),
        "retries": numbers,
        "retry_unsent": bool(typed.get("retry_unsent")),
        "completion": typed.get("completion") or "answer",
        "refusal_codes": _codes(typed.get("refusal_codes", "")),
        **alone,
        **window_of(typed),
        **({"overlap": typed["overlap"]} if typed.get("overlap") else {}),
        "block_on_review": bool(typed.get("block_on_review")) and _may_be_reviewed(typed),
        "catch_up": {name: value for name, value in catch_up.items() if value is not None},
        **({"queue": typed["queue"]} if typed.get("queue") else {}),
        "probe": _probe(typed, problems),
        "critical": bool(typed.get("critical")),
        "tags": tag_words.split(typed.get("tags", "")),
        "owner": typed.get("owner", ""),
    }


def typed_of(definition: Definition) -> dict[str, str]:
    """What the page shows of a job: `shape_of`, backwards. Secret headers are masked."""
    d = definition
    return {
        "name": d.name,
        "description": d.description,
        "runbook": d.runbook,
        **_typed_schedule(d.schedule),
        **_typed_target(targets.masked(d.target)),
        "idempotent": "yes" if d.idempotent else "no",
        "retry_unsent": "on" if d.retry_unsent else "",
        "completion": d.completion,
        "refusal_codes": ", ".join(map(str, d.refusal_codes)),
        "overlap": d.overlap,
        "block_on_review": "on" if d.block_on_review else "",
        "catch_up_policy": d.catch_up_policy,
        "queue": d.queue,
        "probe_url": (d.probe or {}).get("url", ""),
        "probe_task": (d.probe or {}).get("task", ""),
        "critical": "on" if d.critical else "",
        "tags": ", ".join(d.tags),
        "owner": d.owner,
        "calendar": d.calendar_use.name if d.calendar_use else "",
        "calendar_rule": d.calendar_use.rule if d.calendar_use else "",
        **{name: _shown(getattr(d, name)) for name in (*NUMBERS, *WINDOW)},
    }


_EMPTY: dict[str, object] = {"body": None, "args": [], "kwargs": {}}


def changed_parts(
    typed: Typed, names: Collection[str], problems: list[Problem]
) -> dict[str, object]:
    """These parts of a target as the API takes them: `url` is text, each other one JSON. What is
    none is added to `problems`."""
    return {
        name: typed.get(name, "").strip()
        if name == "url"
        else _json(typed, name, f"target.{name}", _EMPTY[name], problems)
        for name in names
    }


def json_text(value: object) -> str:
    """A part of a target as its field shows it; empty for one that is not sent."""
    return "" if value is None else _text(value)


def _shown(value: object) -> str:
    """A stored value as its field shows it: what is not said is an empty field."""
    if isinstance(value, datetime):
        return schedules.canonical_instant(value)
    return "" if value is None else str(value)


def _codes(text: str) -> list[int | str]:
    return [typed_numbers.number(part) for part in text.replace(",", " ").split()]


def _may_be_reviewed(typed: Typed) -> bool:
    """Whether runs of this job ever come to Review, so that others could wait behind them."""
    return typed.get("idempotent") != "yes" or typed.get("catch_up_policy") == "ask"


def _interval(typed: Typed) -> int | str:
    count = typed_numbers.number(typed.get("every", ""))
    return count if isinstance(count, str) else count * UNITS.get(typed.get("unit", ""), 1)


def _given(typed: Typed, field: str) -> dict[str, str]:
    text = typed.get(field, "").strip()
    return {field: text} if text else {}


def _target(typed: Typed, problems: list[Problem]) -> object:
    match typed.get("target_kind"):
        case "http":
            return {
                "type": "http",
                "method": typed.get("method") or "POST",
                "url": typed.get("url", "").strip(),
                "headers": _headers(typed.get("headers", ""), problems),
                "body": _json(typed, "body", "target.body", None, problems),
            }
        case "task":
            return {
                "type": "task",
                "name": typed.get("task_name", ""),
                "args": _json(typed, "args", "target.args", [], problems),
                "kwargs": _json(typed, "kwargs", "target.kwargs", {}, problems),
            }
        case _:
            return None


def _probe(typed: Typed, problems: list[Problem]) -> dict[str, str] | None:
    url, task = typed.get("probe_url", "").strip(), typed.get("probe_task", "")
    if url and task:
        hint = "Empty one of the two."
        problems.append(Problem("probe.task", "cannot go together with a URL.", hint))
    return {"url": url} if url else {"task": task} if task else None


def _headers(text: str, problems: list[Problem]) -> dict[str, str]:
    found: dict[str, str] = {}
    for count, line in enumerate(text.splitlines(), start=1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip():
            hint = "Write one header a line, as Accept: application/json."
            problems.append(Problem("target.headers", f"Line {count} has no name and colon.", hint))
        elif name.strip() in found:
            problems.append(Problem("target.headers", f"{name.strip()} is given twice."))
        else:
            found[name.strip()] = value.strip()
    return found


def _json(typed: Typed, field: str, path: str, empty: object, problems: list[Problem]) -> object:
    text = typed.get(field, "")
    if not text.strip():
        return empty
    try:
        return strict_json.read(text.encode())
    except TargetError as error:
        inside = f"{error.field}: " if error.field != "$" else ""
        problems.append(Problem(path, f"{inside}{error.message}", f"{error.hint} {_JSON_HINT}"))
        return empty


def _typed_schedule(found: tuple[schedules.Schedule, ...]) -> dict[str, str]:
    match found:
        case (schedules.Cron(expression, timezone, dst),):
            kind = {"schedule_kind": "cron", "cron": expression}
            return {**kind, "timezone": timezone, "dst": dst}
        case (schedules.Every(seconds, anchor),):
            unit = next(unit for unit in reversed(UNITS) if seconds % UNITS[unit] == 0)
            count = {"every": str(seconds // UNITS[unit]), "unit": unit}
            shown = schedules.canonical_instant(anchor)
            return {"schedule_kind": "every", **count, "anchor": shown}
        case (schedules.At(moment),):
            return {"schedule_kind": "at", "at": schedules.canonical_instant(moment)}
        case _:
            text = json.dumps(schedules.dump(found), ensure_ascii=False, indent=2)
            return {"schedule_kind": "several", "several": text}


def _typed_target(target: targets.Target) -> dict[str, str]:
    match target:
        case HttpTarget(method, url, headers, body):
            lines = "\n".join(f"{name}: {value}" for name, value in headers.items())
            sent = {} if body is None else {"body": _text(body)}
            return {"target_kind": "http", "method": method, "url": url, "headers": lines, **sent}
        case TaskTarget(name, args, kwargs):
            given = {"args": _text(args), "kwargs": _text(kwargs)}
            return {"target_kind": "task", "task_name": name, **given}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
