"""What a run calls: the shapes of targets, as the API and the files write them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from jobs import moment_values
from jobs.json_values import check_json, check_size
from jobs.targets.addresses import AllowList
from jobs.targets.errors import MASK, REQUIRED, TargetError, step
from jobs.targets.headers import is_secret_header, masked_headers, parse_headers
from jobs.targets.urls import check_reachable, split_url
from jobs.task_registry import Misfit

__all__ = [
    "MASK",
    "METHODS",
    "HttpTarget",
    "Target",
    "TargetError",
    "TaskTarget",
    "check_json",
    "dump",
    "is_secret_header",
    "load",
    "masked",
    "parse",
]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class HttpTarget:
    """A request. `body` is any JSON value; None sends no body."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None


@dataclass(frozen=True)
class TaskTarget:
    """A call of a function that is registered for jobs."""

    name: str
    args: list[object] = field(default_factory=list)
    kwargs: dict[str, object] = field(default_factory=dict)


Target = HttpTarget | TaskTarget
Fits = Callable[[str, list[object], dict[str, object]], Misfit | None]


def fits(name: str, args: list[object], kwargs: dict[str, object]) -> Misfit | None:
    """Where nobody can tell what a task takes: whatever it is given, it fits."""
    return None


def parse(
    data: object,
    *,
    known_tasks: Collection[str],
    allow: AllowList | None = None,
    ports: Collection[int] | None = None,
    misfit: Fits = fits,
) -> Target:
    """Read a target from outside; whatever cannot be accepted raises TargetError.

    `known_tasks` are the names that a task target may have. With `allow`, a host spelled out
    as an inside address is refused at once. `ports` as in `split_url`. `misfit` says what keeps
    a task from taking its arguments.
    """
    if not isinstance(data, dict):
        raise TargetError("target", data, "is not an object", 'write {"type": "http", "url": …}')
    match data.get("type"):
        case "http":
            return _parse_http(data, allow, ports)
        case "task":
            return _parse_task(data, known_tasks, misfit)
        case "command":
            raise TargetError(
                "target.type", "command", "is not available in this version", "use http or task"
            )
        case other:
            raise TargetError("target.type", other, "is not a kind of target", "use http or task")


def dump(target: Target) -> dict[str, object]:
    """The target in the API's shape, as it is stored."""
    match target:
        case HttpTarget(method, url, headers, body):
            shape = {"type": "http", "method": method, "url": url}
            return {**shape, "headers": dict(headers), "body": body}
        case TaskTarget(name, args, kwargs):
            return {"type": "task", "name": name, "args": list(args), "kwargs": dict(kwargs)}


def load(data: Mapping[str, object]) -> Target:
    """The target that `dump` wrote; the rules of `parse` are not applied again."""
    match data:
        case {"type": "http", "method": str(method), "url": str(url), "headers": dict(headers)}:
            return HttpTarget(method, url, headers, data.get("body"))
        case {"type": "task", "name": str(name), "args": list(args), "kwargs": dict(kwargs)}:
            return TaskTarget(name, args, kwargs)
        case _:
            raise TargetError("target", data, "is not a stored target", "save the job again")


def masked(target: Target) -> Target:
    """The target as people may see it: secret headers show as `********`."""
    match target:
        case HttpTarget(headers=headers):
            return replace(target, headers=masked_headers(headers))
        case TaskTarget():
            return target


def _parse_http(
    data: dict[object, object], allow: AllowList | None, ports: Collection[int] | None
) -> HttpTarget:
    _refuse_unknown(data, ("type", "method", "url", "headers", "body"))
    method = data.get("method", "POST")
    if not isinstance(method, str) or method not in METHODS:
        hint = f"use one of {', '.join(METHODS)}"
        raise TargetError("target.method", method, "is not a method that jobs may use", hint)
    url = moment_values.checked_url(data.get("url"))
    place = split_url(url, ports=ports)
    if allow is not None:
        check_reachable(place, allow)
    headers = parse_headers(data.get("headers", {}), "target.headers")
    check_json(data.get("body"), "target.body")
    check_size(data.get("body"), "target.body")
    moment_values.check(str(url), headers, data.get("body"))
    return HttpTarget(method, str(url), headers, data.get("body"))


def _parse_task(
    data: dict[object, object], known_tasks: Collection[str], misfit: Fits
) -> TaskTarget:
    _refuse_unknown(data, ("type", "name", "args", "kwargs"))
    name = _known_name(data.get("name"), known_tasks)
    args, kwargs = data.get("args", []), data.get("kwargs", {})
    if not isinstance(args, list):
        raise TargetError("target.args", args, "is not a list", "write [first, second]")
    if not isinstance(kwargs, dict):
        raise TargetError("target.kwargs", kwargs, "is not an object", 'write {"name": value}')
    check_json(args, "target.args")
    check_json(kwargs, "target.kwargs")
    check_size([args, kwargs], "target.args")
    if found := misfit(name, args, kwargs):
        given = args if found.part == "args" else kwargs
        problem = f"does not fit {name}: {found.problem}"
        raise TargetError(f"target.{found.part}", given, problem, f"it takes {found.takes}")
    return TaskTarget(name, args, kwargs)


def _known_name(name: object, known_tasks: Collection[str]) -> str:
    if isinstance(name, str) and name in known_tasks:
        return name
    if name == "":
        raise TargetError("target.name", name, REQUIRED, "choose a task that is registered")
    near = difflib.get_close_matches(str(name)[:200], list(known_tasks), n=1)
    hint = f"did you mean {near[0]}?" if near else "register it for jobs, or mend the name"
    raise TargetError("target.name", name, "is not a task that jobs may call", hint)


def _refuse_unknown(data: dict[object, object], known: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            here = step("target", key) if isinstance(key, str) else "target"
            raise TargetError(here, key, "is not known", f"use only {', '.join(known)}")
