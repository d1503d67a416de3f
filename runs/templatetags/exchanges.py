"""What was sent and what came back, as text that people read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import template

from jobs.templatetags.moments import pretty

register = template.Library()
_HTTP = ("method", "url", "status", "headers", "body")
_TEXT = ("traceback", "repr", "value")  # of a task: its error, or what it returned


@register.filter
def exchange(kept: dict[str, Any]) -> str:
    """A request or an answer as it goes over the line, its body as it is and not as a string of
    JSON; a task's traceback with its lines. What else is kept stands after it by name. JSON where
    it is neither."""
    if not any(name in kept for name in _HTTP + _TEXT):
        return pretty(kept)
    first = " ".join(str(kept[name]) for name in _HTTP[:3] if kept.get(name))
    headers = [f"{name}: {value}" for name, value in (kept.get("headers") or {}).items()]
    texts = [pretty(kept[name]) for name in ("body", *_TEXT) if kept.get(name) not in (None, "")]
    blocks = ["\n".join([*([first] if first else []), *headers]), *texts, "\n".join(_rest(kept))]
    return "\n\n".join(block for block in blocks if block)


def _rest(kept: dict[str, Any]) -> Iterator[str]:
    """What is neither of these; that nothing was cut off needs no line."""
    for name, value in kept.items():
        if name not in _HTTP + _TEXT and value is not False:
            yield f"({name.replace('_', ' ')}: {pretty(value)})"
