"""What the terms of a job's calls say together, and may not. PURE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.definitions.errors import Problem
from jobs.targets.shapes import HttpTarget


def refusals(found: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the members of a job that were read one by one: who reports by a call of
    his own was called over HTTP, and has longer than the call; only a call is redirected."""
    over_http = isinstance(found["target"], HttpTarget)
    if found["target"] is None:
        return
    if found["follow_redirects"] and not over_http:
        yield Problem("follow_redirects", "is for HTTP targets.", "Say 0.")
    if found["completion"] != "callback":
        return
    if not over_http:
        yield Problem("completion", "callback is for HTTP targets.", "Say answer.")
    if found["deadline"] < found["timeout"]:
        hint = f"Choose at least {found['timeout']}, or a shorter timeout."
        yield Problem("deadline", "is over before the time-out of the call.", hint)
