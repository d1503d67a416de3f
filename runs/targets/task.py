"""Calling a function that is registered for jobs."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from jobs import task_registry
from jobs.json_values import json_text
from jobs.targets.errors import MASK
from jobs.targets.headers import is_secret_header
from jobs.targets.shapes import TaskTarget
from jobs.task_registry import Handler, NotYet, Refused, RunContext
from runs import evidence
from runs.outcomes import Effect, Kind, Outcome
from runs.targets.prepared import NotSent

Lookup = Callable[[str], Handler | None]


@dataclass(frozen=True)
class Call:
    """One attempt at a task target; `context` is what the handler sees as its run."""

    target: TaskTarget
    context: RunContext


class PreparedTask:
    """A handler whose arguments fit, not yet called."""

    def __init__(self, call: Call, handler: Handler) -> None:
        self._call = call
        self._handler = handler

    @property
    def sent(self) -> dict[str, object]:
        """Name and arguments, those with the name of a secret masked, as kept evidence."""
        target = self._call.target
        named = {
            name: MASK if is_secret_header(name) else value for name, value in target.kwargs.items()
        }
        return {
            "name": target.name,
            "args": evidence.of_value(target.args),
            "kwargs": evidence.of_value(named),
        }

    def perform(self) -> Outcome:
        """Call the handler and say what came of it. Whatever it raises is an outcome: SystemExit
        or MemoryError would end the worker and, sent again, the next one.
        """
        target = self._call.target
        try:
            with task_registry.running(self._call.context):
                value = self._handler(*target.args, **target.kwargs)
            return self._returned(value)
        except Refused as refused:
            return Outcome(Kind.REFUSED, Effect.NONE, self._reason("The task refused", refused))
        except NotYet as later:
            reason = self._reason("The task asks to come back later", later)
            return Outcome(Kind.LATER, Effect.NONE, reason, retry_after=later.retry_after)
        except BaseException as error:
            return self._failed(error)

    def stop(self) -> None:
        """The handler may look: `current_run().stop_asked`."""
        self._call.context.stopping.set()

    def close(self) -> None:
        """Nothing is held open."""

    def _returned(self, value: object) -> Outcome:
        answer = evidence.of_value(value, self._secrets())
        return Outcome(Kind.SUCCEEDED, Effect.DONE, "The task returned.", answer=answer)

    def _failed(self, error: BaseException) -> Outcome:
        return Outcome(
            Kind.FAILED,
            Effect.MAYBE,
            self._reason(f"The task ended with {type(error).__name__}", error),
            answer=evidence.of_error(_traceback(error), self._secrets()),
        )

    def _reason(self, what: str, error: BaseException) -> str:
        said = evidence.redact_named(evidence.redact(_said(error), self._secrets()))
        return evidence.sentence(f"{what}: {said}" if said else f"{what}.")

    def _secrets(self) -> tuple[str, ...]:
        named = self._call.target.kwargs.items()
        return tuple(_text(value) for name, value in named if is_secret_header(name))


def prepare(call: Call, *, lookup: Lookup = task_registry.registered) -> PreparedTask:
    """Find the handler and see that the arguments fit it; NotSent otherwise.

    `lookup` answers a name with a callable, or with None for a name that jobs may not call.
    """
    handler = lookup(call.target.name)
    if handler is None:
        raise NotSent(f"No task named {call.target.name} may be called by jobs here.")
    target = call.target
    if found := task_registry.misfit_of(handler, target.args, target.kwargs):
        raise NotSent(f"The arguments do not fit the task {target.name}: {found.problem}.")
    return PreparedTask(call, handler)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "an error that cannot be shown"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return f"a traceback of {type(error).__name__} that cannot be shown"
