"""What a job may say about runs of it that overlap. PURE. (What it means: runs/overlap.py.)"""

from __future__ import annotations

from collections.abc import Iterator

OVERLAPS = ("skip", "queue", "queue_all", "allow", "cancel")
MOST_WAITING = 1000


def refusals(overlap: str, *, idempotent: bool, catch_up: str) -> Iterator[tuple[str, str]]:
    """Why the job may not overlap this way, each with its remedy. `cancel` stops a run in the
    middle: only where that harms nothing, and where what is made up does not stop itself."""
    if overlap != "cancel":
        return
    if not idempotent:
        yield (
            "cannot be cancel for a job that is not safe to repeat: nobody could say what a run "
            "did that was stopped in the middle.",
            "Choose queue, queue_all, skip or allow.",
        )
    if catch_up == "all":
        yield (
            "cannot be cancel together with a catch-up of all: each moment that is made up would "
            "stop the one before it.",
            "Choose another overlap, or the catch-up policy last.",
        )
