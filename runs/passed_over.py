"""Whether a worker that has nothing to do is passed over: there is work in its queues, and none of
it comes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import connection

from runs.arrays import array

UNTOUCHED = 40.0  # seconds since a message was sent, more than rescue waits before it sends anew
OTHERS = 50  # starts elsewhere of which an idle worker would have had its share

# The newest attempts alone are read, never the whole history.
_WORK = """
select exists (select 1 from runs_run
                where state = 'ENQUEUED' and queue = any(%(queues)s)
                  and sent_at < clock_timestamp() - %(untouched)s * interval '1 second'),
       (select count(*)
          from (select run_id, worker, started_at from runs_attempt order by id desc limit 200) a
          join runs_run r on r.id = a.run_id
         where r.queue = any(%(queues)s) and a.worker <> %(worker)s
           and a.started_at > clock_timestamp() - %(idle)s * interval '1 second')
"""


def why(queues: Collection[str], *, worker: str, idle: float) -> str | None:
    """Why a worker of these queues should have had work in the last `idle` seconds, in which it
    had none; None where there was none to have."""
    given: dict[str, Any] = {
        "queues": array(queues),
        "worker": worker,
        "idle": idle,
        "untouched": UNTOUCHED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WORK, given)
        untouched, elsewhere = cursor.fetchone()
    if untouched:
        return f"a run was sent more than {UNTOUCHED:g} s ago, and nobody has started it"
    if elsewhere >= OTHERS:
        return f"other workers have started {elsewhere} runs meanwhile"
    return None
