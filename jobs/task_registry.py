"""The callables that jobs may name, and what a handler knows and says about its run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import Any, TypeVar

from jobs import traces

Handler = Callable[..., object]
_H = TypeVar("_H", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


class Refused(Exception):
    """Raised by a handler that did nothing and never will for this run; the text says why."""


class NotYet(Exception):
    """Raised by a handler that did nothing yet: call it again, after `retry_after` seconds if
    given. No failure is counted until the run's deadline.
    """

    def __init__(self, reason: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(frozen=True)
class RunContext:
    """The run that a handler is called for. `due_at` is None for a run by hand; `attempt` is
    also the fencing token: a smaller one has been overtaken. A handler that takes long may look
    at `stop_asked` and then raise: its run is cancelled. One that goes on is ended by force.
    """

    key: str
    run_id: str
    job_id: str
    due_at: datetime | None
    attempt: int
    stopping: Event = field(default_factory=Event, repr=False, compare=False)

    @property
    def traceparent(self) -> str:
        """The header by which what the handler calls joins the trace of the run."""
        return traces.parent(self.run_id, self.attempt)

    @property
    def stop_asked(self) -> bool:
        """Whether the run is to stop, because the next one is to take its place."""
        return self.stopping.is_set()


_current: ContextVar[RunContext] = ContextVar("onebeat_current_run")


def current_run() -> RunContext:
    """The run being carried out; LookupError outside one."""
    return _current.get()


@contextmanager
def running(context: RunContext) -> Iterator[None]:
    """Make `context` what current_run() answers inside the block."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


class TaskRegistry:
    """Names that jobs may call. Only what is registered can be reached by name."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def job_task(self, name: str) -> Callable[[_H], _H]:
        """Decorator: let jobs call the function by `name`. Registering another function under
        a name that is taken, or a coroutine function, is a programming error: TypeError.
        """
        if not _NAME.fullmatch(name):
            raise TypeError(f"job task {name!r}: use letters, digits, dots, hyphens, at most 200")

        def register(handler: _H) -> _H:
            if inspect.iscoroutinefunction(handler):
                raise TypeError(f"job task {name!r}: a coroutine function is never awaited")
            if self._handlers.setdefault(name, handler) is not handler:
                raise TypeError(f"job task {name!r} is registered already")
            return handler

        return register

    def registered(self, name: str) -> Handler | None:
        """The function behind a name, or None."""
        return self._handlers.get(name)

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._handlers))

    def misfit(self, name: str, args: list[object], kwargs: dict[str, object]) -> Misfit | None:
        """What keeps these arguments from the function of this name; None where nothing does, or
        where nobody can tell: a name that is not registered, a callable written in C.
        """
        handler = self._handlers.get(name)
        return None if handler is None else misfit_of(handler, args, kwargs)


@dataclass(frozen=True)
class Misfit:
    """Arguments that a function does not take: in which `part` of them the fault lies (`args` or
    `kwargs`), what it is, and what the function takes, as `day, *, dry_run=…`.
    """

    part: str
    problem: str
    takes: str


def misfit_of(handler: Handler, args: list[object], kwargs: dict[str, object]) -> Misfit | None:
    """The same for a function at hand."""
    try:
        # A Celery task takes anything when called; its own arguments are those of `run`.
        signature = inspect.signature(getattr(handler, "run", handler))
    except (ValueError, TypeError):  # a callable written in C tells nothing
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        part = "kwargs" if kwargs and _takes(signature, args) else "args"
        return Misfit(part, str(error), _written(signature))
    return None


def _takes(signature: inspect.Signature, args: list[object]) -> bool:
    try:
        signature.bind_partial(*args)
    except TypeError:
        return False
    return True


def _written(signature: inspect.Signature) -> str:
    """The arguments by name; a default may be anything, also a secret, and is not told."""
    plain = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default=inspect.Parameter.empty if parameter.default is parameter.empty else ...,
        )
        for parameter in signature.parameters.values()
    ]
    shown = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return shown[1:-1].replace("Ellipsis", "…") or "nothing"


_registry = TaskRegistry()
job_task = _registry.job_task
registered = _registry.registered
misfit = _registry.misfit
names = _registry.names
