"""Whether the machinery of the installation stands still: what every page says at its head.

Nothing is claimed without a beat, and nothing that was sent starts without a worker: no number on
any page can be believed then, and whoever looks at one is to know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import connection

PATIENCE = 60  # seconds that a moment, a run or a queue may be behind
UNSEEN = 15  # seconds without a word of any beat: longer than one takes to be started anew


class Kind(StrEnum):
    """What stands still, the first cause of all others first."""

    BEATS = "beats"  # none is at work
    CLAIMS = "claims"  # beats are, and moments lie unclaimed all the same
    QUEUES = "queues"  # no worker takes from them


@dataclass(frozen=True)
class Standstill:
    """`since`: when a beat was seen last, or the oldest of what waits; None: nobody knows."""

    kind: Kind
    since: datetime | None
    queues: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """Tells one from another, for a page that polls."""
        return ":".join((self.kind, *self.queues))


_LOOK = """
select coalesce(max(seen_at) > clock_timestamp() - %(unseen)s * interval '1 second', false),
       max(seen_at),
       (select min(at) from jobs_due
         where at < clock_timestamp() - %(patience)s * interval '1 second'),
       (select exists (select from runs_run where state = 'ENQUEUED'
           and sent_at < clock_timestamp() - %(patience)s * interval '1 second'))
  from runs_beat
"""
# A long queue is not a dead one: it counts as long as some run of it was started of late.
_UNWORKED = """
select w.queue, min(w.sent_at) from (
  select queue, sent_at from runs_run where state = 'ENQUEUED'
     and sent_at < clock_timestamp() - %(patience)s * interval '1 second' limit 1000) w
 where w.queue not in (
  select r.queue from (select run_id, started_at from runs_attempt order by id desc limit 200) a
    join runs_run r on r.id = a.run_id
   where a.started_at > clock_timestamp() - %(patience)s * interval '1 second')
 group by w.queue order by w.queue
"""


def look() -> Standstill | None:
    """What stands still just now; None: nothing. One statement where all is well."""
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, {"unseen": UNSEEN, "patience": PATIENCE})
        is_beating, beat_seen_at, unclaimed_since, is_slow = cursor.fetchone()
    if not is_beating:
        return Standstill(Kind.BEATS, beat_seen_at)
    if unclaimed_since is not None:
        return Standstill(Kind.CLAIMS, unclaimed_since)
    queues = unworked() if is_slow else {}
    return Standstill(Kind.QUEUES, min(queues.values()), tuple(queues)) if queues else None


def unworked() -> dict[str, datetime]:
    """By its name, each queue from which no worker takes: since when its oldest message waits."""
    with connection.cursor() as cursor:
        cursor.execute(_UNWORKED, {"patience": PATIENCE})
        return dict(cursor.fetchall())
