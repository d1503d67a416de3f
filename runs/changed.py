"""A run by hand that calls its job's target with something else: another path, another body.

Method, headers and task are the job's, and so is the host: what it is trusted with goes nowhere
else. The job stays as it is, and the run has a key of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.conf import settings

from jobs import sealing
from jobs.models import Job
from jobs.offer import offered
from jobs.targets import shapes as targets
from jobs.targets.shapes import TargetError
from jobs.targets.urls import split_url
from runs.models import Run

PARTS = {"http": ("url", "body"), "task": ("args", "kwargs")}


@dataclass(frozen=True)
class Changes:
    """What is called in place of what the job says, by its PARTS; the others are the job's.
    `like`: the run that this one is made after."""

    parts: Mapping[str, object]
    like: UUID | None = None

    @property
    def said(self) -> str:
        """For the record."""
        return f"With changes, after the run {self.like}." if self.like else "With changes."


def target_of(job: Job, changes: Changes) -> dict[str, Any]:
    """What such a run of the job is to call, its secrets sealed, nothing filled in yet. Raises
    TargetError where no job could be saved with it, or where it leads to another host."""
    known = offered()
    shown = targets.dump(targets.masked(targets.load(job.target)))
    given = {**shown, **changes.parts}
    parsed = targets.dump(
        targets.parse(given, known_tasks=known.tasks, allow=known.egress, misfit=known.misfit)
    )
    if parsed["type"] != "http":
        return parsed
    if split_url(parsed["url"]).origin != split_url(job.target["url"]).origin:
        hint = "keep the job’s host here, or change the job"
        raise TargetError("target.url", parsed["url"], "is at another host than the job’s", hint)
    merged = sealing.merge_masked(job.target, parsed)
    return sealing.seal_headers(merged, settings.SEALING_KEYS, old=job.target)


def parts_of(job: Job, like: Run | None = None) -> dict[str, Any]:
    """What there is to be changed: as the run called it, its key to be filled in anew, else as
    the job says it."""
    kind = job.target["type"]
    if like is None or like.snapshot.get("type") != kind:
        return {name: job.target.get(name) for name in PARTS[kind]}
    called = {name: like.snapshot.get(name) for name in PARTS[kind]}
    return called if kind == "task" else {name: _anew(of, like.key) for name, of in called.items()}


def _anew(value: Any, key: str) -> Any:
    """A value of a filled target as one that is to be filled in."""
    match value:
        case str():
            plain = value.replace("{{", "{{{{")
            return plain.replace(key, "{{key}}").replace(quote(key, safe=""), "{{key}}")
        case list():
            return [_anew(item, key) for item in value]
        case dict():
            return {name: _anew(item, key) for name, item in value.items()}
        case _:
            return value
