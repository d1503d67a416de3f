"""What a target that holds values of the moment says at the next one, while it is typed. PURE."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs import moment_values
from jobs.definitions import job_fields
from jobs.definitions.definitions import Problem
from jobs.definitions.job_fields import Typed
from jobs.foresight.previews import Preview
from jobs.schedules import local_times
from jobs.schedules.instants import canonical_instant
from jobs.targets import shapes
from jobs.targets.errors import TargetError

_TYPED_IN = ("url", "headers", "body")
_NO_ID_YET = "id-of-the-job"


@dataclass(frozen=True)
class Filled:
    """The target as it would be sent, secrets masked, and for which moment; or the `problem`."""

    target: dict[str, Any] | None = None
    moment: str = ""
    problem: str = ""


def of_typed(typed: Typed, coming: Preview, job_id: str | None = None) -> Filled | None:
    """The target in a page's fields at the first of the moments to come; None where nothing is to
    be filled in, or nobody can say for when."""
    held = any("{{" in typed.get(name, "") for name in _TYPED_IN)
    if not held or typed.get("target_kind") != "http":
        return None
    problems: list[Problem] = []
    try:
        target = shapes.parse(job_fields.shape_of(typed, problems)["target"], known_tasks=())
    except TargetError as error:
        return Filled(problem=f"{error.message} {error.hint}")
    if problems or coming.plan is None or not coming.moments:
        return None
    moment = coming.moments[0].moment
    key = f"{job_id or _NO_ID_YET}:{canonical_instant(moment)}"
    values = local_times.values(coming.plan.schedules, moment, key)
    shown = moment_values.fill(shapes.dump(shapes.masked(target)), values)
    return Filled(shown, f"{datetime.fromisoformat(values.due_local):%a %-d %b %Y, %H:%M:%S}")
