"""Which of the 256 shards a job belongs to. PURE."""

from __future__ import annotations

from uuid import UUID

COUNT = 256


def shard_of(job_id: UUID) -> int:
    """0…255: the last byte of the job's random id."""
    return job_id.bytes[-1]
