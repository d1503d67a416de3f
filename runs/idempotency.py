"""Take, finish and expire the key of an intended effect."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models.expressions import RawSQL

from jobs import prepared
from jobs.json_values import json_text
from jobs.schedules.schedules import canonical_instant
from runs.models import IdempotencyKey

# How long a key lives, from now: twice the longest time in which its run may be tried, waited for,
# decided or made up. While it is undecided or may be replayed it does not expire at all.
KEPT = """(select greatest(interval '60 days', interval '2 seconds' * greatest(
  r.cap * r.max_attempts, r.deadline, j.decide_by, j.catch_up_window))
  from runs_run r join jobs_job j on j.id = r.job_id where r.id = {run})"""
_KEPT = f"coalesce({KEPT.format(run='%(run)s')}, interval '60 days')"
_EXPIRES = f"coalesce({KEPT.format(run='runs_idempotencykey.run_id')}, interval '60 days')"


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


_TAKE = f"""
insert into runs_idempotencykey
       (key, step, run_id, fingerprint, holder, state, created_at, expires_at)
values (%(key)s, '', %(run)s, %(fingerprint)s, %(holder)s, 'held', now(), now() + {_KEPT})
on conflict (key, step) do update
   set holder = excluded.holder, expires_at = excluded.expires_at
 where runs_idempotencykey.state = 'held' and runs_idempotencykey.holder < excluded.holder
returning id
"""  # noqa: S608 — words of our own


def take(key: str, *, run_id: UUID, holder: int, payload: object) -> bool:
    """The run's own row of the key, held by attempt `holder`; a higher attempt takes over from
    a lower one. False when the effect is recorded as done already, or a higher one holds it."""
    given = {
        "key": key,
        "run": run_id,
        "fingerprint": fingerprint(payload),
        "holder": holder,
    }
    return bool(prepared.rows(_TAKE, given))


def held_by(key: str, holder: int) -> bool:
    """What `take` answered this holder, read back."""
    own = IdempotencyKey.objects.filter(key=key, step="", holder=holder)
    return own.filter(state="held").exists()


_FINISH = f"""
update runs_idempotencykey
   set state = 'done', answer = %(answer)s::jsonb, expires_at = now() + {_EXPIRES}
 where key = %(key)s and step = '' and holder = %(holder)s
"""  # noqa: S608 — words of our own


def finish(key: str, holder: int, answer: dict[str, Any]) -> None:
    """The effect is done: the answer stays with the key until it expires."""
    prepared.rows(_FINISH, {"key": key, "holder": holder, "answer": json_text(answer)})


def expiry() -> RawSQL:
    """When a key that is told of now expires, for an update of its row."""
    return RawSQL(f"now() + {_EXPIRES}", ())  # noqa: S611 — our words


_SETTLED = f"""
insert into runs_idempotencykey
       (key, step, run_id, fingerprint, holder, state, answer, created_at, expires_at)
values (%(key)s, '', %(run)s, %(fingerprint)s, 0, 'done', %(answer)s, now(), now() + {_KEPT})
on conflict (key, step) do update
   set state = 'done', answer = excluded.answer, expires_at = excluded.expires_at
"""  # noqa: S608 — words of our own


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
            },
        )
