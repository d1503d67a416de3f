"""A test request of a target that is being typed: nothing of the job needs to be saved for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings

from jobs import clock, moment_values, sealing
from jobs.definitions import job_fields
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.definitions.job_fields import Typed
from jobs.foresight import previews
from jobs.models import Job, Team
from jobs.offer import offered
from jobs.reading import Reader
from jobs.schedules import local_times
from jobs.targets import shapes as targets
from jobs.targets.errors import TargetError
from runs.trials import trial
from runs.trials.trial import Asked

_TIMEOUT = 300  # of a job that does not say


def read(typed: Typed, team: Team, job: Job | None, id: UUID | None = None) -> Asked:
    """What the form's fields would call now. `job` is the one that is edited: a masked secret
    stands for the one that it has. An unanswered «safe to repeat?» counts as no. Raises
    DefinitionError, NotHttp."""
    problems: list[Problem] = []
    shape = job_fields.shape_of(typed, problems)
    name = _name(shape["name"], job, problems)
    target = _target(shape["target"], job, problems)
    if problems:
        raise DefinitionError(problems)
    id = id or uuid4()
    key = trial.key_of(job.id if job else team.id, id)
    return Asked(
        team=team,
        job=job,
        name=name,
        idempotent=bool(shape.get("idempotent", False)),
        snapshot=_filled(target, typed, key),
        timeout=_number(shape.get("timeout"), _TIMEOUT) or 1,
        refusal_codes=[code for code in shape["refusal_codes"] if isinstance(code, int)],
        follow_redirects=min(_number(shape.get("follow_redirects"), 0), 3),
        id=id,
    )


def _name(given: str, job: Job | None, problems: list[Problem]) -> str:
    """The job's name by the rule for names; while none is typed that of the job as it is kept."""
    reader = Reader()
    name = reader.name(" ".join(given.split()) or (job.name if job else ""))
    problems += reader.problems
    return name


def _target(given: Any, job: Job | None, problems: list[Problem]) -> dict[str, Any]:
    """The target as a job would keep it, its secrets sealed."""
    known = offered()
    if isinstance(given, Mapping) and given.get("type") == "task":
        raise trial.NotHttp
    try:
        parsed = targets.dump(targets.parse(given, known_tasks=(), allow=known.egress))
        old = job.target if job and job.target.get("type") == "http" else None
        merged = sealing.merge_masked(old, parsed) if old else parsed
        return sealing.seal_headers(merged, settings.SEALING_KEYS, old=old)
    except TargetError as error:
        problems.append(Problem(error.field, error.message, error.hint))
        return {}


def _filled(target: dict[str, Any], typed: Typed, key: str) -> dict[str, Any]:
    now = clock.now()
    plan = previews.of_typed(typed, now, offered().calendars).plan
    values = local_times.values(plan.schedules if plan else (), now, key)
    return moment_values.fill(target, values)


def _number(given: object, default: int) -> int:
    return given if isinstance(given, int) and 0 <= given < 86_400 else default
