"""The trace of a run, as W3C Trace Context names it. PURE.

Nothing is kept for it: a run's id is 128 random enough bits, and so it is the trace's; each
attempt is a span of it.
"""

from __future__ import annotations

import hashlib


def trace_id(run_id: object) -> str:
    """The trace of all attempts of a run: 32 hexadecimal digits."""
    return str(run_id).replace("-", "")


def parent(run_id: object, attempt: int) -> str:
    """The header `traceparent` of an attempt: what is called puts its own spans under it."""
    span = hashlib.sha256(f"{run_id}:{attempt}".encode()).hexdigest()[:16]
    return f"00-{trace_id(run_id)}-{span}-01"
