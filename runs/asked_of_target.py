"""The request that a run would send at its next attempt, as it would go out, secrets masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from jobs.targets.shapes import HttpTarget, TargetError, load, masked
from runs.models import Run
from runs.targets import http


@dataclass(frozen=True)
class Request:
    """A request before it is sent. `body` is empty where none is sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: str

    @property
    def text(self) -> str:
        """The whole of it, a line a header, as people read it."""
        head = [f"{self.method} {self.url}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\n".join([*head, "", self.body]) if self.body else "\n".join(head)


def of_next(run: Run) -> Request | None:
    """What its next attempt sends, under the key that it has now; None for a task, and for a
    target that a newer version wrote."""
    try:
        target = masked(load(run.snapshot))
    except TargetError:
        return None
    if not isinstance(target, HttpTarget):
        return None
    call = http.Call(
        target=target,
        key=run.key,
        job_id=str(run.job_id),
        run_id=str(run.id),
        due_at=run.due_at,
        attempt=run.attempt + 1,
        timeout=float(run.timeout),
    )
    return of_call(call)


def of_call(call: http.Call) -> Request:
    """The same of a call that is at hand."""
    shown = cast(dict[str, Any], http.unsent(call))
    return Request(shown["method"], shown["url"], shown["headers"], shown["body"])
