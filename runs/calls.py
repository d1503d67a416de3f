"""From a run's row to the call that its attempt makes: secrets unsealed, the limits applied."""

from __future__ import annotations

from typing import Any

from celery import current_app
from django.conf import settings

from jobs import moment_values, sealing, task_registry
from jobs.periodic_tasks.mirror import may_run
from jobs.targets import shapes as targets
from jobs.targets.addresses import AllowList
from jobs.targets.shapes import HttpTarget, TargetError, TaskTarget
from jobs.task_registry import Handler, RunContext
from runs.models import Run
from runs.targets import http, task
from runs.targets.prepared import NotSent, Prepared


def prepare(run: Run, *, callback: str = "") -> Prepared:
    """The call of this attempt, ready to be performed; raises NotSent. Close it in the end.
    `callback`: the secret by which its target may report later."""
    match targets.load(run.snapshot):
        case HttpTarget() as target:
            _check_filled(target)
            return http.prepare(_http(run, target, callback), allow=allowed())
        case TaskTarget() as target:
            context = RunContext(run.key, str(run.id), str(run.job_id), run.due_at, run.attempt)
            call = task.Call(target, context)
            return task.prepare(call, lookup=_handler_for(run))


def _check_filled(target: HttpTarget) -> None:
    """What a moment's values have made too long is refused for good: each attempt calls it so."""
    try:
        moment_values.check_filled(target.url, target.headers, target.body)
    except TargetError as error:
        raise NotSent(str(error), for_good=True) from error


def _http(run: Run, target: HttpTarget, callback: str) -> http.Call:
    try:
        return http.Call(
            target=unsealed(target),
            key=run.key,
            job_id=str(run.job_id),
            run_id=str(run.id),
            due_at=run.due_at,
            attempt=run.attempt,
            timeout=float(run.timeout),
            refusal_codes=run.refusal_codes or (),
            follow=run.follow_redirects,
            callback=callback,
            signing_secret=sealing.unseal(run.job.signing_secret, settings.SEALING_KEYS),
        )
    except sealing.SealingError as error:
        raise NotSent(f"A secret of the job cannot be opened: {error}") from error


def unsealed(target: HttpTarget) -> HttpTarget:
    """The target with its secrets in clear. Raises SealingError."""
    opened: Any = sealing.unseal_headers(targets.dump(target), settings.SEALING_KEYS)
    found = targets.load(opened)
    assert isinstance(found, HttpTarget)
    return found


def _handler_for(run: Run) -> task.Lookup:
    """Registered handlers for every job; a Celery task only for the mirror of a PeriodicTask
    row, and only one that the platform's staff allow by name."""

    def lookup(name: str) -> Handler | None:
        handler = task_registry.registered(name)
        if handler is None and run.job.mirrored and may_run(name):
            handler = current_app.tasks.get(name)
        return handler

    return lookup


def allowed() -> AllowList:
    """The inside networks that targets may lie in."""
    return AllowList.parse(settings.EGRESS_ALLOW)
