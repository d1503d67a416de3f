"""Take, finish and expire the key of an intended effect."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models.functions import Now

from jobs.schedules import canonical_instant
from runs.models import IdempotencyKey

KEPT = timedelta(days=60)  # at least 30 days and twice the longest window of a job


def key_of_moment(job_id: UUID, due_at: datetime) -> str:
    """`<job id>:<due moment in UTC>`: a local time would collide when the hour repeats."""
    return f"{job_id}:{canonical_instant(due_at)}"


def key_by_hand(job_id: UUID) -> str:
    """A key of its own for a run by hand without a moment: never the next moment's."""
    return f"{job_id}:hand:{uuid4()}"


def fingerprint(payload: object) -> str:
    """SHA-256 of the payload in canonical JSON: tells one key with two payloads."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_TAKE = """
insert into runs_idempotencykey
       (key, step, run_id, fingerprint, holder, state, created_at, expires_at)
values (%(key)s, '', %(run)s, %(fingerprint)s, %(holder)s, 'held', now(),
        now() + %(kept)s * interval '1 second')
on conflict (key, step) do update
   set holder = excluded.holder, expires_at = excluded.expires_at
 where runs_idempotencykey.state = 'held' and runs_idempotencykey.holder < excluded.holder
returning id
"""


def take(key: str, *, run_id: UUID, holder: int, payload: object) -> bool:
    """The run's own row of the key, held by attempt `holder`; a higher attempt takes over from
    a lower one. False when the effect is recorded as done already, or a higher one holds it."""
    with connection.cursor() as cursor:
        cursor.execute(
            _TAKE,
            {
                "key": key,
                "run": run_id,
                "fingerprint": fingerprint(payload),
                "holder": holder,
                "kept": KEPT.total_seconds(),
            },
        )
        return cursor.fetchone() is not None


def held_by(key: str, holder: int) -> bool:
    """What `take` answered this holder, read back."""
    own = IdempotencyKey.objects.filter(key=key, step="", holder=holder)
    return own.filter(state="held").exists()


def finish(key: str, holder: int, answer: dict[str, Any]) -> None:
    """The effect is done: the answer stays with the key until it expires."""
    IdempotencyKey.objects.filter(key=key, step="", holder=holder).update(
        state="done", answer=answer, expires_at=Now() + KEPT
    )


_SETTLED = """
insert into runs_idempotencykey
       (key, step, run_id, fingerprint, holder, state, answer, created_at, expires_at)
values (%(key)s, '', %(run)s, %(fingerprint)s, 0, 'done', %(answer)s, now(),
        now() + %(kept)s * interval '1 second')
on conflict (key, step) do update
   set state = 'done', answer = excluded.answer, expires_at = excluded.expires_at
"""


def settled_by_a_person(key: str, *, run_id: UUID, payload: object) -> None:
    """A person says that the effect happened: the key is done, so that nothing begins it anew."""
    with connection.cursor() as cursor:
        cursor.execute(
            _SETTLED,
            {
                "key": key,
                "run": run_id,
                "fingerprint": fingerprint(payload),
                "answer": '{"decided": "it happened"}',
                "kept": KEPT.total_seconds(),
            },
        )
