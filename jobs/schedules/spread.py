"""Where in its `spread` a job starts, so that midnight is not one second. PURE."""

from __future__ import annotations

from uuid import UUID


def delay_of(job_id: UUID, spread: int) -> int:
    """Seconds after its moment, 0 to `spread`: always the same for one job, evenly over many."""
    return int.from_bytes(job_id.bytes[:6]) % (spread + 1)  # the random bits of the id
