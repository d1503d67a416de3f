"""The outcome probe of a job: whom to ask whether the effect of a key happened. PURE.

`{"url": …}` is asked by GET, `{"task": …}` is a function that is registered for jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jobs.targets.addresses import AllowList
from jobs.targets.errors import TargetError
from jobs.targets.shapes import Fits
from jobs.targets.urls import check_reachable, split_url

_HINT = 'write {"url": "https://…"} or {"task": "name"}, or null for none'


def parse(
    given: object, *, known_tasks: Collection[str], allow: AllowList, misfit: Fits
) -> dict[str, str] | None:
    """The probe from outside; None where there is none. Raises TargetError."""
    match given:
        case None:
            return None
        case {"url": url, **rest} if not rest:
            check_reachable(split_url(url, "probe.url"), allow, "probe.url")
            return {"url": str(url)}
        case {"task": task, **rest} if not rest:
            return {"task": _task(task, known_tasks, misfit)}
        case _:
            raise TargetError("probe", given, "is no probe", _HINT)


def _task(task: object, known_tasks: Collection[str], misfit: Fits) -> str:
    if not isinstance(task, str) or task not in known_tasks:
        hint = "register it for jobs, or mend the name"
        raise TargetError("probe.task", task, "is not a task that jobs may call", hint)
    arguments: dict[str, Any] = {"key": ""}
    if found := misfit(task, [], arguments):
        hint = f"it is called with key=…; it takes {found.takes}"
        raise TargetError("probe.task", task, f"takes no key: {found.problem}", hint)
    return task


def words(probe: Mapping[str, str] | None) -> str:
    """The probe for people; empty for none."""
    if not probe:
        return ""
    return probe["url"] if "url" in probe else f"the task {probe['task']}"
