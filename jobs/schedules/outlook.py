"""The moments to come of a job, with what its allowance makes of them. PURE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobs.schedules.schedules import PreviewedMoment


def outlook(
    moments: Sequence[PreviewedMoment],
    *,
    skip_next: int = 0,
    skip_reason: str = "",
    runs_left: int | None = None,
) -> list[PreviewedMoment]:
    """The next moments of a job, oldest first: those to be skipped say so, and those after its
    last run are left out. `runs_left` None: no bound."""
    why = f"will be skipped: {skip_reason}" if skip_reason else "will be skipped"
    skipped = [replace(each, note=_joined(each.note, why)) for each in moments[:skip_next]]
    left = list(moments[skip_next:])
    return skipped + (left if runs_left is None else left[:runs_left])


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
