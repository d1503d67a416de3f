"""Which beat looks after which jobs: advice, never correctness. PURE.

Rendezvous hashing: each shard goes to the live beat whose hash with it is highest, so that
a beat that joins takes its share from the others and moves nothing else, and one that leaves
gives up only its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from jobs.shards import COUNT


def owned(by: str, among: Iterable[str]) -> list[int]:
    """The shards of beat `by` while `among` (with or without it) are live, in order."""
    rivals = {*among, by}
    return [shard for shard in range(COUNT) if max(rivals, key=lambda b: _weight(b, shard)) == by]


def _weight(beat: str, shard: int) -> bytes:
    return blake2b(f"{beat}/{shard}".encode(), digest_size=8).digest()
